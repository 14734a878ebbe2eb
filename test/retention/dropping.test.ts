import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type AuditedDatabases, auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createRefundStore } from '../../src/accounting/corrections/refund-store.ts';
import { createResolutionStore } from '../../src/accounting/corrections/resolution-store.ts';
import { factsText } from '../../src/accounting/reservations/reservation.ts';
import { monthOf } from '../../src/accounting/retention/months.ts';
import type { Database } from '../../src/db/database.ts';
import { createIds } from '../../src/lib/ids.ts';
import {
  createTestNode,
  KNOWN,
  openAccount,
  periodsAt,
  requestOf,
  type TestNode,
  timeAt,
} from '../support/accounting-builders.ts';
import { aroundStatements } from '../support/audit-statements.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { observeDatabase } from '../support/observed-database.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { exported, imported, startExport } from '../transfer/books.ts';
import {
  createReusedDatabase,
  droppingOf,
  endOf,
  KEPT_MS,
  kept,
  MONTHS,
  NOW_MS,
  prepareMonths,
  type ReusedDatabase,
  sumUsage,
  usage,
} from './months.ts';

/** Drops months of call records: what is dropped, what stays and why, and that the audit finds nothing before and after. */

const CALLS_A_MONTH = 18;
const ALL = { '2026-01': CALLS_A_MONTH, '2026-02': CALLS_A_MONTH, '2026-03': CALLS_A_MONTH };
const ONE_LEFT = { tables: ['calls_2026_03', 'calls_default'], calls: { '2026-03': CALLS_A_MONTH } };
const ALL_TABLES = ['calls_2026_01', 'calls_2026_02', 'calls_2026_03', 'calls_default'];

/** The findings of the audit: invariants and accounts. */
async function breaches(databases: AuditedDatabases): Promise<string[]> {
  const results = await auditLedger(databases);
  return results.flatMap(({ invariant, breaches: found }) =>
    found.map(({ accountId, detail }) => `${invariant}: ${accountId}: ${detail}`),
  );
}

/** Not lent to other tests, because its tables change. */
async function ownDatabase(): Promise<TestDatabase> {
  const stored = await createTestDatabase();
  assert.notEqual(stored.url, '');
  return stored;
}

async function assertSound(database: Database): Promise<void> {
  assert.deepEqual(await breaches(inOneDatabase(database)), []);
}

