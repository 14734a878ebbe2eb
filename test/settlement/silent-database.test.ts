import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { CODING_CHAT, codingBody, createSubscriber, plansText } from '../plans/coding.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { assertError, type Family, families, modes, requestOf } from '../support/families.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { liveResponse } from '../support/provider.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { type RecordedLogger, recordLogs } from '../support/recorded-logger.ts';
import { createTestTimers, type TestTimers } from '../support/timers.ts';
import { until } from '../support/until.ts';
import {
  afterwards,
  countCharges,
  countReservations,
  journalEmptied,
  journalEntries,
  success,
  successText,
  temporaryDataDir,
} from './outage.ts';

/** A database that stops responding without closing connections: how long calls wait for it, and what becomes of their reservations. */

const QUESTION_MS = 2_000;
const PROBE_PAUSE_MS = 250;

const assertDown = (response: ClientResponse, family: Family): void => {
  assertError(response, family, { status: 500, code: 'internal_error', retry: 'true' });
  assert.equal(response.headers['retry-after'], '2');
};

/** Whether something has not happened although there was time for it. */
async function isPending(work: Promise<unknown>): Promise<boolean> {
  for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
  const pending = Symbol('pending');
  return (await Promise.race([work, pending])) === pending;
}

describe('a network that drops everything sent to PostgreSQL', { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let proxy: TestProxy;
  let database: Database;
  let timers: TestTimers;
  let gateway: TestGateway;
  let logs: RecordedLogger;
  const dataDir = temporaryDataDir();
  before(async () => {
    stored = await createTestDatabase();
    proxy = await startProxy(stored.url);
    database = openPostgres({ url: proxy.url, logger: silentLogger });
    timers = createTestTimers();
    logs = recordLogs();
    gateway = await startGateway({
      stored,
      database,
      dataDir,
      logger: logs.logger,
      timing: { timers, questionMs: QUESTION_MS, patienceMs: 1, retryDelayMs: 1 },
    });
  });
  after(async () => {
    proxy?.allow();
    proxy?.cut();
    await gateway?.stop();
    await proxy?.close();
    await stored?.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const send = (account: TestAccount, family: Family, isStream = false): Promise<ClientResponse> =>
    call(gateway.url + family.path, account.key, requestOf(isStream));

  async function respondsAgain(): Promise<void> {
    proxy.allow();
    // Other work may log its outcome after that.
    const isSaid = (): boolean =>
      logs.lines.findLast(({ message }) => message.startsWith('the database ') && message.includes(' respond'))
        ?.message === 'the database responds again';
    // A probe that was started before is given up first.
    await until(() => {
      timers.advance(PROBE_PAUSE_MS);
      return isSaid();
    });
  }

  it('calls fail when their two seconds are over, and at once from then on, until the database responds', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = success(families[0]!, false);
    assert.equal((await send(account, families[0]!)).status, 200);
    const { length } = gateway.provider.requests;
    const admissions = gateway.observed.statement('reservations.admit');
    const { asked } = admissions;
    proxy.swallowAll();
    const sent = families.flatMap((family) => modes.map(({ isStream }) => send(account, family, isStream)));
    await admissions.reached(asked + 1);
    const [first] = sent;
    timers.advance(QUESTION_MS - 1);
    assert.ok(await isPending(first!), 'it has a millisecond left');
    timers.advance(1);
    for (const [i, response] of (await Promise.all(sent)).entries()) assertDown(response, families[Math.floor(i / 2)]!);

    for (const family of families) assertDown(await send(account, family), family);
    assert.equal(gateway.provider.requests.length, length, 'no provider was called');

    await respondsAgain();
    assert.equal((await send(account, families[0]!)).status, 200);
    await until(async () => (await countReservations(stored, account.id)) === 0);
    await assertSpent(account, 2n * families[0]!.cost);
  });

  it('connections that get no response are destroyed, and no more are opened than one probe needs', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = success(families[0]!, false);
    assert.equal((await send(account, families[0]!)).status, 200);
    proxy.swallowAll();
    let isOver = false;
    const sent = send(account, families[0]!).finally(() => {
      isOver = true;
    });
    // Statements that are sent meanwhile, some of them after the end of the call.
    await until(() => {
      timers.advance(PROBE_PAUSE_MS);
      return isOver;
    });
    assertDown(await sent, families[0]!);
    // A pending probe ends.
    timers.advance(QUESTION_MS);
    await new Promise(setImmediate);
    const probes = gateway.observed.statement('questions.probe');
    for (let probe = 0; probe < 10; probe++) {
      const { asked: probed } = probes;
      assertDown(await send(account, families[0]!), families[0]!);
      assert.equal(probes.asked, probed, 'a call is no probe');
      timers.advance(PROBE_PAUSE_MS);
      assert.equal(probes.asked, probed + 1);
      timers.advance(PROBE_PAUSE_MS);
      assert.equal(probes.asked, probed + 1, 'one probe at a time');
      timers.advance(QUESTION_MS);
      await new Promise(setImmediate);
    }
    // The one that listens for revoked keys, one of the probe, and those of work that no call waits for.
    assert.ok(proxy.connections <= 8, String(proxy.connections));
    await respondsAgain();
    assert.equal((await send(account, families[0]!)).status, 200);
  });

  it('a call that is in flight then is delivered, its end waits in the journal, and is charged once', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = success(families[0]!, false);
    assert.equal((await send(account, families[0]!)).status, 200);
    // Responses are delivered once their ends are in the journal; those of earlier calls are to be in the database, too.
    await journalEmptied(dataDir);
    gateway.provider.respond = afterwards(() => proxy.swallowAll(), success(families[0]!, false));
    const response = await send(account, families[0]!);
    assert.deepEqual([response.status, response.text], [200, successText(families[0]!, false)]);
    assert.equal(journalEntries(dataDir).length, 1);
    // The end that is pending ends with its connection.
    proxy.allow();
    proxy.cut();
    await journalEmptied(dataDir);
    assert.equal(await countCharges(stored, account.id), 2);
    await assertSpent(account, 2n * families[0]!.cost);
  });
});

