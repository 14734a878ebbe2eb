import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedCaller } from '../../src/accounting/accounts/recording.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { CallOutcome } from '../../src/accounting/calls/call-outcome.ts';
import { createRefundStore } from '../../src/accounting/corrections/refund-store.ts';
import { createResolutionStore } from '../../src/accounting/corrections/resolution-store.ts';
import { factsText } from '../../src/accounting/reservations/reservation.ts';
import { createRollupStore, type RollupStore } from '../../src/accounting/usage/rollup-store.ts';
import { createRollups } from '../../src/accounting/usage/rollups.ts';
import type { Database } from '../../src/db/database.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { noUsage } from '../../src/protocols/metering/usage-facts.ts';
import {
  createTestNode,
  KNOWN,
  NOW_MS,
  openAccount,
  outcomeOf,
  periodsAt,
  requestOf,
  type TestNode,
  timeAt,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';
import { exported, imported } from '../transfer/books.ts';

/** Sums of usage equal the records and the ledger, while calls end. */

const TIMEZONE = 'Asia/Shanghai';
const HOUR_MS = 3_600_000;

async function sumAll(store: RollupStore): Promise<void> {
  for (;;) {
    const result = await store.sumSlice(TIMEZONE);
    assert.notEqual(result, 'elsewhere');
    if (result === 'idle') return;
  }
}

/** Compares the sums with records and ledger, group by group. */
async function compare(database: Database): Promise<void> {
  const day = (instant: string): string => `to_char(${instant} at time zone '${TIMEZONE}', 'YYYY-MM-DD')`;
  const summed = await sql(
    database,
    `select account_id, to_char(day, 'YYYY-MM-DD') as day, key_id, model, provider, status, context, group_id, calls, charge_nano,
  cost_nano, uncosted_calls, input_tokens, output_tokens, web_searches, images
from usage_rollups where calls > 0 order by 1, 2, 3, 4, 5, 6, 7, 8`,
  );
  const recorded = await sql(
    database,
    `select c.account_id, ${day('coalesce(e.created_at, c.ended_at)')} as day, c.key_id, c.model, c.provider, c.status, c.context,
  coalesce(c.group_id, '') as group_id, count(*) as calls, coalesce(sum(-e.amount_nano), 0)::bigint as charge_nano, coalesce(sum(c.cost_nano), 0)::bigint as cost_nano,
  count(*) filter (where c.usage_source is not null and c.cost_nano is null) as uncosted_calls,
  sum(c.input_tokens)::bigint as input_tokens, sum(c.output_tokens)::bigint as output_tokens,
  coalesce(sum((c.other_units ->> 'webSearches')::bigint), 0)::bigint as web_searches, sum(c.images)::bigint as images
from calls c left join ledger_entries e on e.account_id = c.account_id and e.call_id = c.id and e.kind = 'charge'
where c.status <> 'unresolved' group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8`,
  );
  assert.deepEqual(summed, recorded);
  const [money] = await sql<Record<string, bigint>>(
    database,
    `select (select coalesce(sum(charge_nano), 0)::bigint from usage_rollups) as rolled_charges,
  (select coalesce(sum(refund_nano), 0)::bigint from usage_rollups) as rolled_refunds,
  (select coalesce(sum(charge_nano), 0)::bigint from usage_totals) as total_charges,
  (select coalesce(sum(refund_nano), 0)::bigint from usage_totals) as total_refunds,
  (select coalesce(sum(-amount_nano), 0)::bigint from ledger_entries where kind = 'charge') as charges,
  (select coalesce(sum(amount_nano), 0)::bigint from ledger_entries where kind = 'refund') as refunds`,
  );
  const { charges, refunds, rolled_charges, rolled_refunds, total_charges, total_refunds } = money!;
  assert.deepEqual(
    { rolled_charges, total_charges, rolled_refunds, total_refunds },
    { rolled_charges: charges, total_charges: charges, rolled_refunds: refunds, total_refunds: refunds },
  );
  await compareCallers(database);
}

/** Compares the sums by caller with the records and the refunds of calls. */
async function compareCallers(database: Database): Promise<void> {
  const summed = await sql(
    database,
    `select account_id, day::text, kind, value, key_id, model, status, sum(calls)::bigint as calls, sum(charge_nano)::bigint as charge_nano,
  sum(refund_nano)::bigint as refund_nano, sum(output_tokens)::bigint as output_tokens
from usage_callers group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7`,
  );
  const recorded = await sql(
    database,
    `select account_id, (at at time zone '${TIMEZONE}')::date::text as day, v.kind, v.value, key_id, model, status, sum(calls)::bigint as calls,
  sum(charge_nano)::bigint as charge_nano, sum(refund_nano)::bigint as refund_nano, sum(tokens)::bigint as output_tokens
from (
  select account_id, coalesce((notes -> 'resolution' ->> 'at')::timestamptz, ended_at) as at, key_id, model, status, caller, 1 as calls,
    coalesce(charge_nano, 0) as charge_nano, 0 as refund_nano, output_tokens as tokens from calls where status <> 'unresolved'
  union all
  select c.account_id, e.created_at, c.key_id, c.model, c.status, c.caller, 0, 0, e.amount_nano, 0
  from calls c join ledger_entries e on e.account_id = c.account_id and e.call_id = c.id and e.kind = 'refund'
) c
cross join lateral (
  values ('endUser', caller ->> 'endUser'), ('program', caller ->> 'program')
  union all select 'tag', jsonb_array_elements_text(caller -> 'tags')
) v (kind, value)
where v.value is not null group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7`,
  );
  assert.ok(summed.length > 20);
  assert.deepEqual(summed, recorded);
}

/** Accounts move between groups. */
const groupOf = (n: number): string | null => (n % 8 < 3 ? 'resellers' : null);

function callerOf(n: number): RecordedCaller | null {
  if (n % 6 === 0) return null;
  return {
    ...(n % 2 === 0 && { endUser: `user ${n % 7}` }),
    ...(n % 3 !== 0 && { program: `program/${n % 4}` }),
    ...(n % 4 < 2 && { tags: n % 5 === 0 ? ['batch'] : ['batch', `team-${n % 5}`] }),
  };
}

/** The end of call number `n`, which determines all dimensions and measures. */
function endOf(n: number): CallOutcome {
  const accountId = `acct_${n % 3}`;
  const isCharged = n % 5 !== 0;
  const outcome = outcomeOf(accountId, `call_${String(n).padStart(6, '0')}`, isCharged ? BigInt(n * 7 + 1) : null);
  return {
    ...outcome,
    keyId: `key_${n % 2}`,
    groupId: groupOf(n),
    caller: callerOf(n),
    model: n % 4 === 0 ? 'large' : 'small',
    provider: n % 7 === 0 ? 'other' : 'provider',
    // Over three days of Shanghai, where midnight is 16:00 UTC.
    startedAtMs: NOW_MS + (n % 50) * HOUR_MS,
    endedAtMs: NOW_MS + (n % 50) * HOUR_MS + 20 * 60_000,
    usage: isCharged
      ? { ...noUsage, source: 'observed', inputTokens: n, outputTokens: 2 * n, webSearches: n % 3 }
      : null,
    costNano: isCharged && n % 6 !== 0 ? BigInt(n * 3) : null,
  };
}

describe(`sums of usage`, { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let node: TestNode;
  let rollups: RollupStore;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    node = createTestNode(database, { clock: { nowMs: () => NOW_MS } });
    rollups = createRollupStore(database.pool('housekeeping'));
    for (const n of [0, 1, 2]) await openAccount(database, `acct_${n}`, 1_000_000_000n);
  });
  after(async () => {
    await node.drain();
    await stored.remove();
  });

  const end = (from: number, to: number): Promise<unknown> =>
    Promise.all(Array.from({ length: to - from }, (_, i) => node.end(endOf(from + i))));
  const die = async (n: number): Promise<void> => {
    const { accountId, callId, keyId, model } = endOf(n);
    const facts = factsText({ ...KNOWN, groupId: groupOf(n), caller: callerOf(n) });
    const request = requestOf(accountId, callId, 5_000n, { keyId, model, facts });
    await node.reservations.admit(request);
    const time = timeAt(NOW_MS);
    assert.equal((await node.stores.settlement.resolve([{ accountId, callId }], time)).length, 1);
  };

  it('equal records and ledger if calls end during the summing', async () => {
    let isGoingOn = true;
    const summing = (async () => {
      while (isGoingOn) {
        await rollups.sumSlice(TIMEZONE);
        await nextTurn();
      }
    })();
    for (let n = 0; n < 240; n += 24) await end(n, n + 24);
    // The first end of a call counts.
    await end(0, 30);
    isGoingOn = false;
    await summing;
    await assertSound(inOneDatabase(database));
    await sumAll(rollups);
    await compare(database);
    await assertSound(inOneDatabase(database));
    const [queue] = await sql<{ n: bigint }>(database, 'select count(*) as n from usage_queue');
    assert.equal(queue!.n, 0n);
  });

  it('leave out an unresolved call until its late end, or an operator resolves it', async () => {
    const late = { ...endOf(1_001), startedAtMs: NOW_MS, endedAtMs: NOW_MS };
    await die(1_001);
    await die(1_002);
    await sumAll(rollups);
    await compare(database);
    await node.end(late);
    const resolved = await createResolutionStore(database).resolve({
      callId: 'call_001002',
      resolution: { action: 'charge', chargeNano: 777n },
      by: null,
      via: 'admin_token',
      memo: null,
      idempotencyKey: null,
      periods: periodsAt(NOW_MS + 30 * HOUR_MS),
    });
    assert.equal(resolved.outcome, 'resolved');
    await sumAll(rollups);
    await compare(database);
    // The group at admission is known although the node died.
    const found = await sql(database, `select group_id from usage_rollups where status = 'resolved'`);
    assert.deepEqual(found, [{ group_id: groupOf(1_002) }]);
    await assertSound(inOneDatabase(database));
  });

  it('have refunds on the day of their entry', async () => {
    const refunds = createRefundStore(database);
    const at = new Date(NOW_MS + 100 * HOUR_MS);
    const refund = { callId: 'call_000001', memo: null, idempotencyKey: null, at };
    await refunds.refund({ ...refund, amountNano: 3n });
    await refunds.refund({ ...refund, amountNano: null });
    await sumAll(rollups);
    await compare(database);
    const refunded = await sql(
      database,
      `select account_id, to_char(day, 'YYYY-MM-DD') as day, calls, charge_nano, refund_nano from usage_rollups where refund_nano <> 0`,
    );
    assert.deepEqual(refunded, [
      { account_id: 'acct_1', day: '2026-11-24', calls: 0n, charge_nano: 0n, refund_nano: 8n },
    ]);
    await assertSound(inOneDatabase(database));
  });

  it('are all or nothing: a failed batch is repeated', async () => {
    await end(2_000, 2_040);
    // The statement fails after it has read the queue and summed by account.
    await database.script('alter table usage_totals add constraint no_more check (calls < 0) not valid');
    await assert.rejects(rollups.sumSlice(TIMEZONE), /no_more/);
    await database.script('alter table usage_totals drop constraint no_more');
    await sumAll(rollups);
    await compare(database);
  });

  it('have unqueued records, such as imported ones, once, while calls end', async () => {
    await database.script(
      `update calls set is_queued = null; truncate usage_rollups, usage_totals, usage_callers;
update usage_backfill set last_call_id = '', is_done = false`,
    );
    await assertSound(inOneDatabase(database));
    // Started before; it ends meanwhile, which queues its record.
    await die(1_003);
    assert.equal(await rollups.sumSlice(TIMEZONE), 'more');
    await assertSound(inOneDatabase(database));
    await end(3_000, 3_040);
    await node.end({ ...endOf(1_003), startedAtMs: NOW_MS });
    await sumAll(rollups);
    await database.script(
      `insert into usage_queue (account_ids, call_ids, started_ats, entry_no)
select array[account_id], array[call_id], '{}', entry_no from ledger_entries where kind = 'refund'`,
    );
    await sumAll(rollups);
    await compare(database);
    await assertSound(inOneDatabase(database));
  });

  it('are computed anew after an import', async () => {
    await using copy = await createTestDatabase();
    await imported(copy.database, await exported(database));
    const summing = createRollupStore(copy.database.pool('housekeeping'));
    await sumAll(summing);
    await compare(copy.database);
    const [sum] = await sql<{ n: bigint | null }>(copy.database, 'select sum(calls)::bigint as n from usage_rollups');
    assert.ok(sum!.n! > 240n);
    await assertSound(inOneDatabase(copy.database));
  });

  it('have at most 200 values of an account, a day and a kind; the others are one group', async () => {
    const named = (n: number, name: string): CallOutcome => ({
      ...endOf(n),
      accountId: 'acct_1',
      startedAtMs: NOW_MS + 500 * HOUR_MS,
      endedAtMs: NOW_MS + 500 * HOUR_MS,
      chargeNano: 10n,
      caller: { endUser: name, tags: [name, 'all'] },
    });
    const counted = () =>
      sql<{ kind: string; named: bigint; others: bigint; charges: bigint }>(
        database,
        `select kind, count(distinct value) filter (where value <> '') as named, coalesce(sum(calls) filter (where value = ''), 0)::bigint as others,
  sum(charge_nano)::bigint as charges from usage_callers where day = '2026-12-11' group by kind order by kind`,
      );
    const endAll = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, (_, i) => node.end(named(5_000 + from + i, `name ${from + i}`))));
    await endAll(0, 150);
    await sumAll(rollups);
    assert.deepEqual(await counted(), [
      { kind: 'endUser', named: 150n, others: 0n, charges: 1_500n },
      { kind: 'tag', named: 151n, others: 0n, charges: 3_000n },
    ]);
    await endAll(150, 260);
    await sumAll(rollups);
    await endAll(260, 270);
    // A known value keeps its own sums.
    await node.end(named(6_000, 'name 7'));
    await sumAll(rollups);
    assert.deepEqual(await counted(), [
      { kind: 'endUser', named: 200n, others: 70n, charges: 2_710n },
      { kind: 'tag', named: 200n, others: 71n, charges: 5_420n },
    ]);
    const [seventh] = await sql(
      database,
      `select sum(calls)::bigint as n from usage_callers where day = '2026-12-11' and kind = 'endUser' and value = 'name 7'`,
    );
    assert.deepEqual(seventh, { n: 2n });
    await database.script(
      `update calls set caller = null where started_at >= '2026-12-10'; delete from usage_callers where day = '2026-12-11'`,
    );
    await compare(database);
  });

  it('that differ from the ledger are found by the audit', async () => {
    const add = (account: string, nano: number): Promise<void> =>
      database.script(
        `update usage_rollups set charge_nano = charge_nano + ${nano} where account_id = '${account}' and model = 'large'`,
      );
    for (const account of ['acct_0', 'acct_1', 'acct_2']) {
      await add(account, 1);
      for (const options of [{}, { accountsMax: 1 }]) {
        const found = (await auditLedger(inOneDatabase(database), options)).flatMap(({ invariant, breaches }) =>
          breaches.map(({ accountId }) => `${accountId}: ${invariant}`),
        );
        assert.deepEqual(found, [`${account}: usage sums match the charges and refunds of the ledger`]);
      }
      await add(account, -1);
    }
    await assertSound(inOneDatabase(database));
  });

  it('are computed in the background until the node stops', async () => {
    const job = createRollups({ store: rollups, timezone: () => TIMEZONE, logger: silentLogger, intervalMs: 1 });
    await end(4_000, 4_020);
    await job.round();
    await compare(database);
    job.start();
    await job.stop();
    await end(4_020, 4_021);
    assert.equal(await rollups.sumSlice(TIMEZONE), 'more');
  });
});

