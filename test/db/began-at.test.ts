import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCounted } from '../../src/accounting/counts/counted-since.ts';
import type { Database } from '../../src/db/database.ts';
import { readMigrations } from '../../src/db/migrate.ts';
import { createBareDatabase, engines } from '../support/database.ts';

/** The upgrade to counts that say when they began (`0041_began_at.sql`), on rows as the version before it left them. */

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

const iso = (epochMs: number): string => new Date(epochMs).toISOString();
/** The date in Shanghai. */
const dateOf = (epochMs: number): string => iso(epochMs + 8 * 3_600_000).slice(0, 10);
const dayBeganAtMs = (epochMs: number): number => Date.parse(`${dateOf(epochMs)}T00:00+08:00`);

async function readMs(database: Database, column: string, table: string, accountId: string): Promise<number> {
  const text = `select ${column} as at from ${table} where account_id = $1`;
  const [row] = await database.query<{ at: Date }>({ name: `test.${table}.${column}`, text }, [accountId]);
  return row!.at.getTime();
}

for (const engine of engines) {
  describe(`counts of an earlier version, ${engine}`, { timeout: 120_000 }, () => {
    it('go on in what still runs, begin anew in what does not, and if they lie ahead', async () => {
      const stored = await createBareDatabase(engine);
      const { database } = stored;
      try {
        const migrations = readMigrations();
        for (const { version, sql } of migrations) if (version < 41) await database.script(sql);
        const nowMs = Math.floor(Date.now() / 1_000) * 1_000;
        // In Shanghai, the day of one call is that of the upgrade, of another one the day before.
        const todayMs = Math.max(dayBeganAtMs(nowMs), nowMs - 1_000);
        const yesterdayMs = dayBeganAtMs(nowMs) - 1_000;
        const anchorMs = nowMs - 100 * DAY_MS;
        const weekNo = Math.floor((todayMs - anchorMs) / WEEK_MS);

        /** An account that made its last call at an instant, which was counted in a day, and in a week and period of its plan. */
        const account = async (
          id: string,
          atMs: number,
          counts: { spentOn?: string; weekNo?: number; periodNo?: number; inFlight?: boolean } = {},
        ): Promise<void> => {
          const spentOn = counts.spentOn ?? dateOf(atMs);
          await database.script(`
insert into accounts (id, name, verified, status, created_at, updated_at) values ('${id}', '${id}', true, 'active', now(), now());
insert into balances (account_id, balance_nano, last_entry_no, spent_on, spent_nano) values ('${id}', 1, 1, '${spentOn}', 7);
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
  values ('${id}', 1, 'charge', -7, 1, 'call_${id}', '${iso(atMs)}');
insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
  values ('${id}', 'key_${id}', 'k', decode(md5('${id}'), 'hex'), 'fg-', now());
insert into key_limits (account_id, key_id, daily_calls_max, day, calls) values ('${id}', 'key_${id}', 9, '${spentOn}', 3);
insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at, week_no, week_calls, period_no, period_tokens)
  values ('${id}', 'sub_${id}', 'p', '${iso(anchorMs)}', '${iso(nowMs + 30 * DAY_MS)}', now(),
    ${counts.weekNo ?? Math.floor((atMs - anchorMs) / WEEK_MS)}, 5, ${counts.periodNo ?? 3}, 11);
insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream,
    status, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
    reasoning_tokens, price_rule)
  values ('${id}', 'call_${id}', '${iso(atMs)}', '${iso(atMs)}', 'key_${id}', 'coding', 'chat', 'm', 'p', 'm', false,
    'succeeded', 'r', 0, 0, 0, 0, 0, 0, 'base');
${
  counts.inFlight
    ? `insert into reservations (account_id, call_id, key_id, model, node_id, reserved_at, facts, key_day, week_no, period_no)
  values ('${id}', 'call_open', 'key_${id}', 'm', 'n', '${iso(atMs)}', '[]', '${spentOn}', ${weekNo}, 3);`
    : ''
}`);
        };
        await account('acct_now', todayMs, { inFlight: true });
        await account('acct_past', yesterdayMs);
        await account('acct_ahead', todayMs, { spentOn: '2099-01-01', weekNo: 5_000, periodNo: 9_000 });
        await account('acct_first', todayMs, { periodNo: 0 });
        await database.script(migrations.find(({ version }) => version === 41)!.sql);

        const isDay = async (id: string, column: string, table: string): Promise<boolean> =>
          isCounted(await readMs(database, column, table, id), dayBeganAtMs(nowMs), nowMs);
        for (const [id, runs] of [
          ['acct_now', true],
          ['acct_past', false],
          ['acct_ahead', false],
        ] as const) {
          assert.equal(await isDay(id, 'day_began_at', 'balances'), runs, `the day of ${id}`);
          assert.equal(await isDay(id, 'day_began_at', 'key_limits'), runs, `the day of the key of ${id}`);
        }
        const runningWeekMs = anchorMs + weekNo * WEEK_MS;
        assert.equal(await readMs(database, 'week_began_at', 'subscriptions', 'acct_now'), runningWeekMs);
        const ofPeriod = async (id: string, days: number): Promise<boolean> => {
          const lengthMs = days * DAY_MS;
          const runningMs = anchorMs + Math.floor((nowMs - anchorMs) / lengthMs) * lengthMs;
          return isCounted(await readMs(database, 'period_began_at', 'subscriptions', id), runningMs, nowMs);
        };
        // Whatever the length of the period is by the configuration.
        for (const days of [3, 30, 90]) {
          assert.equal(await ofPeriod('acct_now', days), true, `${days} days`);
          assert.equal(await ofPeriod('acct_ahead', days), false, `${days} days`);
        }
        // It began with the anchor: of a period of 30 days it is the first one.
        assert.deepEqual([await ofPeriod('acct_first', 365), await ofPeriod('acct_first', 30)], [true, false]);
        const [open] = await database.query<{ is_same: boolean }>({
          name: 'test.open',
          text: `select r.key_day_no = l.day_no and r.period_no = s.period_no and r.week_no = s.week_no as is_same
from reservations r join key_limits l using (account_id, key_id) join subscriptions s using (account_id)`,
        });
        assert.equal(open?.is_same, true);
      } finally {
        await stored.remove();
      }
    });
  });
}