describe(`a statement that the database does not respond to`, { timeout: 120_000 }, () => {
  const plans = plansText({ queue: { concurrency: 1, queue: { length: 3, wait: '60s' } } });
  let gateway: TestGateway;
  let timers: TestTimers;
  before(async () => {
    timers = createTestTimers();
    gateway = await startGateway({ plans, timing: { timers, questionMs: QUESTION_MS } });
  });
  let held = '';
  afterEach(async () => {
    gateway.observed.statement(held).release();
    timers.advance(PROBE_PAUSE_MS);
    await until(async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = success(families[0]!, false);
      return (await call(gateway.url + families[0]!.path, account.key, requestOf(false))).status === 200;
    });
  });
  after(() => gateway?.stop());

  const hold = (name: string, when?: 'before' | 'after'): number => {
    held = name;
    gateway.observed.statement(name).hold(when);
    return gateway.observed.statement(name).asked;
  };

  const LARGE = 'x'.repeat(2 * 2 ** 20);
  const questions = [
    { what: 'of which account a key is', name: 'accounts.select-standings', headers: {}, body: requestOf(false) },
    {
      what: 'whether an Idempotency-Key is free',
      name: 'idempotency.claim-keys',
      headers: { 'idempotency-key': randomUUID() },
      body: requestOf(false),
    },
    {
      what: 'whether a large body is worth reading',
      name: 'reservations.look',
      headers: {},
      body: { ...requestOf(false), padding: LARGE },
    },
    { what: 'whether a call may run', name: 'reservations.admit', headers: {}, body: requestOf(false) },
  ];
  for (const { what, name, headers, body } of questions) {
    for (const family of families) {
      it(`${family.name}: ${what}: the call fails after two seconds and may be retried; nothing is reserved or charged`, async () => {
        const account = await gateway.createAccount();
        const { length } = gateway.provider.requests;
        const asked = hold(name);
        const sent = call(gateway.url + family.path, account.key, body, { headers });
        await gateway.observed.statement(name).reached(asked + 1);
        timers.advance(QUESTION_MS - 1);
        assert.ok(await isPending(sent));
        timers.advance(1);
        assertDown(await sent, family);
        assert.equal(gateway.provider.requests.length, length);
        await assertSpent(account, 0n);
      });
    }
  }

  it('an admission that was made all the same is released, and nothing is charged', async () => {
    const account = await gateway.createAccount();
    const { length } = gateway.provider.requests;
    const admissions = gateway.observed.statement('reservations.admit');
    hold('reservations.admit', 'after');
    const { done } = admissions;
    const sent = call(gateway.url + families[0]!.path, account.key, requestOf(false));
    await admissions.completed(done + 1);
    assert.equal(await countReservations(gateway.stored, account.id), 1);
    timers.advance(QUESTION_MS);
    assertDown(await sent, families[0]!);
    admissions.release();
    await until(async () => (await countReservations(gateway.stored, account.id)) === 0);
    assert.equal(gateway.provider.requests.length, length);
    await assertSpent(account, 0n);
  });

  it('waiting at the concurrency limit of a plan does not count', async () => {
    held = 'reservations.admit';
    const account = await createSubscriber(gateway, 'queue');
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const first = startCall(gateway.url + CODING_CHAT, account.key, { ...codingBody, stream: true });
    await live.opened;
    const admissions = gateway.observed.statement('reservations.admit');
    const { asked, done } = admissions;
    const second = account.call();
    // It was refused, retried when it was queued, and has no pending admission at the moment.
    await until(() => admissions.asked >= asked + 2 && admissions.done - done === admissions.asked - asked);
    assert.equal(gateway.gateway.callsWaiting(account.id), 1);
    timers.advance(10 * QUESTION_MS);
    gateway.provider.respond = success(families[0]!, false);
    await live.write(families[0]!.stream(['Hello']).join(''));
    live.end();
    await (await first.response).ended();
    assert.equal((await second).status, 200);
  });
});
