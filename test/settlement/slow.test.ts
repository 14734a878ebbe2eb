import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { families, modesOf, requestOf } from '../support/families.ts';
import { assertSpent } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { RESPONSES_COST, responseObject, responsesUsage } from '../support/responses.ts';
import {
  countCharges,
  journalEmptied,
  journalEntries,
  journalHolds,
  onlyCall,
  type Scene,
  setScene,
  success,
  successText,
  whens,
} from './outage.ts';

/** A database that takes longer for the end of a call than a client should wait for its last byte. */

const HELD_BACK = ['settlement.end', 'idempotency.keep-response'];

describe(`the database is slow when a call ends`, { timeout: 120_000 }, () => {
  let scene: Scene;
  before(async () => {
    scene = await setScene({ timing: { patienceMs: 1 } });
  });
  afterEach(async () => {
    for (const name of HELD_BACK) {
      scene.gateway.observed.statement(name).recover();
      scene.gateway.observed.statement(name).release();
    }
    await journalEmptied(scene.dataDir);
  });
  after(() => scene?.close());

  const statement = (name: string) => scene.gateway.observed.statement(name);

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      it(`${family.name}, ${kind}: the complete response is delivered before its charge is made, which the slow statement makes once`, async () => {
        const { gateway, stored, dataDir } = scene;
        const account = await gateway.createAccount();
        const ends = statement('settlement.end');
        const { asked } = ends;
        ends.hold();
        gateway.provider.respond = success(family, isStream);
        const response = await call(gateway.url + family.path, account.key, requestOf(isStream));
        assert.deepEqual([response.status, response.text], [200, successText(family, isStream)]);
        assert.equal(journalEntries(dataDir).length, 1);
        assert.equal(await countCharges(stored, account.id), 0);

        ends.release();
        await journalEmptied(dataDir);
        assert.equal(ends.asked, asked + 1, 'it is not asked a second time while it is pending');
        assert.equal(await countCharges(stored, account.id), 1);
        await assertSpent(account, family.cost);
        assert.equal((await onlyCall(gateway, account)).status, 'succeeded');
      });

      for (const when of whens) {
        it(`${family.name}, ${kind}: it is charged once even if the slow statement fails ${when} it was carried out`, async () => {
          const { gateway, stored, dataDir } = scene;
          const account = await gateway.createAccount();
          const ends = statement('settlement.end');
          ends.hold();
          gateway.provider.respond = success(family, isStream);
          const response = await call(gateway.url + family.path, account.key, requestOf(isStream));
          assert.deepEqual([response.status, response.text], [200, successText(family, isStream)]);
          const { asked } = ends;
          ends.fail(when);
          ends.release();
          // The journal's entries are retried more than once.
          await ends.reached(asked + 2);
          assert.equal(journalEntries(dataDir).length, 1);
          ends.recover();
          await journalEmptied(dataDir);
          assert.equal(await countCharges(stored, account.id), 1);
          await assertSpent(account, family.cost);
        });
      }

      it(`${family.name}, ${kind}: a provider's refusal reaches the client although the database does not respond`, async () => {
        const { gateway, dataDir } = scene;
        const account = await gateway.createAccount();
        statement('settlement.end').hold();
        gateway.provider.respond = json(429, { error: { message: 'No.', type: 'rate_limit_error' } });
        const response = await call(gateway.url + family.path, account.key, requestOf(isStream));
        assert.equal(response.status, 429, response.text);
        statement('settlement.end').release();
        await journalEmptied(dataDir);
        await assertSpent(account, 0n);
        assert.equal((await onlyCall(gateway, account)).status, 'failed');
      });
    }

    it(`${family.name}: the response to a call with an Idempotency-Key is delivered although it is not stored yet; the repeat waits for that`, async () => {
      const { gateway, stored, dataDir } = scene;
      const account = await gateway.createAccount();
      const { length } = gateway.provider.requests;
      const headers = { 'idempotency-key': `slow-${family.name}` };
      const send = (): Promise<ClientResponse> =>
        call(gateway.url + family.path, account.key, requestOf(false), { headers });
      statement('idempotency.keep-response').hold();
      gateway.provider.respond = success(family, false);
      const first = await send();
      assert.deepEqual([first.status, first.text], [200, successText(family, false)]);
      await journalHolds(dataDir, 1);
      const repeated = send();
      statement('idempotency.keep-response').release();
      const repeat = await repeated;
      assert.deepEqual([repeat.status, repeat.text], [200, first.text]);
      assert.equal(repeat.headers['x-faregate-repeated'], 'true');
      await journalEmptied(dataDir);
      assert.equal(gateway.provider.requests.length, length + 1);
      assert.equal(await countCharges(stored, account.id), 1);
      await assertSpent(account, family.cost);
    });
  }

  it('a response is delivered although it is not stored yet which provider made it', async () => {
    const { gateway, stored, dataDir } = scene;
    const account = await gateway.createAccount();
    statement('settlement.end').hold();
    gateway.provider.respond = json(200, responseObject({ usage: responsesUsage }));
    const started = startCall(`${gateway.url}/v1/responses`, account.key, {
      model: 'test-responses',
      input: 'Hello',
    });
    const response = await started.response;
    await response.ended();
    assert.equal(response.status, 200);
    const countKeys = async (): Promise<number> => {
      const rows = await stored.database.query<object>(
        { name: 'test.continuation-keys', text: 'select from continuation_keys where account_id = $1::text' },
        [account.id],
      );
      return rows.length;
    };
    assert.equal(await countKeys(), 0);
    statement('settlement.end').release();
    await journalEmptied(dataDir);
    await assertSpent(account, RESPONSES_COST);
    assert.ok((await countKeys()) > 0);
  });

  it('many responses that wait for one statement are delivered, and each call is charged once that is done', async () => {
    const { gateway, stored, dataDir } = scene;
    const account = await gateway.createAccount();
    const ends = statement('settlement.end');
    // All are at the provider before the first one ends: admissions that are batched with an end wait with it.
    const admitted: (() => void)[] = [];
    gateway.provider.respond = (request, response) => {
      const family = families[request.path.endsWith('messages') ? 1 : 0]!;
      admitted.push(() => success(family, JSON.parse(request.body.toString()).stream)(request, response));
      if (admitted.length < 40) return;
      ends.hold();
      for (const respond of admitted) respond();
    };
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        call(gateway.url + families[i % 2]!.path, account.key, requestOf(i % 4 < 2)),
      ),
    );
    assert.ok(responses.every(({ status }) => status === 200));
    assert.equal(journalEntries(dataDir).length, 40);
    ends.release();
    await journalEmptied(dataDir);
    assert.equal(await countCharges(stored, account.id), 40);
    await assertSpent(account, 40n * families[0]!.cost);
  });
});
