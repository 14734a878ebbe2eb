import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { KEY_LIMITS } from '../../src/accounting/accounts/key-limit-tables.ts';
import { BALANCES, SUBSCRIPTIONS } from '../../src/accounting/reservations/tables.ts';
import { createSettlementStore } from '../../src/accounting/settlement/store.ts';
import { AUDIT_WITH_PROGRESS, type AuditLine, type AuditResult } from '../../src/api/audit/admin.ts';
import { remoteAdminClient } from '../../src/api/management/admin-client.ts';
import { CODING_CHAT, grant, plansText } from '../plans/coding.ts';
import { timeAt } from '../support/accounting-builders.ts';
import { call, startCall } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { CHAT } from '../support/limited-calls.ts';
import { chatResponse, json, liveResponse } from '../support/provider.ts';

/**
 * Each counter of the limits is set to zero or raised by one. The audit names it with its account, the stored value and the value of the
 * records. Buckets of limits by the minute are not covered, because they drain.
 */

const DAY_MS = 24 * 3_600_000;
const HELLO = { model: 'test-both', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };

const NAMES = {
  balance: 'the balance is the sum of the ledger entries',
  reserved: 'reserved money is the sum of the open reservations',
  lastEntry: 'the last entry number of every balance matches the ledger',
  spending: 'accounts correctly count their charges of the current day',
  inFlight: 'subscriptions correctly count their coding calls in flight',
  slots: 'subscriptions correctly count the slots of their five-hour windows',
  week: 'subscriptions correctly count the calls of the current week',
  period: 'subscriptions correctly count the tokens of the current period',
  reservedTokens: 'subscriptions correctly count the tokens that calls in flight have reserved in the current period',
  uses: 'the call records agree with the counters of subscriptions and keys with limits',
  keyInFlight: 'keys with limits correctly count their calls in flight and the amounts reserved by these calls',
  keyCalls: 'keys with limits correctly count the calls of the current day',
  keySpending: 'keys with limits correctly count their charges by day, week and month, and in total',
} as const;

/** The findings for a wrong counter. A wrong day, week or period makes all counters of it wrong. */
type Named = readonly (readonly [keyof typeof NAMES, RegExp])[];

const SPENT = (period: string, records: string): Named => [
  ['keySpending', new RegExp(`^key_\\w+ counts \\d+ spent in the ${period} since \\S+, records ${records}$`)],
];
const CALLS: Named = [['keyCalls', /^key_\w+ counts \d+ calls in the day since \S+, records \d+$/]];
const WEEK: Named = [['week', /^sub_\w+ counts \d+ calls in the week since \S+, records \d+$/]];
const PERIOD: Named = [['period', /^sub_\w+ counts \d+ tokens in the period since \S+, records \d+$/]];
const RESERVED_TOKENS: Named = [['reservedTokens', /^sub_\w+ counts \d+, reservations \d+$/]];
const SPENDING: Named = [['spending', /^the account counts \d+ spent in the day since \S+, records \d+$/]];
const USES: Named = [['uses', /^(key|sub)_\w+ counts \d+ records, records \d+$/]];

const TABLES: readonly {
  readonly table: string;
  readonly counted: readonly string[];
  readonly key: readonly string[];
  readonly named: Readonly<Record<string, Named>>;
}[] = [
  {
    table: 'balances',
    counted: BALANCES.written.names,
    key: ['account_id'],
    named: {
      balance_nano: [['balance', /^balance \d+, entries \d+$/]],
      reserved_nano: [['reserved', /^reserved \d+, reservations \d+$/]],
      day_began_at: SPENDING,
      day_no: SPENDING,
      spent_nano: SPENDING,
      last_entry_no: [['lastEntry', /^last \d+, ledger \d+$/]],
    },
  },
  {
    table: 'key_limits',
    counted: KEY_LIMITS.written.names,
    key: ['account_id', 'key_id'],
    named: {
      day_began_at: [...CALLS, ...SPENT('day', '0')],
      day_no: [...CALLS, ...SPENT('day', '0')],
      week_began_at: SPENT('week', '0'),
      week_no: SPENT('week', '0'),
      month_began_at: SPENT('month', '0'),
      month_no: SPENT('month', '0'),
      spent_nano: SPENT('day', '\\d+'),
      week_spent_nano: SPENT('week', '\\d+'),
      month_spent_nano: SPENT('month', '\\d+'),
      total_spent_nano: [['keySpending', /^key_\w+ counts \d+ spent in all, records \d+$/]],
      calls: CALLS,
      reserved_nano: [['keyInFlight', /^key_\w+ counts 2, reservations 2$/]],
      in_flight: [['keyInFlight', /^key_\w+ counts \d+, reservations 2$/]],
      use_no: USES,
    },
  },
  {
    table: 'subscriptions',
    counted: SUBSCRIPTIONS.written.names,
    key: ['account_id', 'id'],
    named: {
      slots: [['slots', /^sub_\w+ counts \d+, slots \d+$/]],
      week_began_at: WEEK,
      week_no: WEEK,
      week_calls: WEEK,
      period_began_at: PERIOD,
      // Calls in flight have reserved tokens of that period.
      period_no: [...PERIOD, ...RESERVED_TOKENS],
      period_tokens: PERIOD,
      period_reserved_tokens: RESERVED_TOKENS,
      in_flight: [['inFlight', /^sub_\w+ counts \d+, reservations 1$/]],
      use_no: USES,
    },
  },
];

