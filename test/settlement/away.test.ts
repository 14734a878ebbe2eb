import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { formatYuan } from '../../src/lib/yuan.ts';
import { call, startCall } from '../support/client.ts';
import {
  assertBrokenOff,
  assertError,
  assertEstimated,
  begunStream,
  type Family,
  families,
  modes,
  modesOf,
  requestOf,
} from '../support/families.ts';
import { ADMIN_TOKEN, assertSpent, costNano, type TestAccount } from '../support/gateway.ts';
import { json, liveResponse, type Respond, sse } from '../support/provider.ts';
import { until } from '../support/until.ts';
import {
  afterwards,
  countCharges,
  countReservations,
  journalEmptied,
  journalEntries,
  journalFiles,
  journalHolds,
  journalText,
  onlyCall,
  type Scene,
  setScene,
  success,
  successText,
  whens,
} from './outage.ts';

/** Ends of calls while the database is down: what clients receive, and what is charged once it is back. */

const TAGGED = { 'x-faregate-tags': 'kept' };

describe(`the database is down when a call ends`, { timeout: 300_000 }, () => {
  let scene: Scene;
  before(async () => {
    scene = await setScene();
  });
  afterEach(async () => {
    scene.outage.end();
    await journalEmptied(scene.dataDir);
  });
  after(() => scene?.close());

  const send = (account: TestAccount, family: Family, isStream: boolean) =>
    call(scene.gateway.url + family.path, account.key, requestOf(isStream), { headers: TAGGED });

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      for (const when of whens) {
        it(`${family.name}, ${kind}: the complete response is delivered although every statement fails ${when} it is carried out, and is charged once`, async () => {
          const { gateway, outage, stored, dataDir } = scene;
          const account = await gateway.createAccount();
          let availableNano = 0n;
          gateway.provider.respond = afterwards(
            async () => {
              const { balanceNano, heldNano } = await account.money();
              assert.ok(heldNano > 0n);
              availableNano = balanceNano - heldNano;
              outage.begin(when);
            },
            success(family, isStream),
          );
          const response = await send(account, family, isStream);
          assert.equal(response.status, 200, response.text);
          assert.equal(response.text, successText(family, isStream));
          assert.equal(response.headers['x-error-code'], undefined);
          assert.equal(response.headers['x-should-retry'], undefined);
          assert.equal(response.headers['x-request-id'], response.headers['request-id']);
          // What remains now is unknown; the header says what remained at admission, less this call's reservation.
          assert.equal(response.headers['x-faregate-available-yuan'], formatYuan(availableNano));
          assert.equal(response.headers['x-faregate-charge-yuan'], isStream ? undefined : formatYuan(family.cost));

          const [entry, ...others] = journalEntries(dataDir);
          assert.deepEqual(others, []);
          assert.deepEqual(
            [entry?.outcome.accountId, entry?.outcome.status, entry?.outcome.chargeNano],
            [account.id, 'succeeded', family.cost],
          );
          assert.deepEqual([entry?.plan, entry?.key, entry?.kept], [null, null, null]);
          assert.equal(entry?.outcome.callId, response.headers['x-faregate-call-id']);
          if (when === 'before') {
            assert.equal(await countCharges(stored, account.id), 0);
            assert.equal(await countReservations(stored, account.id), 1);
          } else {
            assert.equal(await countCharges(stored, account.id), 1);
            assert.equal(await countReservations(stored, account.id), 0);
          }

          outage.end();
          await journalEmptied(dataDir);
          assert.equal(await countCharges(stored, account.id), 1);
          await assertSpent(account, family.cost);
          const record = await onlyCall(gateway, account);
          const { id, status, httpStatus, errorCode, chargeYuan, heldYuan, requestId, usage, route, tags } = record;
          assert.deepEqual(tags, ['kept']);
          assert.deepEqual(
            { id, status, httpStatus, errorCode, chargeYuan, heldYuan, requestId, source: usage.source },
            {
              id: response.headers['x-faregate-call-id'],
              status: 'succeeded',
              httpStatus: 200,
              errorCode: null,
              chargeYuan: formatYuan(family.cost),
              heldYuan: null,
              requestId: response.headers['request-id'],
              source: 'observed',
            },
          );
          assert.deepEqual([usage.inputTokens, usage.outputTokens, record.isStream], [11, 7, isStream]);
          assert.equal(route.model, 'test-both');
        });
      }

      const refusals: { what: string; respond: Respond; status: number }[] = [
        {
          what: '502',
          respond: json(502, { error: { message: 'No.', type: 'some_error' } }),
          status: 502,
        },
        {
          what: '429',
          respond: json(429, { error: { message: 'No.', type: 'rate_limit_error' } }),
          status: 429,
        },
        {
          what: 'nothing, and hangs up',
          respond: (_request, response) => void response.socket!.resetAndDestroy(),
          status: 502,
        },
      ];
      for (const { what, respond, status } of refusals) {
        it(`${family.name}, ${kind}: the failure of a provider that responds ${what} reaches the client at once; the reservation is released once the database is back`, async () => {
          const { gateway, outage, stored, dataDir } = scene;
          const account = await gateway.createAccount();
          gateway.provider.respond = afterwards(() => outage.begin(), respond);
          const response = await send(account, family, isStream);
          assert.equal(response.status, status, response.text);
          assert.ok(response.json.error.message);
          assert.equal(await countReservations(stored, account.id), 1);
          const [entry] = journalEntries(dataDir);
          assert.deepEqual([entry?.outcome.status, entry?.outcome.chargeNano], ['failed', null]);

          outage.end();
          await journalEmptied(dataDir);
          assert.equal(await countReservations(stored, account.id), 0);
          await assertSpent(account, 0n);
          const record = await onlyCall(gateway, account);
          assert.deepEqual(
            [record.status, record.httpStatus, record.errorCode, record.usage, record.chargeYuan, record.requestId],
            ['failed', status, response.headers['x-error-code'], null, null, response.headers['request-id']],
          );
        });
      }
    }

    it(`${family.name}: a stream whose client leaves is charged for what was received, once the database is back`, async () => {
      const { gateway, outage, stored, dataDir } = scene;
      const account = await gateway.createAccount();
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const body = requestOf(true);
      const started = startCall(gateway.url + family.path, account.key, body);
      await live.opened;
      await live.write(begunStream(family).join(''));
      await (await started.response).until('Hello');
      outage.begin();
      started.drop();
      await live.closed;
      await journalHolds(dataDir, 1);
      assert.equal(await countCharges(stored, account.id), 0);

      outage.end();
      await journalEmptied(dataDir);
      const tokens = { input: family.inputTokens(body), output: 2 };
      await assertEstimated(account, tokens, { status: 'aborted', errorCode: null });
      assert.equal(await countCharges(stored, account.id), 1);
    });

    it(`${family.name}: a non-streaming response whose client has left is awaited, and charged once the database is back`, async () => {
      const { gateway, outage, stored, dataDir } = scene;
      const account = await gateway.createAccount();
      const asked = Promise.withResolvers<void>();
      const responses = Promise.withResolvers<void>();
      gateway.provider.respond = afterwards(
        () => {
          asked.resolve();
          return responses.promise;
        },
        success(family, false),
      );
      const started = startCall(gateway.url + family.path, account.key, requestOf(false));
      await asked.promise;
      outage.begin('after');
      started.drop();
      responses.resolve();
      await journalHolds(dataDir, 1);
      outage.end();
      await journalEmptied(dataDir);
      assert.equal(await countCharges(stored, account.id), 1);
      await assertSpent(account, family.cost);
      assert.equal((await onlyCall(gateway, account)).status, 'succeeded');
    });

    it(`${family.name}: a stream that the provider breaks off ends with its error event, and is charged for what was received`, async () => {
      const { gateway, outage, stored, dataDir } = scene;
      const account = await gateway.createAccount();
      const begun = begunStream(family);
      gateway.provider.respond = afterwards(() => outage.begin(), sse(begun));
      const body = requestOf(true);
      const response = await call(gateway.url + family.path, account.key, body);
      assertBrokenOff(response, family, begun.join(''), 'upstream_error');
      assert.equal(await countCharges(stored, account.id), 0);
      outage.end();
      await journalEmptied(dataDir);
      await assertSpent(account, costNano({ input: family.inputTokens(body), output: 2 }));
      assert.equal(await countCharges(stored, account.id), 1);
    });

    it(`${family.name}: a call that begins while it is down is refused at once, and nothing stays reserved`, async () => {
      const { gateway, outage, stored, dataDir } = scene;
      const account = await gateway.createAccount();
      gateway.provider.respond = success(family, false);
      assert.equal((await send(account, family, false)).status, 200);
      const { length } = gateway.provider.requests;
      outage.begin();
      for (const { isStream } of modes) {
        assertError(await send(account, family, isStream), family, {
          status: 500,
          code: 'internal_error',
          retry: 'true',
        });
      }
      assert.equal(gateway.provider.requests.length, length);
      assert.equal(journalText(dataDir).trim(), '');
      outage.end();
      await until(async () => (await countReservations(stored, account.id)) === 0);
      await assertSpent(account, family.cost);
    });
  }

  for (const when of whens) {
    it(`of fifty concurrent calls while the database goes down, statements failing ${when} they are carried out, each success is charged once`, async () => {
      const { gateway, outage, stored, dataDir } = scene;
      const accounts = await Promise.all(Array.from({ length: 5 }, () => gateway.createAccount()));
      const { length } = gateway.provider.requests;
      const letGo = Promise.withResolvers<void>();
      let arrived = 0;
      gateway.provider.respond = async (request, response) => {
        const family = families.find(({ path }) => request.path.endsWith(path.slice('/v1'.length)))!;
        const { stream } = JSON.parse(request.body.toString());
        // Every third call fails; the first 25 end before the database is down, or while it goes down.
        const isEarly = ++arrived <= 25;
        if (!isEarly) await letGo.promise;
        const respond = arrived % 3 === 0 ? json(503, { error: { message: 'No.' } }) : success(family, stream);
        await respond(request, response);
      };
      const calls = Array.from({ length: 50 }, (_, i) => ({
        account: accounts[i % 5]!,
        family: families[i % 2]!,
        isStream: i % 4 < 2,
      }));
      const ended = calls.map(async (each) => ({
        ...each,
        response: await send(each.account, each.family, each.isStream),
      }));
      await gateway.provider.received(length + 50);
      await Promise.race(ended);
      outage.begin(when);
      letGo.resolve();
      const all = await Promise.all(ended);
      const spent = new Map(accounts.map(({ id }) => [id, 0n]));
      let successes = 0;
      for (const { account, family, isStream, response } of all) {
        if (response.status !== 200) {
          assert.equal(response.status, 503, response.text);
          continue;
        }
        successes++;
        assert.equal(response.text, successText(family, isStream));
        spent.set(account.id, spent.get(account.id)! + family.cost);
      }
      assert.ok(successes >= 20 && successes < 50, String(successes));
      assert.ok(journalEntries(dataDir).length >= 20);

      outage.end();
      await journalEmptied(dataDir);
      let charges = 0;
      for (const account of accounts) {
        charges += await countCharges(stored, account.id);
        await assertSpent(account, spent.get(account.id)!);
      }
      assert.equal(charges, successes);
      const { body } = await gateway.admin('POST', '/audit');
      assert.equal(body.isSound, true, JSON.stringify(body.invariants));
    });
  }

  it('what the provider said about a failure waits in the journal', async () => {
    const { gateway, outage, dataDir } = scene;
    const account = await gateway.createAccount();
    const words = 'The engine is overloaded';
    const overloaded = json(500, { error: { message: words } });
    gateway.provider.respond = afterwards(() => outage.begin(), overloaded);
    const { status } = await send(account, families[0]!, false);
    assert.equal(status, 500);
    const [entry] = journalEntries(dataDir);
    assert.equal(entry?.outcome.notes?.attempts?.[0]?.words, words);
    outage.end();
    await journalEmptied(dataDir);
    const { attempts } = await onlyCall(gateway, account);
    assert.deepEqual(
      attempts.map(({ provider, failure, httpStatus, words: said }: Record<string, unknown>) => [
        provider,
        failure,
        httpStatus,
        said,
      ]),
      [['chatty', 'refused', 500, words]],
    );
  });

  it('journal files are readable by this user alone, and contain no credential', async () => {
    const { gateway, outage, dataDir } = scene;
    const account = await gateway.createAccount();
    const idempotencyKey = 'an-idempotency-key-of-a-client';
    gateway.provider.respond = afterwards(() => outage.begin(), success(families[0]!, false));
    const headers = { 'idempotency-key': idempotencyKey };
    const { status } = await call(`${gateway.url}/v1/chat/completions`, account.key, requestOf(false), { headers });
    assert.equal(status, 200);
    const text = journalText(dataDir);
    const [entry] = journalEntries(dataDir);
    assert.equal(entry?.kept?.body?.toString(), JSON.stringify(families[0]!.whole()));
    const secrets = [account.key, ADMIN_TOKEN, 'provider-secret-key', idempotencyKey, 'Say hello.'];
    for (const secret of secrets) {
      for (const form of [secret, Buffer.from(secret).toString('base64').replace(/=+$/, '')]) {
        assert.ok(!text.includes(form), `the journal contains ${secret}`);
      }
    }
    if (process.platform === 'win32') return;
    const files = journalFiles(dataDir);
    assert.ok(files.length > 0);
    for (const file of files) {
      assert.equal(statSync(file).mode & 0o777, 0o600, file);
      assert.equal(statSync(dirname(file)).mode & 0o777, 0o700, dirname(file));
    }
  });
});