describe(`months of call records`, { timeout: 300_000 }, () => {
  let stored: ReusedDatabase;
  let copy: ReusedDatabase;
  let database: Database;
  let node: TestNode;

  before(async () => {
    stored = await createReusedDatabase();
    copy = await createReusedDatabase();
    database = stored.database;
  });
  after(async () => {
    await stored.remove();
    await copy.remove();
  });
  beforeEach(async () => {
    await stored.renew();
    node = createTestNode(database, { clock: { nowMs: () => NOW_MS } });
    for (const n of [0, 1, 2]) await openAccount(database, `acct_${n}`, 1_000_000_000n);
    await prepareMonths(database);
    for (const month of MONTHS) await end(month, 0, CALLS_A_MONTH);
    await sumUsage(database);
  });
  afterEach(() => node.drain());

  /** The months of the sums by caller. */
  async function monthsByCaller(): Promise<string> {
    const [row] = await sql<{ months: string }>(
      database,
      `select string_agg(distinct to_char(day, 'YYYY-MM'), ', ') as months from usage_callers`,
    );
    return row!.months;
  }

  async function end(month: string, from: number, to: number): Promise<void> {
    await Promise.all(Array.from({ length: to - from }, (_, i) => node.end(endOf(month, from + i))));
  }

  /** Admits a call whose node dies. */
  async function die(month: string, n: number): Promise<string> {
    await admit(month, n);
    const { accountId, callId } = endOf(month, n);
    assert.equal((await node.stores.settlement.resolve([{ accountId, callId }], timeAt(NOW_MS))).length, 1);
    return callId;
  }

  async function admit(month: string, n: number): Promise<void> {
    const { accountId, callId, keyId, model, startedAtMs } = endOf(month, n);
    const facts = factsText({ ...KNOWN, startedAtMs });
    await node.reservations.admit(requestOf(accountId, callId, 5_000n, { keyId, model, facts }));
  }

  const resolve = (callId: string) =>
    createResolutionStore(database).resolve({
      callId,
      resolution: { action: 'charge', chargeNano: 777n },
      by: null,
      via: 'admin_token',
      memo: null,
      idempotencyKey: null,
      periods: periodsAt(NOW_MS),
    });

  const refund = (callId: string, amountNano: bigint | null) =>
    createRefundStore(database).refund({
      callId,
      amountNano,
      memo: null,
      idempotencyKey: null,
      at: new Date(NOW_MS),
    });

  it('are those of the instants in ids', async () => {
    const instants = [
      0,
      Date.UTC(2026, 0, 1) - 1,
      Date.UTC(2026, 0, 1),
      Date.UTC(2028, 1, 29, 23, 59, 59, 999),
      2 ** 45,
    ];
    for (let n = 1; n < 200; n++) instants.push((n * 7_919_017_117) % Date.UTC(2060, 0, 1));
    const ids = instants.map((atMs) => createIds({ nowMs: () => atMs }).next('call'));
    const found = await sql<{ month: string }>(
      database,
      'select month_of_call(id)::text as month from unnest($1::text[]) with ordinality as v (id, no) order by no',
      [`{${ids.join(',')}}`],
    );
    assert.deepEqual(
      found.map(({ month }) => month),
      instants.map(monthOf),
    );
  });

  it('are dropped with their indexes; ledger and usage stay, and the audit finds nothing', async () => {
    assert.equal((await refund(endOf('2026-01', 5).callId, 3n)).outcome, 'refunded');
    await sumUsage(database);
    const [before, entries] = [
      await usage(database),
      await sql(database, 'select * from ledger_entries order by 1, 2'),
    ];
    assert.equal(await monthsByCaller(), '2026-01, 2026-02, 2026-03, 2026-04');
    const dropping = droppingOf(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    assert.deepEqual(await kept(database), ONE_LEFT);
    assert.deepEqual(await usage(database), before);
    // These sums contain what callers sent, so they are deleted with the records. The refund is of April.
    assert.equal(await monthsByCaller(), '2026-03, 2026-04');
    assert.deepEqual(await sql(database, 'select * from ledger_entries order by 1, 2'), entries);
    const indexes = await sql(
      database,
      `select from pg_class where relname like 'calls_2026_0_\\_%' and relname < 'calls_2026_03'`,
    );
    assert.equal(indexes.length, 0);
    await assertSound(database);
    // A second run does nothing, and calls continue.
    await dropping.run();
    assert.deepEqual(dropping.said(), []);
    await end('2026-03', CALLS_A_MONTH, CALLS_A_MONTH + 5);
    await sumUsage(database);
    await assertSound(database);
  });

  it('stay for ever without a retention, and are dropped after it is configured or shortened', async () => {
    const dropping = droppingOf(database);
    dropping.keptMs = undefined;
    await dropping.run();
    dropping.keptMs = 62 * 86_400_000;
    await dropping.run();
    assert.deepEqual(await kept(database), { tables: ALL_TABLES, calls: ALL });
    dropping.keptMs = 60 * 86_400_000;
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped']);
    dropping.keptMs = KEPT_MS;
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-02 dropped']);
    await assertSound(database);
  });

  it('leave sums that an export has, and its import has the same usage and passes the audit', async () => {
    assert.equal((await refund(endOf('2026-02', 4).callId, null)).outcome, 'refunded');
    await sumUsage(database);
    await droppingOf(database).run();
    await copy.renew();
    await imported(copy.database, await exported(database));
    await assertSound(copy.database);
    await sumUsage(copy.database);
    assert.deepEqual(await usage(copy.database), await usage(database));
    await assertSound(copy.database);
    // Sums of months that are dropped there are added to those of months that were dropped here.
    const dropping = droppingOf(copy.database);
    dropping.keptMs = 86_400_000;
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-03 dropped']);
    await assertSound(copy.database);
  });

  it('stay while an export runs', async () => {
    const parts = startExport(database);
    const first = await parts.next();
    const dropping = droppingOf(database);
    await dropping.run();
    // The export has locked the records.
    assert.deepEqual(dropping.said().slice(0, 2), [
      '2026-01 waits: another transaction has locked the records',
      '2026-02 waits: another transaction has locked the records',
    ]);
    let text = String(first.value);
    for await (const chunk of parts) text += chunk;
    await copy.renew();
    await imported(copy.database, text);
    await assertSound(copy.database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    await assertSound(database);
  });

  it('stay until usage is summed and calls in flight have ended', async () => {
    await end('2026-02', CALLS_A_MONTH, CALLS_A_MONTH + 1);
    await admit('2026-01', 90);
    const dropping = droppingOf(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), [
      '2026-01 waits: calls of the month are still in flight',
      '2026-02 waits: calls of the month are still in flight',
    ]);
    await node.end(endOf('2026-01', 90));
    await dropping.run();
    assert.deepEqual(dropping.said(), [
      '2026-01 waits: usage is not summed yet',
      '2026-02 waits: usage is not summed yet',
    ]);
    assert.equal((await kept(database)).tables.length, ALL_TABLES.length);
    await sumUsage(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    await assertSound(database);
  });

  it('are summed again after a refund', async () => {
    const observed = observeDatabase(database);
    const dropping = droppingOf(observed.database);
    const locks = observed.statement('retention.limit-locks');
    locks.fail('before');
    await assert.rejects(dropping.run(), /connection was reset/);
    assert.equal((await refund(endOf('2026-01', 5).callId, null)).outcome, 'refunded');
    locks.recover();
    await dropping.run();
    assert.deepEqual(dropping.said(), [
      '2026-01 waits: usage is not summed yet',
      '2026-02 waits: usage is not summed yet',
    ]);
    await sumUsage(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    await assertSound(database);
    await copy.renew();
    await imported(copy.database, await exported(database));
    await sumUsage(copy.database);
    assert.deepEqual(await usage(copy.database), await usage(database));
    await assertSound(copy.database);
  });

  it('include unresolved calls, in their state at the drop', async () => {
    const [left, resolved] = [await die('2026-01', 91), await die('2026-01', 92)];
    const observed = observeDatabase(database);
    const dropping = droppingOf(observed.database);
    // Between the two transactions.
    const locks = observed.statement('retention.limit-locks');
    locks.fail('before');
    await assert.rejects(dropping.run(), /connection was reset/);
    assert.equal((await resolve(resolved)).outcome, 'resolved');
    await sumUsage(database);
    await assertSound(database);
    locks.recover();
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    const [written] = await sql<{ calls: bigint }>(
      database,
      `select sum(calls)::bigint as calls from dropped_calls where dropped_in = '2026-01-01'`,
    );
    assert.equal(written!.calls, BigInt(CALLS_A_MONTH + 2));
    assert.equal((await resolve(left)).outcome, 'unknown_call');
    await assertSound(database);
  });

  it('ignore late ends of their calls', async () => {
    const unresolved = endOf('2026-01', 91);
    await die('2026-01', 91);
    await droppingOf(database).run();
    for (const late of [unresolved, endOf('2026-01', 5), endOf('2026-01', 3)]) await node.end(late);
    assert.deepEqual((await kept(database)).calls, ONE_LEFT.calls);
    const [queue] = await sql<{ n: bigint }>(database, 'select count(*) as n from usage_queue');
    assert.equal(queue!.n, 0n);
    await assertSound(database);
  });

  it('have no calls to find, refund or resolve, and the reason is known', async () => {
    await droppingOf(database).run();
    const calls = createCallsStore(database);
    for (const month of ['2026-01', '2026-02'] as const) {
      const { callId } = endOf(month, 5);
      assert.equal(await calls.find(callId), null);
      assert.equal(await calls.isDropped(callId), true);
      assert.equal((await refund(callId, null)).outcome, 'unknown_call');
      assert.equal((await resolve(callId)).outcome, 'unknown_call');
    }
    for (const callId of [endOf('2026-03', 5).callId, 'call_', 'call_zzzzzzzzzzzzzzzzzzzzzzzzzz', 'nothing']) {
      assert.equal(await calls.isDropped(callId), false, callId);
    }
  });

  it('that lack a record or a charge stay, and the others are dropped', async () => {
    const { accountId, callId } = endOf('2026-01', 5);
    await database.script(
      `create table taken as select * from calls where id = '${callId}'; delete from calls where id = '${callId}'`,
    );
    const dropping = droppingOf(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), [
      `2026-01 stays: account ${accountId} has charges without call records`,
      '2026-02 dropped',
    ]);
    assert.match(
      (await breaches(inOneDatabase(database))).join('\n'),
      new RegExp(`^every charge belongs to a call: ${accountId}: entry \\d+ of call ${callId}$`),
    );
    await database.script('insert into calls select * from taken');
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped']);
    await assertSound(database);
  });

  it('whose charges differ from the ledger stay, and name the call', async () => {
    const { callId } = endOf('2026-01', 5);
    await database.script(`update calls set charge_nano = charge_nano + 1 where id = '${callId}'`);
    const dropping = droppingOf(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), [`2026-01 stays: call ${callId}`, '2026-02 dropped']);
    assert.equal((await breaches(inOneDatabase(database))).length > 0, true);
    await database.script(`update calls set charge_nano = charge_nano - 1 where id = '${callId}'`);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped']);
    await assertSound(database);
  });

  it('stay whole after a failure of any statement, and are dropped by the next run', async () => {
    const observed = observeDatabase(database);
    const dropping = droppingOf(observed.database);
    for (const name of [
      'retention.find-wrong-calls_2026_01',
      'retention.find-orphaned-charges',
      'retention.sum-calls_2026_01',
      'retention.mark-summed-calls_2026_01',
      'retention.lock-calls',
      'retention.drop-calls_2026_01',
      'retention.mark-dropped',
    ]) {
      const statement = observed.statement(name);
      statement.fail('after');
      await assert.rejects(dropping.run(), /connection was reset/, name);
      statement.recover();
      assert.deepEqual(await kept(database), { tables: ALL_TABLES, calls: ALL }, name);
      await assertSound(database);
    }
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    await assertSound(database);
  });

  it('are summed by one node at a time, and from the start if that stops', async () => {
    const observed = observeDatabase(database);
    const stopping = new AbortController();
    const sum = observed.statement('retention.sum-calls_2026_01');
    sum.hold('after');
    const run = droppingOf(observed.database).run(stopping.signal);
    await sum.completed(1);
    const other = droppingOf(database);
    await other.run();
    assert.deepEqual(other.said(), [
      '2026-01 waits: another node is dropping the month',
      '2026-02 waits: another node is dropping the month',
    ]);
    stopping.abort();
    sum.release();
    await run;
    assert.deepEqual((await kept(database)).calls, ALL);
    // The server notices the lost connection after a moment.
    await until(async () => {
      await other.run();
      return (await kept(database)).calls['2026-01'] === undefined;
    });
    await other.run();
    assert.deepEqual(await kept(database), ONE_LEFT);
    await assertSound(database);
  });

  it('wait if a call of theirs is refunded while they are summed', async () => {
    const observed = observeDatabase(database);
    const sum = observed.statement('retention.sum-calls_2026_01');
    sum.hold('after');
    const dropping = droppingOf(observed.database);
    const run = dropping.run();
    await sum.completed(1);
    assert.equal((await refund(endOf('2026-01', 5).callId, null)).outcome, 'refunded');
    sum.release();
    await run;
    assert.equal(dropping.said()[0], '2026-01 waits: a call of the month was refunded in the meantime');
    assert.deepEqual((await kept(database)).calls['2026-01'], CALLS_A_MONTH);
    await sumUsage(database);
    await dropping.run();
    assert.equal(dropping.said()[0], '2026-01 dropped');
    await assertSound(database);
  });

  it('without a table of their own are deleted row by row', async () => {
    await database.script(
      'create table old as select * from calls_2026_01; drop table calls_2026_01; insert into calls select * from old',
    );
    const { callId } = endOf('2026-01', 5);
    await database.script(`update calls set charge_nano = charge_nano + 1 where id = '${callId}'`);
    const dropping = droppingOf(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), [
      '2026-02 dropped',
      `records dropped: ${CALLS_A_MONTH - 1}`,
      `records stays: call ${callId}`,
    ]);
    await database.script(`update calls set charge_nano = charge_nano - 1 where id = '${callId}'`);
    await assertSound(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['records dropped: 1']);
    assert.deepEqual(await kept(database), ONE_LEFT);
    await assertSound(database);
  });

  it('that have records again after they were dropped are deleted row by row', async () => {
    await droppingOf(database).run();
    await database.script(
      `create table calls_2026_01 partition of calls for values from ('2026-01-01T00:00:00Z') to ('2026-02-01T00:00:00Z')`,
    );
    for (const n of [200, 201]) {
      await admit('2026-01', n);
      await node.end(endOf('2026-01', n));
    }
    await sumUsage(database);
    await assertSound(database);
    const dropping = droppingOf(database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['records dropped: 2', '2026-01 dropped']);
    assert.deepEqual(await kept(database), ONE_LEFT);
    await assertSound(database);
  });

  it('stay while an audit reads their records', async () => {
    const dropping = droppingOf(database);
    const databases = aroundStatements(inOneDatabase(database), async ({ name }, run) => {
      if (name === 'audit.calls') await dropping.run();
      return run();
    });
    assert.deepEqual(await breaches(databases), []);
    assert.deepEqual(dropping.said(), [
      '2026-01 waits: another transaction has locked the records',
      '2026-02 waits: another transaction has locked the records',
    ]);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    await assertSound(database);
  });

  it('let the audit find every change of their sums and charges', async () => {
    await droppingOf(database).run();
    await assertSound(database);
    const untouched = 'alter table ledger_entries enable trigger ledger_is_immutable';
    const touched = 'alter table ledger_entries disable trigger ledger_is_immutable';
    const { accountId, callId } = endOf('2026-01', 5);
    const other = endOf('2026-03', 5);
    const dropped = 'for months whose call records were dropped, the stored sums equal the charges in the ledger';
    for (const [damage, repair, expected] of [
      [
        `update dropped_calls set charge_nano = charge_nano + 1 where account_id = '${accountId}' and month = '2026-01-01'`,
        `update dropped_calls set charge_nano = charge_nano - 1 where account_id = '${accountId}' and month = '2026-01-01'`,
        `${dropped}: ${accountId}: calls of 2026-01 that were dropped had \\d+ charges of \\d+, the ledger has \\d+ of \\d+`,
      ],
      [
        `update dropped_calls set charged_calls = charged_calls + 1 where account_id = '${accountId}' and month = '2026-01-01'`,
        `update dropped_calls set charged_calls = charged_calls - 1 where account_id = '${accountId}' and month = '2026-01-01'`,
        `${dropped}: ${accountId}: .*`,
      ],
      [
        `create table taken as select * from dropped_calls where month = '2026-02-01' and account_id = '${accountId}';
delete from dropped_calls where month = '2026-02-01' and account_id = '${accountId}'`,
        'insert into dropped_calls select * from taken; drop table taken',
        `every charge belongs to a call: ${accountId}: entry \\d+ of call call_\\w+`,
      ],
      [
        `${touched}; update ledger_entries set call_id = '${other.callId}x' where call_id = '${callId}'; ${untouched}`,
        `${touched}; update ledger_entries set call_id = '${callId}' where call_id = '${other.callId}x'; ${untouched}`,
        `${dropped}: ${accountId}: .*`,
      ],
      [
        `${touched}; update ledger_entries set amount_nano = amount_nano - 1 where call_id = '${callId}'; ${untouched}`,
        `${touched}; update ledger_entries set amount_nano = amount_nano + 1 where call_id = '${callId}'; ${untouched}`,
        `${dropped}: ${accountId}: .*`,
      ],
      [
        `create table taken as select * from calls where id = '${other.callId}'; delete from calls where id = '${other.callId}'`,
        'insert into calls select * from taken; drop table taken',
        `every charge belongs to a call: ${other.accountId}: entry \\d+ of call ${other.callId}`,
      ],
    ] as const) {
      await database.script(damage);
      const found = await breaches(inOneDatabase(database));
      await database.script(repair);
      assert.ok(
        found.some((breach) => new RegExp(`^${expected}$`).test(breach)),
        `${damage}: ${found.join('\n')}`,
      );
      assert.deepEqual(await breaches(inOneDatabase(database)), []);
    }
  });

  it('are dropped while calls start and end, none of which is lost or fails', async () => {
    const dropping = droppingOf(database);
    let isGoingOn = true;
    let calls = CALLS_A_MONTH;
    const load = (async () => {
      while (isGoingOn) {
        for (let n = calls; n < calls + 8; n++) await admit('2026-03', n);
        await end('2026-03', calls, calls + 8);
        calls += 8;
      }
    })();
    await dropping.run();
    isGoingOn = false;
    await load;
    await sumUsage(database);
    await dropping.run();
    assert.deepEqual(
      dropping.said().filter((line) => line.endsWith(' dropped')),
      ['2026-01 dropped', '2026-02 dropped'],
    );
    assert.deepEqual((await kept(database)).calls, { '2026-03': calls });
    await assertSound(database);
  });
});

