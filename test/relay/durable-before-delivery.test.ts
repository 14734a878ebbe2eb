import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { createTestDisk } from '../settlement/disk.ts';
import { type ClientResponse, startCall } from '../support/client.ts';
import { assertBrokenOff, begunStream, type Family, families, modesOf, requestOf } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatStream, json, liveResponse, type Respond, sse } from '../support/provider.ts';

/**
 * A reservation is durable before the provider is called, a charge before the last byte of a success is sent: in the database, or in the
 * journal if that is down. `test/settlement/disk-full.test.ts` covers failures of both.
 */

describe(`durable before delivery`, () => {
  let gateway: TestGateway;
  const disk = createTestDisk();
  before(async () => {
    gateway = await startGateway({ disk, timing: { retryDelayMs: 1 } });
  });
  afterEach(() => {
    for (const name of ['reservations.admit', 'settlement.end']) {
      gateway.observed.statement(name).recover();
      gateway.observed.statement(name).release();
    }
    disk.release();
  });
  after(() => gateway.stop());

  /** Begins a call whose provider responds in full at once. */
  function start(account: TestAccount, family: Family, isStream: boolean): Promise<ClientResponse> {
    gateway.provider.respond = success(family, isStream);
    return startCall(gateway.url + family.path, account.key, requestOf(isStream)).response;
  }

  /** Begins a call and waits until its end has been sent to the database, if that is held. */
  async function startHeldBack(account: TestAccount, family: Family, isStream: boolean) {
    const ends = gateway.observed.statement('settlement.end');
    const before = ends.asked;
    ends.hold();
    const response = start(account, family, isStream);
    await ends.reached(before + 1);
    return { ends, response };
  }

  async function countEntries(account: TestAccount): Promise<number> {
    const { body } = await gateway.admin('GET', `/accounts/${account.id}/ledger`);
    return body.data.filter((entry: { kind: string }) => entry.kind === 'charge').length;
  }

  async function countReservations(account: TestAccount): Promise<number> {
    const rows = await gateway.database.query<object>(
      { name: 'test.select-reservations', text: 'select call_id from reservations where account_id = $1' },
      [account.id],
    );
    return rows.length;
  }

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      describe(`${family.name}, ${kind}`, () => {
        test('the provider is called only after the reservation is in the database', async () => {
          const account = await gateway.createAccount();
          const admissions = gateway.observed.statement('reservations.admit');
          const { asked } = admissions;
          const calls = gateway.provider.requests.length;
          admissions.hold();
          let reservedAtCall = 0;
          gateway.provider.respond = async (request, response) => {
            reservedAtCall = await countReservations(account);
            await success(family, isStream)(request, response);
          };
          const started = startCall(gateway.url + family.path, account.key, requestOf(isStream));
          await admissions.reached(asked + 1);
          await exchangeOften(gateway);
          assert.equal(gateway.provider.requests.length, calls);

          admissions.release();
          await (await started.response).ended();
          assert.equal(reservedAtCall, 1);
          assert.equal(await countReservations(account), 0);
        });

        test('the end of a success is sent only after its charge is in the database', async () => {
          const account = await gateway.createAccount();
          const { ends, response } = await startHeldBack(account, family, isStream);
          let isResponded = false;
          void response.then(() => {
            isResponded = true;
          });
          await exchangeOften(gateway);
          assert.equal(await countEntries(account), 0);
          if (isStream) {
            // Everything before the end was sent at once.
            const withoutEnd = relayed(family).slice(0, -family.terminal.length);
            await (await response).until(withoutEnd);
            assert.equal((await response).text, withoutEnd);
          } else {
            assert.equal(isResponded, false);
          }

          ends.release();
          const { status, ended, text } = await finished(await response);
          assert.deepEqual({ status, ended }, { status: 200, ended: true });
          assert.equal(text, isStream ? relayed(family) : JSON.stringify(family.whole()));
          assert.equal(await countEntries(account), 1);
          await assertSpent(account, family.cost);
        });

        test('if the database fails, the end of a success is sent only after its charge is on the disk', async () => {
          const account = await gateway.createAccount();
          const { ends, response } = await startHeldBack(account, family, isStream);
          const onTheWay = disk.held();
          disk.hold();
          ends.fail('before');
          ends.release();
          let isResponded = false;
          void response.then(() => {
            isResponded = true;
          });
          await onTheWay;
          await exchangeOften(gateway);
          if (isStream) {
            const withoutEnd = relayed(family).slice(0, -family.terminal.length);
            await (await response).until(withoutEnd);
            assert.equal((await response).text, withoutEnd);
          } else {
            assert.equal(isResponded, false);
          }

          disk.release();
          const { status, ended, text } = await finished(await response);
          assert.deepEqual({ status, ended }, { status: 200, ended: true });
          assert.equal(text, isStream ? relayed(family) : JSON.stringify(family.whole()));
          assert.equal(await countEntries(account), 0);
          ends.recover();
          await account.endedCall();
          assert.equal(await countEntries(account), 1);
          await assertSpent(account, family.cost);
        });
      });
    }

    test(`${family.name}: the error event of a broken stream is sent only after what was received is charged`, async () => {
      const account = await gateway.createAccount();
      const ends = gateway.observed.statement('settlement.end');
      const { asked } = ends;
      ends.hold();
      const begun = begunStream(family);
      gateway.provider.respond = sse(begun);
      const body = requestOf(true);
      const response = await startCall(gateway.url + family.path, account.key, body).response;
      await ends.reached(asked + 1);
      await exchangeOften(gateway);
      await response.until(begun.join(''));
      assert.equal(response.text, begun.join(''));

      ends.release();
      await response.ended();
      assertBrokenOff(response, family, begun.join(''), 'upstream_error');
      await assertSpent(account, costNano({ input: family.inputTokens(body), output: 2 }));
    });
  }

  test('a chat stream without [DONE] is closed only after its charge is in the database', async () => {
    const account = await gateway.createAccount();
    const ends = gateway.observed.statement('settlement.end');
    const { asked } = ends;
    ends.hold();
    gateway.provider.respond = sse(chatStream(['Hello'], { prompt_tokens: 11, completion_tokens: 7 }).slice(0, -1));
    const response = await startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true)).response;
    let hasEnded = false;
    void response.ended().then(() => {
      hasEnded = true;
    });
    await ends.reached(asked + 1);
    await exchangeOften(gateway);
    const withoutEnd = chatStream(['Hello'], null).slice(0, -1).join('');
    await response.until(withoutEnd);
    assert.equal(response.text, withoutEnd);
    assert.equal(hasEnded, false);

    ends.release();
    assert.equal(await response.ended(), true);
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  test('a provider that keeps sending after the terminal event is cut off, and the stream is complete', async () => {
    const account = await gateway.createAccount();
    const ends = gateway.observed.statement('settlement.end');
    ends.hold();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const started = startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true));
    await live.opened;
    await live.write(chatStream(['Hello'], { prompt_tokens: 11, completion_tokens: 7 }).join(''));
    const more = live.write(`: ${'x'.repeat(3_000_000)}\n\n`);
    more.catch(() => undefined);
    await live.closed;

    ends.release();
    const { text, ended } = await finished(await started.response);
    assert.equal(ended, true);
    assert.ok(text.startsWith(chatStream(['Hello'], null).join('')));
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  test('what follows the terminal event waits with it', async () => {
    const account = await gateway.createAccount();
    const ends = gateway.observed.statement('settlement.end');
    const { asked } = ends;
    ends.hold();
    const events = [...chatStream(['Hello'], null), ': bye\n\n'];
    gateway.provider.respond = sse(events);
    const response = await startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true)).response;
    await ends.reached(asked + 1);
    await exchangeOften(gateway);
    await response.until(events.slice(0, -2).join(''));
    assert.equal(response.text, events.slice(0, -2).join(''));

    ends.release();
    await response.ended();
    assert.equal(response.text, events.join(''));
  });
});

/** The complete response in one write, its end included. */
function success(family: Family, isStream: boolean): Respond {
  return isStream ? sse([family.stream(['Hello', ' there']).join('')]) : json(200, family.whole());
}

/** The stream as its client receives it, which has not asked for usage. */
function relayed(family: Family): string {
  return family.name === 'chat'
    ? chatStream(['Hello', ' there'], null).join('')
    : family.stream(['Hello', ' there']).join('');
}

async function finished(response: ClientResponse): Promise<{ status: number; ended: boolean; text: string }> {
  const ended = await response.ended();
  return { status: response.status, ended, text: response.text };
}

/** Sends another request and reads the response: anything that the gateway had to send before has arrived then. */
async function exchangeOften(gateway: TestGateway, exchanges = 20): Promise<void> {
  for (let i = 0; i < exchanges; i++) await (await fetch(`${gateway.url}/healthz`)).text();
}