/** SQL: zero, and a counter `c` raised by one, by type. */
const DAMAGES: Readonly<Record<string, readonly [string, string]>> = {
  bigint: ['0', 'c + 1'],
  'timestamp with time zone': [`timestamptz 'epoch'`, `c + interval '1 ms'`],
};

interface UsedAccount {
  readonly id: string;
  /** The account, its key and its subscription. */
  readonly owners: readonly string[];
}

describe(`the audit of counters`, { timeout: 300_000 }, () => {
  let g: TestGateway;
  let clock: TestClock;
  let damaged: UsedAccount;
  let statements = 0;
  const running: (() => Promise<void>)[] = [];
  /** The types of columns, by `table.column`. */
  let types: ReadonlyMap<string, string>;

  before(async () => {
    clock = createTestClock('2026-03-02T09:00:00Z');
    g = await startGateway({ clock, plans: plansText({ coder: { periodDays: 8 } }) });
    damaged = await createUsedAccount('2026-03-02T09:00:00Z');
    // An undamaged account.
    await createUsedAccount('2026-03-12T10:00:00Z');
    await g.database.script(
      `create schema backup;${TABLES.map(({ table }) => `create table backup.${table} as select * from ${table};`).join('')}`,
    );
  });
  before(async () => {
    const found = await query<{ column: string; type: string }>(
      `select attrelid::regclass || '.' || attname as column, format_type(atttypid, null) as type from pg_attribute
where attrelid in (${TABLES.map(({ table }) => `'${table}'::regclass`).join(', ')})`,
    );
    types = new Map(found.map(({ column, type }) => [column, type]));
  });
  after(async () => {
    for (const end of running) await end();
    await g.stop();
  });

  const audit = async (): Promise<AuditResult> => (await g.admin('POST', '/audit')).body;
  const broken = ({ invariants }: AuditResult) => invariants.filter(({ breaches }) => breaches.length > 0);

  async function query<Row>(text: string, parameters: string[] = []): Promise<Row[]> {
    return g.database.query<Row>({ name: `test.audit-counters-${statements++}`, text }, parameters);
  }

  /** Starts a call; returns a function that ends it. */
  async function liveCall(path: string, key: string): Promise<() => Promise<void>> {
    const live = liveResponse();
    g.provider.respond = live.respond;
    const started = startCall(g.url + path, key, { ...HELLO, stream: true });
    await live.opened;
    g.provider.respond = chatResponse();
    return async () => {
      live.end();
      await (await started.response).ended();
    };
  }

  /** A call that another node resolves as dead while it runs here. */
  async function unresolvedCall(accountId: string, path: string, key: string): Promise<string> {
    const end = await liveCall(path, key);
    const [open] = await query<{ call_id: string }>('select call_id from reservations where account_id = $1', [
      accountId,
    ]);
    await createSettlementStore(g.database).resolve([{ accountId, callId: open!.call_id }], timeAt(clock.nowMs()));
    running.push(end);
    return open!.call_id;
  }

  /** An account with usage in all counters, in past and current periods. */
  async function createUsedAccount(since: string): Promise<UsedAccount> {
    clock.set(since);
    const { id, key: oldKey, keyId } = await g.createAccount();
    await grant(g, id, 'coder');
    const limits = {
      dailySpendCapYuan: '9',
      weeklySpendCapYuan: '9',
      monthlySpendCapYuan: '9',
      totalSpendCapYuan: '9',
    };
    assert.equal((await g.admin('PATCH', `/keys/${keyId}`, { ...limits, dailyCalls: 90, concurrency: 9 })).status, 200);
    const send = async (path: string, key: string, count: number): Promise<void> => {
      for (let no = 0; no < count; no++) assert.equal((await call(g.url + path, key, HELLO)).status, 200);
    };
    await send(CHAT, oldKey, 2);
    await send(CODING_CHAT, oldKey, 2);
    clock.advance(2 * DAY_MS);
    const { status, body } = await g.admin('POST', `/keys/${keyId}/replacement`, {});
    assert.equal(status, 201, JSON.stringify(body));
    const key: string = body.key;
    await send(CHAT, key, 1);
    // Another week.
    clock.set('2026-03-10T09:00:00Z');
    const subscription = (await query<{ id: string }>('select id from subscriptions where account_id = $1', [id]))[0]!
      .id;
    if (Date.parse(since) < clock.nowMs()) {
      assert.equal((await g.admin('POST', `/subscriptions/${subscription}/renewals`, {})).status, 201);
    }
    if (Date.parse(since) < clock.nowMs()) await send(CHAT, key, 2);
    clock.set('2026-03-12T11:00:00Z');
    await send(CHAT, key, 3);
    await send(CODING_CHAT, key, 2);
    g.provider.respond = json(500, '{}');
    assert.equal((await call(g.url + CODING_CHAT, key, HELLO)).status, 500);
    g.provider.respond = chatResponse();
    const [charged] = await query<{ call_id: string }>(
      `select call_id from ledger_entries where account_id = $1 and kind = 'charge' order by entry_no desc limit 1`,
      [id],
    );
    assert.equal((await g.admin('POST', `/calls/${charged!.call_id}/refunds`, {})).status, 201);
    const resolve = async (callId: string, resolution: object): Promise<void> => {
      assert.equal((await g.admin('POST', `/calls/${callId}/resolution`, resolution)).status, 200);
    };
    await resolve(await unresolvedCall(id, CHAT, key), { action: 'charge', chargeYuan: '0.0001' });
    await resolve(await unresolvedCall(id, CODING_CHAT, key), { action: 'count', tokens: 7 });
    running.push(await liveCall(CHAT, key), await liveCall(CODING_CHAT, key));
    return { id, owners: [id, body.id, subscription] };
  }

  it('finds nothing in undamaged counters, and covers all of them', async () => {
    assert.deepEqual(broken(await audit()), []);
    for (const { counted, key, named } of TABLES) {
      assert.deepEqual(
        counted.filter((column) => !key.includes(column)),
        Object.keys(named),
      );
    }
  });

  it('reports its progress line by line, and the result last', async () => {
    const client = remoteAdminClient(g.url, ADMIN_TOKEN);
    const lines: AuditLine[] = [];
    for await (const line of client.lines<AuditLine>(AUDIT_WITH_PROGRESS)) lines.push(line);
    assert.deepEqual(lines.at(-1), { result: await audit() });
    // A locked table stops it in the first range.
    await g.database.transaction(async (transaction) => {
      await transaction.query({ name: 'test.lock', text: 'lock table plan_slots in access exclusive mode' });
      for await (const line of client.lines<AuditLine>(AUDIT_WITH_PROGRESS)) {
        assert.deepEqual(line, { progress: { accounts: 0, accountsTotal: 2, entries: 0, calls: 0 } });
        break;
      }
    });
    assert.equal((await g.admin('POST', '/audit?progress=maybe')).status, 400);
  });

  for (const { table, key, named } of TABLES) {
    const isSame = key.map((name) => `t.${name} = b.${name}`).join(' and ');
    for (const [column, expected] of Object.entries(named)) {
      for (const [which, what] of ['set to zero', 'raised by one'].entries()) {
        it(`names ${column} of ${table} that was ${what}`, async () => {
          const value = DAMAGES[types.get(`${table}.${column}`)!]![which]!.replace('c +', `b.${column} +`);
          const changed = await query(
            `update ${table} t set ${column} = ${value} from backup.${table} b
where ${isSame} and b.account_id = $1 and b.${key.at(-1)} = any ($2::text[]) and b.${column} <> ${value}
returning t.account_id`,
            [damaged.id, `{${damaged.owners.join(',')}}`],
          );
          assert.equal(changed.length, 1);
          const found = broken(await audit());
          await query(`update ${table} t set ${column} = b.${column} from backup.${table} b where ${isSame}`);
          assert.deepEqual(
            found.map(({ invariant }) => invariant).sort(),
            expected.map(([name]) => NAMES[name]).sort(),
            JSON.stringify(found),
          );
          for (const [name, words] of expected) {
            const { breaches } = found.find(({ invariant }) => invariant === NAMES[name])!;
            assert.equal(breaches.length, 1, JSON.stringify(breaches));
            assert.equal(breaches[0]!.accountId, damaged.id);
            assert.match(breaches[0]!.detail, words);
          }
        });
      }
    }
  }

  it('finds nothing after all counters are restored', async () => {
    assert.deepEqual(broken(await audit()), []);
  });
});