describe('sums of usage on a shared database', { timeout: 60_000 }, () => {
  it('are computed by one of several nodes at a time, and equal the ledger', async () => {
    const stored = await createTestDatabase();
    const others = [stored.openAnother(), stored.openAnother()];
    try {
      const node = createTestNode(stored.database, { clock: { nowMs: () => NOW_MS } });
      for (const n of [0, 1, 2]) await openAccount(stored.database, `acct_${n}`, 1_000_000_000n);
      const stores = [stored.database, ...others].map((each) => createRollupStore(each.pool('housekeeping')));
      let isGoingOn = true;
      const results = new Set<string>();
      const summing = stores.map(async (store) => {
        while (isGoingOn) {
          results.add(await store.sumSlice(TIMEZONE));
          await nextTurn();
        }
      });
      for (let n = 0; n < 400; n += 40) {
        await Promise.all(Array.from({ length: 40 }, (_, i) => node.end(endOf(n + i))));
      }
      isGoingOn = false;
      await Promise.all(summing);
      await node.drain();
      assert.ok(results.has('elsewhere'));
      await sumAll(stores[0]!);
      await compare(stored.database);
      await assertSound(inOneDatabase(stored.database));
    } finally {
      await Promise.all(others.map((each) => each.close()));
      await stored.remove();
    }
  });
});