describe('months of call records on a shared database', { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let node: TestNode;
  const others: Database[] = [];
  beforeEach(async () => {
    stored = await ownDatabase();
    node = createTestNode(stored.database, { clock: { nowMs: () => NOW_MS } });
    for (const n of [0, 1, 2]) await openAccount(stored.database, `acct_${n}`, 1_000_000_000n);
    await prepareMonths(stored.database);
    for (const month of MONTHS) {
      await Promise.all(Array.from({ length: CALLS_A_MONTH }, (_, n) => node.end(endOf(month, n))));
    }
    await sumUsage(stored.database);
  });
  afterEach(async () => {
    await node.drain();
    for (const other of others.splice(0)) await other.close();
    await stored.remove();
  });

  it('are dropped once by several nodes', async () => {
    others.push(stored.openAnother(), stored.openAnother());
    const droppings = [stored.database, ...others].map((each) => droppingOf(each, { rowsMax: 2 }));
    await Promise.all(droppings.map((each) => each.run()));
    const said = droppings.flatMap((each) => each.said());
    for (const month of ['2026-01', '2026-02']) {
      assert.equal(said.filter((line) => line === `${month} dropped`).length, 1, said.join('\n'));
    }
    assert.deepEqual(await kept(stored.database), ONE_LEFT);
    await assertSound(stored.database);
  });

  it('stay while others have locked records, and calls continue meanwhile', async () => {
    const other = stored.openAnother();
    others.push(other);
    const dropping = droppingOf(stored.database);
    await other.transaction(async (transaction) => {
      await sql(transaction, 'lock table calls in access share mode');
      await dropping.run();
      assert.deepEqual(dropping.said().slice(0, 2), [
        '2026-01 waits: another transaction has locked the records',
        '2026-02 waits: another transaction has locked the records',
      ]);
      await node.end(endOf('2026-03', CALLS_A_MONTH));
    });
    await sumUsage(stored.database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    await assertSound(stored.database);
  });

  it('stay whole if the server closes the connection during the drop', async () => {
    const other = stored.openAnother();
    others.push(other);
    const observed = observeDatabase(other);
    const drop = observed.statement('retention.drop-calls_2026_01');
    drop.hold('after');
    const dropping = droppingOf(observed.database);
    const run = dropping.run();
    await drop.completed(1);
    await sql(
      stored.database,
      `select pg_terminate_backend(pid) from pg_locks
where relation = 'calls'::regclass and mode = 'AccessExclusiveLock' and granted and database = (select oid from pg_database where datname = current_database())`,
    );
    drop.release();
    await assert.rejects(run);
    assert.deepEqual(await kept(stored.database), { tables: ALL_TABLES, calls: ALL });
    await assertSound(stored.database);
    await dropping.run();
    assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
    await assertSound(stored.database);
  });
});
