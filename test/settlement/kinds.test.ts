import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createSubscriber, nothingInFlight, plansText, type Subscriber } from '../plans/coding.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { begunStream, type Family, families, modesOf, requestOf } from '../support/families.ts';
import { assertSpent, type TestAccount } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import {
  afterwards,
  countCharges,
  countReservations,
  journalEmptied,
  journalEntries,
  journalHolds,
  onlyCall,
  type Scene,
  setScene,
  success,
  successText,
  type When,
  whens,
} from './outage.ts';

/**
 * Calls that use more than money: a slot of a Coding Plan, the limits of a key, an Idempotency-Key. The end of such a call is one
 * transaction, after the statement that stores the response for repeats; either may fail.
 */

const REFUSED = json(429, { error: { message: 'No.', type: 'rate_limit_error' } });
/** The largest number of tokens that is believed. */
const TOKENS_MAX = 2_147_483_647;
/** Ten yuan a token, and an output limit that allows all of them to be charged (docs/reservations.md). */
const DEAR = `
  dear: { operations: [chat], maxOutputTokens: "${TOKENS_MAX}", price: { input: "10000000", output: "10000000" }, routes: [{ provider: chatty, model: dear }] }`;
/** At that price the charge exceeds what a money column can store. */
const TOO_DEAR = { prompt_tokens: 1, completion_tokens: TOKENS_MAX };

const codingPath = ({ name }: Family): string =>
  name === 'chat' ? '/v1/coding/chat/completions' : '/v1/coding/altproto/messages';

