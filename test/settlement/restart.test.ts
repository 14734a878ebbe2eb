import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { afterEach, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { createSubscriber, plansText } from '../plans/coding.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createBareDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Family, families, requestOf } from '../support/families.ts';
import {
  assertSpent,
  startGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
} from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { partitionsOfFile } from '../support/scope.ts';
import {
  afterwards,
  countCharges,
  countReservations,
  createOutage,
  journalEmptied,
  journalEntries,
  journalHolds,
  journalText,
  type Outage,
  success,
  successText,
  temporaryDataDir,
  type When,
} from './outage.ts';

/** Entries that a process leaves in its journal, and what other nodes do meanwhile with the same calls. */

const [chat, messages] = families as [Family, Family];
const PLANS = plansText({ plan: {} });

/** Gateways, databases and directories of one test. */
class Stage {
  readonly #cleanups: (() => unknown)[] = [];

  dataDir(): string {
    const path = temporaryDataDir();
    this.#cleanups.push(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  async database(): Promise<TestDatabase> {
    const stored = await createTestDatabase(partitionsOfFile);
    this.#cleanups.push(() => stored.remove());
    return stored;
  }

  /** A database of its own, not a copy of the template that all tests share. */
  async anotherDatabase(): Promise<TestDatabase> {
    const stored = await createBareDatabase();
    this.#cleanups.push(() => stored.remove());
    return stored;
  }

  async start(stored: TestDatabase, options: TestGatewayOptions): Promise<TestGateway> {
    const gateway = await startGateway({ stored, ...options, timing: { retryDelayMs: 1, ...options.timing } });
    this.#cleanups.push(() => gateway.provider.close());
    this.#cleanups.push(() => gateway.gateway.close().catch(() => undefined));
    return gateway;
  }

  async clear(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }
}

const send = (
  { url }: TestGateway,
  account: Pick<TestAccount, 'key'>,
  {
    isStream = false,
    family = chat,
    headers = {},
  }: { isStream?: boolean; family?: Family; headers?: Record<string, string> } = {},
): Promise<ClientResponse> => call(url + family.path, account.key, requestOf(isStream), { headers });

async function assertSound(gateway: TestGateway): Promise<void> {
  const { body } = await gateway.admin('POST', '/audit');
  assert.equal(body.isSound, true, JSON.stringify(body.invariants, null, 1));
}

describe('a gateway that stops while its database is down', { timeout: 300_000 }, () => {
  const stage = new Stage();
  afterEach(() => stage.clear());

  /** Calls of several kinds succeed, and the gateway stops before its database is back. */
  async function stopAway(stored: TestDatabase, dataDir: string, connection: Database, outage: Outage) {
    const gateway = await stage.start(stored, { database: connection, dataDir, plans: PLANS });
    const account = await gateway.createAccount();
    const subscriber = await createSubscriber(gateway, 'plan', { balanceYuan: '100' });
    const { body: key } = await gateway.admin('POST', `/accounts/${account.id}/keys`, {
      name: 'limited',
      dailyCalls: 9,
    });
    const arrived = Promise.withResolvers<void>();
    let left = 5;
    gateway.provider.respond = async (request, response) => {
      if (--left === 0) {
        outage.begin();
        arrived.resolve();
      }
      await arrived.promise;
      const family = request.path.endsWith('messages') ? messages : chat;
      await success(family, JSON.parse(request.body.toString()).stream === true)(request, response);
    };
    const responses = await Promise.all([
      send(gateway, account),
      send(gateway, account, { isStream: true, family: messages }),
      send(gateway, key),
      send(gateway, account, { headers: { 'idempotency-key': 'over-the-restart' } }),
      subscriber.call(),
    ]);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    await gateway.gateway.close();
    await gateway.provider.close();
    assert.equal(journalEntries(dataDir).length, 5);
    return { account, subscriber, key, keyed: responses[3]! };
  }

  it(`leaves the entries of its journal to the next one, which charges each call once before it serves`, async () => {
    const stored = await stage.database();
    const dataDir = stage.dataDir();
    const outage = createOutage(stored.openAnother());
    const { account, subscriber, key, keyed } = await stopAway(stored, dataDir, outage.database, outage);

    const next = await stage.start(stored, { database: stored.openAnother(), dataDir, plans: PLANS });
    const ask = async (path: string) => (await next.admin('GET', path)).body;
    assert.equal((await ask(`/accounts/${account.id}`)).heldYuan, '0');
    assert.equal(await countCharges(next, account.id), 4);
    const { data } = await ask(`/calls?accountId=${account.id}`);
    assert.deepEqual(
      data.map(({ status }: { status: string }) => status),
      ['succeeded', 'succeeded', 'succeeded', 'succeeded'],
    );
    assert.equal((await ask(`/accounts/${account.id}`)).balanceYuan, yuanLeft(4n * chat.cost));
    const [coding] = (await ask(`/calls?accountId=${subscriber.id}`)).data;
    assert.deepEqual([coding.status, coding.chargeYuan], ['succeeded', null]);
    const [row] = await next.database.query<{ calls: bigint; in_flight: bigint }>(
      { name: 'test.calls-of-key', text: 'select calls, in_flight from key_limits where key_id = $1' },
      [key.id],
    );
    assert.deepEqual(row, { calls: 1n, in_flight: 0n });
    const snapshot = await fetch(`${next.url}/v1/coding/user/balance`, {
      headers: { authorization: `Bearer ${subscriber.key}` },
    });
    const { fiveHour, concurrency } = (await snapshot.json()) as Record<string, Record<string, number>>;
    assert.deepEqual([fiveHour!.used, concurrency!.inFlight], [1, 0]);

    const repeat = await send(next, account, { headers: { 'idempotency-key': 'over-the-restart' } });
    assert.deepEqual([repeat.status, repeat.text], [200, keyed.text]);
    assert.equal(repeat.headers['x-faregate-repeated'], 'true');
    assert.equal(next.provider.requests.length, 0);
    assert.equal(journalText(dataDir).trim(), '');
    assert.equal(await countCharges(next, account.id), 4);
    await next.stop();
  });

  it(`leaves entries that a gateway with the same directory and another database does not apply`, async () => {
    const stored = await stage.database();
    const dataDir = stage.dataDir();
    const outage = createOutage(stored.openAnother());
    const { account } = await stopAway(stored, dataDir, outage.database, outage);
    const left = journalText(dataDir).trim();

    const strangers = await stage.anotherDatabase();
    const stranger = await stage.start(strangers, { dataDir });
    const tenant = await stranger.createAccount();
    stranger.provider.respond = success(chat, false);
    assert.equal((await send(stranger, tenant)).status, 200);
    await assertSpent(tenant, chat.cost);
    assert.equal((await stranger.admin('GET', '/calls')).body.data.length, 1);
    await stranger.stop();
    assert.equal(journalText(dataDir).trim(), left);

    const next = await stage.start(stored, { database: stored.openAnother(), dataDir });
    assert.equal(await countCharges(next, account.id), 4);
    assert.equal(journalText(dataDir).trim(), '');
    await next.stop();
  });

  it('starts again while an entry is in the database already, and charges nothing twice', async () => {
    const stored = await stage.database();
    const dataDir = stage.dataDir();
    const outage = createOutage(stored.database);
    const first = await stage.start(stored, { database: outage.database, dataDir });
    const account = await first.createAccount();
    first.provider.respond = afterwards(() => outage.begin('after'), success(chat, false));
    assert.equal((await send(first, account)).status, 200);
    await first.gateway.close();
    assert.equal(journalEntries(dataDir).length, 1);

    const next = await stage.start(stored, { database: stored.openAnother(), dataDir });
    assert.equal(await countCharges(next, account.id), 1);
    assert.equal((await next.admin('GET', `/accounts/${account.id}`)).body.balanceYuan, yuanLeft(chat.cost));
    assert.equal((await next.admin('GET', `/calls?accountId=${account.id}`)).body.data.length, 1);
    await next.stop();
  });
});

describe('two nodes, one of which has lost the database', { timeout: 120_000 }, () => {
  const stage = new Stage();
  afterEach(() => stage.clear());

  async function setNodes({ isDirectoryShared = false, laterMs = 0 } = {}) {
    const stored = await stage.database();
    const outage = createOutage(stored.openAnother());
    const dataDir = stage.dataDir();
    const instant = '2026-11-20T04:00:00Z';
    const clock = createTestClock(instant);
    const later = createTestClock(instant);
    later.advance(laterMs);
    const away = await stage.start(stored, { database: outage.database, dataDir, clock });
    const startOther = async (): Promise<TestGateway> =>
      stage.start(stored, {
        database: stored.openAnother(),
        dataDir: isDirectoryShared ? dataDir : stage.dataDir(),
        clock: later,
      });
    return { stored, outage, dataDir, away, startOther };
  }

  /** The claim of a key expires after a minute without its node. */
  const CLAIM_RAN_OUT = { laterMs: 61_000 };
  const KEYED = { headers: { 'idempotency-key': 'on-two-nodes' } };
  const OTHERS_ANSWER = JSON.stringify({ ...chat.whole(), id: 'chatcmpl-of-the-other-node' });

  const faults: readonly { what: string; when: When; isStored: boolean }[] = [
    { what: 'everything', when: 'before', isStored: false },
    // The statement that stores the response comes first and already fails.
    { what: 'everything', when: 'after', isStored: false },
    { what: 'settlement.end', when: 'before', isStored: false },
    { what: 'settlement.end', when: 'after', isStored: true },
    { what: 'idempotency.keep-response', when: 'before', isStored: false },
    { what: 'idempotency.keep-response', when: 'after', isStored: false },
  ];
  for (const { what, when, isStored } of faults) {
    it(`if ${what} fails ${when} it was carried out and a repeat reaches the other one after the claim expired, one of the two is charged`, async () => {
      const { stored, outage, dataDir, away, startOther } = await setNodes(CLAIM_RAN_OUT);
      const account = await away.createAccount();
      const statement = away.observed.statement(what);
      away.provider.respond = afterwards(
        () => (what === 'everything' ? outage.begin(when) : statement.fail(when)),
        success(chat, false),
      );
      const first = await send(away, account, KEYED);
      assert.equal(first.status, 200);

      const other = await startOther();
      other.provider.respond = json(200, OTHERS_ANSWER);
      const repeat = await send(other, account, KEYED);
      assert.equal(repeat.status, 200, repeat.text);
      assert.equal(repeat.text, isStored ? first.text : OTHERS_ANSWER);
      assert.equal(await countCharges(stored, account.id), 1);

      outage.end();
      statement.recover();
      await journalEmptied(dataDir);
      assert.equal(await countCharges(stored, account.id), 1);
      assert.equal(await countReservations(stored, account.id), 0);
      await assertSpent(account, chat.cost);
      const { body } = await other.admin('GET', `/calls?accountId=${account.id}`);
      const charges = body.data.map(({ status, chargeYuan }: Record<string, unknown>) => [status, chargeYuan !== null]);
      // Both were delivered, and both are recorded.
      assert.deepEqual(
        charges.toSorted(),
        isStored
          ? [['succeeded', true]]
          : [
              ['succeeded', false],
              ['succeeded', true],
            ],
      );
      for (const node of [away, other]) {
        const again = await send(node, account, KEYED);
        assert.deepEqual([again.status, again.text], [200, repeat.text]);
        assert.equal(again.headers['x-faregate-repeated'], 'true');
      }
      await assertSpent(account, chat.cost);
      await assertSound(other);
    });
  }

  it('a repeat that reaches the other one in time waits for the first, and does not run', async () => {
    const { stored, outage, dataDir, away, startOther } = await setNodes();
    const account = await away.createAccount();
    away.provider.respond = afterwards(() => outage.begin(), success(chat, false));
    const first = await send(away, account, KEYED);
    const other = await startOther();
    const claims = other.observed.statement('idempotency.claim-keys');
    const repeated = send(other, account, KEYED);
    await claims.completed(2);
    outage.end();
    const repeat = await repeated;
    assert.deepEqual([repeat.status, repeat.text], [200, first.text]);
    await journalEmptied(dataDir);
    assert.equal(other.provider.requests.length, 0);
    assert.equal(await countCharges(stored, account.id), 1);
    await assertSpent(account, chat.cost);
  });

  it('another one that starts on the same directory replays its journal into the database; each call is charged once', async () => {
    const { stored, outage, dataDir, away, startOther } = await setNodes({ isDirectoryShared: true });
    const account = await away.createAccount();
    const late = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let arrived = 0;
    away.provider.respond = async (request, response) => {
      const isLate = ++arrived > 5;
      if (arrived === 10) begun.resolve();
      await begun.promise;
      outage.begin();
      // Half of them are responded to after the other node has come and gone.
      if (isLate) await late.promise;
      await success(chat, false)(request, response);
    };
    const responses = Array.from({ length: 10 }, () => send(away, account));
    await journalHolds(dataDir, 5);

    const other = await startOther();
    assert.equal(await countCharges(stored, account.id), 5);
    late.resolve();
    for (const { status, text } of await Promise.all(responses)) {
      assert.deepEqual([status, text], [200, successText(chat, false)]);
    }
    assert.equal(journalEntries(dataDir).length, 5);
    outage.end();
    await journalEmptied(dataDir);
    await away.gateway.close();
    assert.equal(await countCharges(stored, account.id), 10);
    assert.equal(await countReservations(stored, account.id), 0);
    assert.equal((await other.admin('GET', `/accounts/${account.id}`)).body.balanceYuan, yuanLeft(10n * chat.cost));
    await assertSound(other);
  });
});

/** Of ¥100, as the admin API shows it. */
function yuanLeft(spentNano: bigint): string {
  const left = 100_000_000_000n - spentNano;
  return `${left / 1_000_000_000n}.${String(left % 1_000_000_000n).padStart(9, '0')}`.replace(/\.?0+$/, '');
}
