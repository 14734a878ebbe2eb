import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { call } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { assertBrokenOff, assertError, requestOf } from '../support/families.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/process.ts';
import { pauseBetweenLooks } from '../support/until.ts';
import {
  type Admin,
  assertCharged,
  assertDelivered,
  assertFree,
  assertServedAnew,
  begin,
  beginAll,
  type Caller,
  type CallInFlight,
  createCallers,
  Gates,
  journalEntries,
  MODEL,
  PLANS,
  recorded,
  recordsOf,
  successOf,
  unfinishedOf,
} from './callers.ts';
import { createTestDisk, type TestDisk } from './disk.ts';

/** A full disk or an unwritable journal: new calls are refused, and no acknowledged charge is lost. */

/** The statements that the end of a call sends to the database. */
const ENDS = ['settlement.end', 'idempotency.keep-response'];
const ADMISSIONS = ['reservations.admit'];

describe(`a full disk`, { timeout: 300_000 }, () => {
  let disk: TestDisk;
  let clock: TestClock;
  let gateway: TestGateway;
  let gates: Gates;
  let directory: ReturnType<typeof temporaryDirectory>;
  let admin: Admin;
  beforeEach(async () => {
    disk = createTestDisk();
    clock = createTestClock('2026-11-20T04:00:00Z');
    directory = temporaryDirectory();
    gateway = await startGateway({
      clock,
      plans: PLANS,
      dataDir: directory.path,
      disk,
      timing: { retryDelayMs: 1 },
    });
    gates = new Gates();
    gateway.provider.respond = gates.respond;
    admin = async (method, path, body) => (await gateway.admin(method, path, body)).body;
  });
  afterEach(async () => {
    await gateway.stop();
    directory.remove();
  });

  const isReady = async (): Promise<boolean> => {
    const response = await fetch(`${gateway.url}/readyz`);
    await response.text();
    return response.ok;
  };
  /** Resolves once the gateway has checked its disk. */
  async function noticed(ready: boolean): Promise<void> {
    clock.advance(1_000);
    while ((await isReady()) !== ready) await pauseBetweenLooks();
  }
  const asked = (names: readonly string[]): number[] => names.map((name) => gateway.observed.statement(name).asked);
  function databaseFails(): void {
    for (const name of ENDS) gateway.observed.statement(name).fail('before');
  }
  function databaseIsBack(): void {
    for (const name of ENDS) gateway.observed.statement(name).recover();
  }

  /** The client got an error instead of the end of its successful response. */
  async function assertWithheld({ caller: { kind }, response }: CallInFlight): Promise<void> {
    const got = await response;
    // A chat stream is cut after the error.
    assert.equal(await got.ended(), !kind.isStream || kind.family.name !== 'chat');
    if (kind.isStream) assertBrokenOff(got, kind.family, unfinishedOf(kind), 'internal_error');
    else assertError(got, kind.family, { status: 500, code: 'internal_error', retry: 'false' });
  }

  /** Waits until none of the caller's calls is in flight in the database. */
  async function nothingReserved({ id }: Caller): Promise<void> {
    const statement = {
      name: 'test.count-all-reservations',
      text: 'select count(*)::int as n from reservations where account_id = $1::text',
    };
    for (;;) {
      const [row] = await gateway.database.query<{ n: number }>(statement, [id]);
      if (row!.n === 0) return;
      await pauseBetweenLooks();
    }
  }

  async function assertRecordedAsFailed(caller: Caller): Promise<void> {
    const record = await recorded(admin, caller, 'failed');
    assert.deepEqual(
      [record.httpStatus, record.errorCode, record.usage, record.chargeYuan, record.heldYuan],
      [500, 'internal_error', null, null, null],
    );
    assert.equal((await recordsOf(admin, caller)).length, 1);
    await assertFree(admin, gateway.url, caller);
  }

  test('with the database there, new calls are refused, those in flight end well, and space lets calls in again', async () => {
    const inFlight = await beginAll(gateway.url, gateway.provider, await createCallers(admin), 'before');
    const refused = await createCallers(admin);
    assert.equal(await isReady(), true);
    disk.fill();
    await noticed(false);

    const before = { calls: gateway.provider.requests.length, admissions: asked(ADMISSIONS) };
    for (const caller of refused) {
      const response = await begin(gateway.url, caller, 'never').response;
      await response.ended();
      assertError(response, caller.kind.family, { status: 500, code: 'internal_error', retry: 'true' });
      await assertFree(admin, gateway.url, caller);
      assert.deepEqual(await recordsOf(admin, caller), []);
    }
    assert.deepEqual({ calls: gateway.provider.requests.length, admissions: asked(ADMISSIONS) }, before);
    await assertStillResponses(refused[0]!.key);

    gates.open('before');
    for (const each of inFlight) {
      await assertDelivered(each);
      await assertCharged(admin, gateway.url, each.caller);
    }
    assert.equal(await isReady(), false);

    disk.free();
    await noticed(true);
    for (const caller of refused) await assertServedAnew(admin, gateway.url, caller, gates);
  });

  /** Requests that call no provider and cost nothing are served as usual. */
  async function assertStillResponses(key: string): Promise<void> {
    const authorization = `Bearer ${key}`;
    for (const path of ['/v1/models', '/v1/public/models', '/v1/user/balance', '/v1/coding/user/balance', '/healthz']) {
      const response = await fetch(gateway.url + path, { headers: { authorization } });
      assert.equal(response.status, 200, `${path}: ${await response.text()}`);
    }
    const estimates = {
      '/v1/messages/count_tokens': requestOf(false, MODEL),
      '/v1/responses/input_tokens': { model: 'test-responses', input: 'Say hello.' },
    };
    for (const [path, body] of Object.entries(estimates)) {
      const { status, text } = await call(gateway.url + path, key, body);
      assert.equal(status, 200, `${path}: ${text}`);
    }
  }

  for (const [room, capacityBytes] of [
    ['no room', 0],
    ['room for a part of an entry', 100],
  ] as const) {
    test(`with the database down and ${room}, calls in flight end with an error and cost nothing, and what was promised is charged`, async () => {
      const promised = await beginAll(gateway.url, gateway.provider, await createCallers(admin), 'promised');
      const withheld = await beginAll(gateway.url, gateway.provider, await createCallers(admin), 'withheld');
      databaseFails();
      gates.open('promised');
      for (const each of promised) await assertDelivered(each);

      disk.fill(capacityBytes);
      gates.open('withheld');
      for (const each of withheld) await assertWithheld(each);
      // The failed write is enough to know, whatever free space the disk reports.
      assert.equal(await isReady(), false);
      for (const { caller } of [...promised, ...withheld]) assert.deepEqual(await recordsOf(admin, caller), []);

      databaseIsBack();
      for (const { caller } of promised) {
        await recorded(admin, caller, 'succeeded');
        await assertCharged(admin, gateway.url, caller);
      }
      for (const { caller } of withheld) await assertRecordedAsFailed(caller);
      assert.equal(await isReady(), false);

      disk.free();
      await noticed(true);
      // Nothing is left for a later start either.
      while ((await journalEntries(directory.path)).length > 0) await pauseBetweenLooks();
      for (const { caller } of withheld) await assertServedAnew(admin, gateway.url, caller, gates);
    });
  }

  /** Lets one statement fail while only the database can take the ends of calls. */
  async function assertFair(name: string, when: 'before' | 'after'): Promise<void> {
    const calls = await beginAll(gateway.url, gateway.provider, await createCallers(admin), 'calls');
    disk.fill();
    gateway.observed.statement(name).fail(when);
    gates.open('calls');
    const delivered = new Set<CallInFlight>();
    for (const each of calls) {
      const response = await each.response;
      await response.ended();
      if (/internal_error/.test(response.text)) await assertWithheld(each);
      else {
        await assertDelivered(each);
        delivered.add(each);
      }
    }
    databaseIsBack();
    for (const each of calls) {
      await nothingReserved(each.caller);
      if (delivered.has(each)) await assertCharged(admin, gateway.url, each.caller);
      else await assertFree(admin, gateway.url, each.caller);
    }
  }

  for (const name of ENDS) {
    for (const when of ['before', 'after'] as const) {
      if (name === 'settlement.end' && when === 'after') continue;
      test(`if only ${name} fails, ${when} it is carried out, a client that gets a success pays for it once, and one that gets an error does not`, () =>
        assertFair(name, when));
    }
  }

  test('a charge whose reply was lost stays with a call whose client got an error, and is on record', async () => {
    const calls = await beginAll(gateway.url, gateway.provider, await createCallers(admin), 'calls');
    disk.fill();
    gateway.observed.statement('settlement.end').fail('after');
    gates.open('calls');
    for (const each of calls) await assertWithheld(each);
    databaseIsBack();
    for (const { caller } of calls) {
      await nothingReserved(caller);
      await assertCharged(admin, gateway.url, caller);
      assert.equal((await recordsOf(admin, caller)).length, 1);
    }

    // With an Idempotency-Key the client still gets what it has paid for.
    const { length } = gateway.provider.requests;
    const { caller } = calls.find((each) => each.caller.kind.idempotencyKey !== undefined)!;
    const again = await begin(gateway.url, caller, 'calls').response;
    await again.ended();
    assert.deepEqual([again.status, again.text], [200, successOf(caller.kind)]);
    assert.equal(gateway.provider.requests.length, length);
    await assertCharged(admin, gateway.url, caller);
  });

  test('with the database down, a call that failed at its provider gets that failure, whatever the disk is like', async () => {
    const callers = await createCallers(admin);
    const failing = Promise.withResolvers<void>();
    gateway.provider.respond = async (_request, response) => {
      await failing.promise;
      response.writeHead(429, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'Slow down.', type: 'rate', code: 'slow_down', param: null } }));
    };
    const responses = callers.map((caller) => begin(gateway.url, caller, 'none').response);
    await gateway.provider.received(callers.length);
    disk.fill();
    databaseFails();
    failing.resolve();
    for (const responding of responses) {
      const response = await responding;
      await response.ended();
      assert.deepEqual([response.status, response.json.error.message], [429, 'Slow down.']);
    }
    databaseIsBack();
    for (const caller of callers) {
      await recorded(admin, caller, 'failed');
      await assertFree(admin, gateway.url, caller);
    }
    disk.free();
    gateway.provider.respond = gates.respond;
    await noticed(true);
    for (const caller of callers) await assertServedAnew(admin, gateway.url, caller, gates);
  });
});