describe(`calls that take more than money`, { timeout: 300_000 }, () => {
  let scene: Scene;
  before(async () => {
    scene = await setScene({ plans: plansText({ plan: { concurrency: 1 } }), models: DEAR });
  });
  afterEach(async () => {
    scene.outage.end();
    for (const name of STATEMENTS) scene.gateway.observed.statement(name).recover();
    await journalEmptied(scene.dataDir);
  });
  after(() => scene?.close());

  /** What fails: every statement, or those with one name. */
  const STATEMENTS = ['settlement.end', 'idempotency.keep-response'];
  function fail(what: string, when: When): void {
    if (what === 'everything') scene.outage.begin(when);
    else scene.gateway.observed.statement(what).fail(when);
  }
  function recover(what: string): void {
    if (what === 'everything') scene.outage.end();
    else scene.gateway.observed.statement(what).recover();
  }

  /** What the database has of a key: calls in flight, calls and nano-yuan of the day, reserved nano-yuan, and reservations. */
  async function useOfKey(keyId: string): Promise<number[]> {
    const [row] = await scene.stored.database.query<Record<string, bigint>>(
      {
        name: 'test.use-of-key',
        text: `select in_flight, calls, spent_nano, reserved_nano, (select count(*) from reservations r where r.key_id = k.key_id) as reservations
            from key_limits k where key_id = $1`,
      },
      [keyId],
    );
    return [row!.in_flight, row!.calls, row!.spent_nano, row!.reserved_nano, row!.reservations].map(Number);
  }

  describe('on a Coding Plan', () => {
    const send = (account: Subscriber, family: Family, isStream: boolean): Promise<ClientResponse> =>
      call(scene.gateway.url + codingPath(family), account.key, requestOf(isStream));

    for (const family of families) {
      for (const { kind, isStream } of modesOf(family)) {
        for (const when of whens) {
          it(`${family.name}, ${kind}: if every statement fails ${when} it is carried out, the response is delivered, and uses one slot and its tokens`, async () => {
            const { gateway, dataDir, stored } = scene;
            const account = await createSubscriber(gateway, 'plan', { balanceYuan: '100' });
            gateway.provider.respond = afterwards(() => fail('everything', when), success(family, isStream));
            const response = await send(account, family, isStream);
            assert.deepEqual([response.status, response.text], [200, successText(family, isStream)]);
            assert.equal(response.headers['x-faregate-charge-yuan'], undefined);
            assert.equal(response.headers['x-faregate-calls-left'], '999');
            const [entry] = journalEntries(dataDir);
            assert.deepEqual([entry?.outcome.chargeNano, entry?.plan], [null, { counts: true, tokens: 18 }]);
            // The end of a call is all or nothing, its plan included.
            assert.equal(await countReservations(stored, account.id), when === 'before' ? 1 : 0);

            recover('everything');
            await journalEmptied(dataDir);
            assert.deepEqual(await account.used(), { fiveHour: 1, weekly: 1, inFlight: 0, tokens: 18 });
            const { status, chargeYuan, context } = await onlyCall(gateway, account);
            assert.deepEqual([status, chargeYuan, context], ['succeeded', null, 'coding']);
            assert.equal(await countCharges(stored, account.id), 0);
            await assertSpent(account, 0n);
            // The call's place at the concurrency limit is free again.
            gateway.provider.respond = success(family, isStream);
            assert.equal((await send(account, family, isStream)).status, 200);
            assert.deepEqual(await account.used(), { fiveHour: 2, weekly: 2, inFlight: 0, tokens: 36 });
          });
        }

        it(`${family.name}, ${kind}: a provider's refusal releases the slot once the database is back`, async () => {
          const { gateway, dataDir, stored } = scene;
          const account = await createSubscriber(gateway, 'plan');
          gateway.provider.respond = afterwards(() => fail('everything', 'before'), REFUSED);
          const response = await send(account, family, isStream);
          assert.equal(response.status, 429, response.text);
          assert.equal(await countReservations(stored, account.id), 1);
          recover('everything');
          await journalEmptied(dataDir);
          assert.deepEqual(await account.used(), { fiveHour: 0, weekly: 0, inFlight: 0, tokens: 0 });
          assert.equal((await onlyCall(gateway, account)).status, 'failed');
        });
      }

      it(`${family.name}: a stream whose client leaves stops counting as in flight once the database is back`, async () => {
        const { gateway, dataDir, stored } = scene;
        const account = await createSubscriber(gateway, 'plan');
        const closed = Promise.withResolvers<void>();
        gateway.provider.respond = (_request, response) => {
          response.once('close', () => closed.resolve());
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(begunStream(family).join(''));
        };
        const started = startCall(gateway.url + codingPath(family), account.key, requestOf(true));
        await (await started.response).until('Hello');
        fail('everything', 'after');
        started.drop();
        await closed.promise;
        await journalHolds(dataDir, 1);
        recover('everything');
        await journalEmptied(dataDir);
        await nothingInFlight(stored.database, account.id);
        const { fiveHour, weekly } = await account.used();
        assert.deepEqual([fiveHour, weekly], [1, 1]);
        assert.equal((await onlyCall(gateway, account)).status, 'aborted');
      });
    }
  });

  describe('with a limited key', () => {
    const LIMITS = { concurrency: 1, dailyCalls: 2, dailySpendCapYuan: '1' };

    for (const family of families) {
      for (const { kind, isStream } of modesOf(family)) {
        for (const when of whens) {
          it(`${family.name}, ${kind}: if every statement fails ${when} it is carried out, the response is delivered, and the call counts once`, async () => {
            const { gateway, dataDir, stored } = scene;
            const account = await gateway.createAccount();
            const { status, body: key } = await gateway.admin('POST', `/accounts/${account.id}/keys`, {
              name: 'limited',
              ...LIMITS,
            });
            assert.equal(status, 201, JSON.stringify(key));
            const send = (): Promise<ClientResponse> => call(gateway.url + family.path, key.key, requestOf(isStream));
            gateway.provider.respond = afterwards(() => fail('everything', when), success(family, isStream));
            const response = await send();
            assert.deepEqual([response.status, response.text], [200, successText(family, isStream)]);
            const [entry] = journalEntries(dataDir);
            assert.deepEqual(entry?.key, { counts: true, chargeNano: family.cost });

            recover('everything');
            await journalEmptied(dataDir);
            assert.deepEqual(await useOfKey(key.id), [0, 1, Number(family.cost), 0, 0]);
            assert.equal(await countCharges(stored, account.id), 1);
            await assertSpent(account, family.cost);
            gateway.provider.respond = success(family, isStream);
            assert.equal((await send()).status, 200);
            assert.equal((await send()).headers['x-error-code'], 'key_daily_calls_limit_exceeded');
          });
        }
      }
    }

    it('a call that the provider refuses is released on the key once the database is back', async () => {
      const { gateway, dataDir } = scene;
      const account = await createSubscriber(gateway, 'plan', { balanceYuan: '100' });
      const { body: key } = await gateway.admin('POST', `/accounts/${account.id}/keys`, {
        name: 'limited',
        ...LIMITS,
      });
      for (const path of ['/v1/chat/completions', '/v1/coding/chat/completions']) {
        gateway.provider.respond = afterwards(() => fail('everything', 'before'), REFUSED);
        assert.equal((await call(gateway.url + path, key.key, requestOf(false))).status, 429);
        recover('everything');
        await journalEmptied(dataDir);
        assert.deepEqual(await useOfKey(key.id), [0, 0, 0, 0, 0]);
      }
    });
  });

  describe('with an Idempotency-Key', () => {
    const [chat] = families as [Family];
    let keys = 0;
    const newKey = (): string => `key-${++keys}`;
    const send = (
      account: TestAccount,
      idempotencyKey: string,
      body: object = requestOf(false),
    ): Promise<ClientResponse> =>
      call(scene.gateway.url + chat.path, account.key, body, { headers: { 'idempotency-key': idempotencyKey } });

    for (const what of ['everything', 'settlement.end', 'idempotency.keep-response']) {
      for (const when of whens) {
        it(`if ${what} fails ${when} it is carried out, the response is delivered, and its repeats get it once it is charged`, async () => {
          const { gateway, dataDir, stored } = scene;
          const account = await gateway.createAccount();
          const { length } = gateway.provider.requests;
          const key = newKey();
          gateway.provider.respond = afterwards(() => fail(what, when), success(chat, false));
          const first = await send(account, key);
          assert.deepEqual([first.status, first.text], [200, successText(chat, false)]);
          assert.equal(journalEntries(dataDir)[0]?.kept?.body?.toString(), first.text);

          if (what === 'everything') {
            // The state of the key is unknown now: the repeat fails, may be retried, and does not run.
            const refused = await send(account, key);
            assert.deepEqual([refused.status, refused.headers['x-error-code']], [500, 'internal_error']);
            assert.equal(gateway.provider.requests.length, length + 1);
          } else {
            const claims = gateway.observed.statement('idempotency.claim-keys');
            const { done } = claims;
            const repeated = send(account, key);
            // The database may have the claim: a repeat then finds another call pending, or its end.
            await claims.completed(done + 1);
            recover(what);
            const repeat = await repeated;
            assert.deepEqual([repeat.status, repeat.text], [200, first.text]);
            assert.equal(repeat.headers['x-faregate-repeated'], 'true');
          }
          recover(what);
          await journalEmptied(dataDir);
          const repeat = await send(account, key);
          assert.deepEqual([repeat.status, repeat.text], [200, first.text]);
          assert.equal(repeat.headers['x-faregate-repeated'], 'true');
          assert.equal(repeat.headers['x-faregate-call-id'], first.headers['x-faregate-call-id']);
          assert.equal(repeat.headers['x-faregate-charge-yuan'], first.headers['x-faregate-charge-yuan']);
          assert.equal(repeat.headers['request-id'], first.headers['request-id']);
          assert.equal(gateway.provider.requests.length, length + 1);
          assert.equal(await countCharges(stored, account.id), 1);
          await assertSpent(account, chat.cost);
          await onlyCall(gateway, account);
        });
      }
    }

    it('repeats of a call with an unknown outcome get the error of the first, once the database is back', async () => {
      const { gateway, dataDir } = scene;
      const account = await gateway.createAccount();
      const { length } = gateway.provider.requests;
      const key = newKey();
      gateway.provider.respond = afterwards(
        () => fail('everything', 'before'),
        json(502, { error: { message: 'No.', type: 'some_error' } }),
      );
      const first = await send(account, key);
      assert.equal(first.status, 502);
      recover('everything');
      await journalEmptied(dataDir);
      gateway.provider.respond = success(chat, false);
      const repeat = await send(account, key);
      assert.deepEqual([repeat.status, repeat.text], [502, first.text]);
      assert.equal(repeat.headers['x-faregate-repeated'], 'true');
      assert.equal(gateway.provider.requests.length, length + 1);
      await assertSpent(account, 0n);
    });

    it('a refusal is not stored: the repeat runs, and is charged', async () => {
      const { gateway, dataDir, stored } = scene;
      const account = await gateway.createAccount();
      const key = newKey();
      gateway.provider.respond = afterwards(() => fail('settlement.end', 'before'), REFUSED);
      assert.equal((await send(account, key)).status, 429);
      recover('settlement.end');
      await journalEmptied(dataDir);
      assert.equal(await countReservations(stored, account.id), 0);
      gateway.provider.respond = success(chat, false);
      assert.equal((await send(account, key)).status, 200);
      await assertSpent(account, chat.cost);
    });

    it('a success that the database refuses to charge is not given to repeats free of charge', async () => {
      const { gateway } = scene;
      const account = await gateway.createAccount();
      const { length } = gateway.provider.requests;
      const key = newKey();
      const body = requestOf(false, 'dear');
      gateway.provider.respond = json(200, chat.whole(TOO_DEAR));
      const first = await send(account, key, body);
      assert.deepEqual([first.status, first.headers['x-should-retry']], [500, 'false'], first.text);
      const { status, chargeYuan } = await onlyCall(gateway, account);
      assert.deepEqual([status, chargeYuan], ['failed', null]);

      gateway.provider.respond = success(chat, false);
      const repeat = await send(account, key, body);
      assert.notEqual(repeat.text, JSON.stringify(chat.whole(TOO_DEAR)), 'this response has not been paid for');
      // Either it gets the error of the first, or it runs again and is charged.
      const isRun = gateway.provider.requests.length === length + 2;
      assert.equal(repeat.status, isRun ? 200 : 500);
      await assertSpent(account, isRun ? 18n * 10_000_000_000n : 0n);
    });

    it('a success that the database refuses to charge was delivered if the database was down: its repeats get no other response', async () => {
      const { gateway, dataDir } = scene;
      const account = await gateway.createAccount();
      const { length } = gateway.provider.requests;
      const key = newKey();
      const body = requestOf(false, 'dear');
      gateway.provider.respond = afterwards(() => fail('settlement.end', 'before'), json(200, chat.whole(TOO_DEAR)));
      const first = await send(account, key, body);
      assert.equal(first.status, 200, first.text);
      recover('settlement.end');
      await journalEmptied(dataDir);
      const { status, chargeYuan } = await onlyCall(gateway, account);
      assert.deepEqual([status, chargeYuan], ['succeeded', null]);
      const repeat = await send(account, key, body);
      assert.deepEqual([repeat.status, repeat.text], [200, first.text]);
      assert.equal(gateway.provider.requests.length, length + 1);
      await assertSpent(account, 0n);
    });
  });
});
