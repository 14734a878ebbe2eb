import pg from 'pg';
import { readOptions } from '../scripts/read-options.ts';
import { monthTableOf } from '../src/accounting/calls/calls-store.ts';
import { openDatabases } from '../src/db/databases.ts';
import { migrate } from '../src/db/migrate.ts';
import { addPartition, migrateAll } from '../src/db/partitions.ts';
import { silentLogger } from '../src/lib/logger.ts';

/**
 * Fills an empty database with accounts, keys, balances, ledger entries and call records of half a year, as calls would have left them:
 * an audit finds nothing wrong. All values follow from the number of a call, so SQL can generate them.
 *
 *     DATABASE_URL=postgres://… npm run fill -- --calls 10000000 --accounts 1000000
 *     DATABASE_URL=postgres://… npm run fill -- --partitions 4      four partitions, each filled alike
 *     FAREGATE_DATA_DIR=./data npm run fill -- --calls 1000000 --accounts 100000        the local server
 *
 * In a partition one account makes a tenth of the calls, a hundred accounts make a fifth, and all others an equal share of the rest, in
 * scattered order. One call in forty fails; a few are unresolved, aborted, of a rare model, or on a plan.
 */

export interface FillOptions {
  /** Empty for the local server of `dataDir`. */
  readonly url: string;
  readonly dataDir?: string;
  readonly calls: number;
  readonly accounts: number;
  /** By default one. More require a server. */
  readonly partitions?: number;
  readonly onStep?: (text: string) => void;
}

const DAYS = 180;
const DAY_MS = 86_400_000;
/** Alphabet of ids: Crockford's base 32 (`src/lib/ids.ts`). */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const PRICE_LIST = '6f1c7bb0-0000-4000-8000-000000000001';
const TOP_UP_NANO = '10000000000000';
/** A prime above the number of accounts, so that multiples reach every account in scattered order. */
const SCATTER = 15_485_863;
const BIG_ACCOUNTS = 100;

export const RARE_MODEL = 'model-rare';
export const accountId = (n: number): string => `acct_01k0000000${String(n).padStart(16, '0')}`;
export const keyId = (n: number): string => `key_01k0000000${String(n).padStart(16, '0')}`;

const sqlId = (prefix: string, n: string): string => `'${prefix}_01k0000000' || lpad(${n}::text, 16, '0')`;
const sqlTime = (ms: string): string =>
  Array.from({ length: 10 }, (_, i) => `substr('${ALPHABET}', ((${ms} >> ${45 - 5 * i}) & 31)::int + 1, 1)`).join(
    ' || ',
  );

/** Runs SQL without time limits. */
interface Session {
  run(sql: string): Promise<unknown>;
  rows<Row>(sql: string): Promise<Row[]>;
  end(): Promise<void>;
}

/** The share of one partition: accounts and calls, numbered after those of earlier partitions. */
interface Share {
  readonly partition: number;
  readonly accounts: number;
  readonly accountsBefore: number;
  readonly calls: number;
  readonly callsBefore: number;
}

/** @throws if the database already has accounts, or cannot be reached */
export async function fillDatabase(options: FillOptions): Promise<void> {
  const { partitions = 1, onStep = () => undefined } = options;
  const [accounts, calls] = [options.accounts / partitions, options.calls / partitions].map(Math.floor) as [
    number,
    number,
  ];
  for (let partition = 0; partition < partitions; partition++) {
    const [first, second] = await openSessions(options, partition);
    const share = { partition, accounts, accountsBefore: partition * accounts, calls, callsBefore: partition * calls };
    try {
      await fillPartition(first, second, share, onStep);
    } finally {
      await Promise.all([first.end(), second.end()]);
    }
  }
}

async function fillPartition(
  first: Session,
  second: Session,
  share: Share,
  onStep: (text: string) => void,
): Promise<void> {
  const { partition, accounts, accountsBefore, calls } = share;
  const found = await first.rows(`select id from accounts where partition_no = ${partition} limit 1`);
  if (found.length > 0) throw new Error('The database has accounts; this fills an empty one.');
  const endMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const stepMs = Math.floor((DAYS * DAY_MS) / calls);
  const startMs = endMs - stepMs * calls;
  const made = (from: number, to: number): string => callsSql(from, to, share, startMs, stepMs);
  const numbers = `generate_series(${accountsBefore + 1}, ${accountsBefore + accounts}) n`;

  const step = async (text: string, work: () => Promise<unknown>): Promise<void> => {
    const beganMs = performance.now();
    await work();
    onStep(`${text}: ${((performance.now() - beganMs) / 1_000).toFixed(1)} s`);
  };
  await step(`${accounts} accounts`, () => insertAccounts(first, partition, numbers, startMs));
  const restore = await dropIndexes(second, 'ledger_entries');
  await Promise.all([
    step('keys', () => insertKeys(first, numbers, startMs)).then(async () => {
      for (const month of months(startMs, endMs)) {
        const from = Math.max(0, Math.ceil((month.from.getTime() - startMs) / stepMs));
        const to = Math.min(calls, Math.ceil((month.to.getTime() - startMs) / stepMs));
        await step(`${to - from} calls in ${month.name}`, () => insertCalls(first, month, made(from, to)));
      }
    }),
    (async () => {
      await step('ledger entries', () => insertEntries(second, numbers, startMs, made(0, calls)));
      await step('indexes of ledger entries', () => second.run(restore));
    })(),
  ]);
  await step('balances', () => insertBalances(first, numbers));
  await Promise.all([
    step('statistics of calls', () => first.run('vacuum (analyze) calls')),
    step('statistics of the rest', () =>
      second.run('vacuum (analyze) ledger_entries, accounts, balances, api_keys, price_lists'),
    ),
  ]);
}

/** Two sessions that work concurrently on a server. For a local server both are the same. */
async function openSessions(
  { url, dataDir = '', partitions = 1 }: FillOptions,
  partition: number,
): Promise<[Session, Session]> {
  if (url !== '') {
    await divideDatabase(url, partitions);
    return [await connect(url, partition), await connect(url, partition)];
  }
  if (partitions > 1) throw new Error('Several partitions are filled on a server alone: give DATABASE_URL.');
  const { directory: database } = await openDatabases({ url, dataDir }, silentLogger);
  await migrate(database);
  let closed: Promise<void> | null = null;
  let asked = 0;
  const session: Session = {
    run: (sql) => database.script(sql),
    rows: (sql) => database.query({ name: `fill.${++asked}`, text: sql }),
    end() {
      closed ??= database.close();
      return closed;
    },
  };
  return [session, session];
}

/** Applies all migrations and creates partitions up to the given number. */
export async function divideDatabase(url: string, partitions: number): Promise<void> {
  const databases = await openDatabases({ url, dataDir: '' }, silentLogger);
  await migrateAll(databases);
  while (databases.partitions.length < partitions) await addPartition(databases);
  await databases.close();
}

/** Tables of the partition come before those of the directory. */
export const pathOf = (partition: number): string =>
  partition === 0 ? 'public' : `faregate_${String(partition).padStart(2, '0')},public`;

async function connect(url: string, partition: number): Promise<Session> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`set search_path to ${pathOf(partition)}`);
  await client.query(
    `set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '256MB'; set jit = off`,
  );
  return {
    run: (sql) => client.query(sql),
    rows: async <Row>(sql: string) => (await client.query(sql)).rows as Row[],
    end: () => client.end(),
  };
}

/** Calls by number, with their account, and the number of its earlier calls and charges. */
function callsSql(from: number, to: number, share: Share, startMs: number, stepMs: number): string {
  const { accounts, accountsBefore, callsBefore } = share;
  const others = accounts - BIG_ACCOUNTS - 1;
  return `(
  select n + ${callsBefore} as n, ms, account, k, account % 50 = 0 as is_coding, s.is_failed, s.is_failed and n % 50000 < 40 as is_unresolved,
    (1000000 + account % 1000 * 1000)::bigint as charge,
    k + 1 - ((k + account % 40 + 33) / 40 - (account % 40 + 32) / 40) as charge_no
  from (
    select n, ${startMs}::bigint + n * ${stepMs} as ms,
      case when n % 10 = 0 then 1
        when n % 10 < 3 then 2 + (n / 10 * 2 + n % 10 - 1) % ${BIG_ACCOUNTS}
        else ${BIG_ACCOUNTS + 2} + ((n / 10 * 7 + n % 10 - 3) % ${others}) * ${SCATTER} % ${others} end + ${accountsBefore} as account,
      case when n % 10 = 0 then n / 10
        when n % 10 < 3 then (n / 10 * 2 + n % 10 - 1) / ${BIG_ACCOUNTS}
        else (n / 10 * 7 + n % 10 - 3) / ${others} end as k
    from generate_series(${from}::bigint, ${to - 1}::bigint) n
  ) numbered cross join lateral (select (k + account % 40) % 40 = 7 as is_failed) s
) c`;
}

async function insertAccounts(session: Session, partition: number, numbers: string, startMs: number): Promise<void> {
  await session.run(`insert into accounts (id, name, email, verified, status, created_at, updated_at, partition_no)
select ${sqlId('acct', 'n')}, (array['Acme','Globex','Initech','Umbrella','Hooli','Stark','Wayne'])[n % 7 + 1] || ' ' || n,
  'owner' || n || '@example' || n % 1000 || '.com', true, 'active', to_timestamp(${startMs / 1_000}), to_timestamp(${startMs / 1_000}),
  ${partition}
from ${numbers}`);
  await session.run(
    `insert into price_lists (id, prices) values ('${PRICE_LIST}', '{"inputNanoPerMillion":"1000000000"}')`,
  );
}

async function insertKeys(session: Session, numbers: string, startMs: number): Promise<void> {
  await session.run(`insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
select ${sqlId('acct', 'n')}, ${sqlId('key', 'n')}, 'default', sha256(('fill ' || n)::bytea), 'sk-fg-', to_timestamp(${startMs / 1_000})
from ${numbers}`);
}

type Month = ReturnType<typeof monthTableOf>;

function months(startMs: number, endMs: number): Month[] {
  const found: Month[] = [];
  for (let month = monthTableOf(new Date(startMs)); month.from.getTime() < endMs; month = monthTableOf(month.to)) {
    found.push(month);
  }
  return found;
}

/** Fills a separate table first, because creating indexes when attaching it is faster than maintaining them. */
async function insertCalls(session: Session, { name, from, to }: Month, made: string): Promise<void> {
  await session.run(`create table ${name} (like calls including defaults including constraints including storage)`);
  await session.run(`insert into ${name} (account_id, id, started_at, ended_at, key_id, context, operation, model, provider,
  provider_model, is_stream, status, http_status, error_code, request_id, first_byte_ms, usage_source, input_tokens,
  cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, price_rule, price_list, charge_nano,
  reserved_nano)
select ${sqlId('acct', 'account')}, 'call_' || ${sqlTime('ms')} || lpad(n::text, 16, '0'), to_timestamp(ms / 1000.0),
  to_timestamp((ms + 1500 + n % 4000) / 1000.0), ${sqlId('key', 'account')}, case when is_coding then 'coding' else 'balance' end, 'chat',
  case when n % 1000000 = 77 then '${RARE_MODEL}' else 'model-' || n % 7 end, 'provider-' || n % 3, 'upstream-' || n % 7, n % 2 = 0,
  case when is_unresolved then 'unresolved' when is_failed then 'failed' when n % 97 = 5 then 'aborted' else 'succeeded' end,
  case when is_unresolved then null when is_failed then 502 else 200 end, case when is_failed then 'upstream_error' end,
  'req_' || md5(n::text), 200 + n % 700, case when is_failed then null else 'observed' end, 100 + n % 5000, n % 100, 0, 0, 50 + n % 900, 0,
  'base', case when is_unresolved then null else '${PRICE_LIST}'::uuid end, case when is_coding or is_failed then null else charge end,
  case when is_unresolved and not is_coding then charge end
from ${made}`);
  await session.run(
    `alter table calls attach partition ${name} for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
  );
}

async function insertEntries(session: Session, numbers: string, startMs: number, made: string): Promise<void> {
  await session.run(`insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
select ${sqlId('acct', 'n')}, 1, 'top_up', ${TOP_UP_NANO}, ${TOP_UP_NANO}, to_timestamp(${startMs / 1_000})
from ${numbers}`);
  await session.run(`insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
select ${sqlId('acct', 'account')}, 1 + charge_no, 'charge', -charge, ${TOP_UP_NANO} - charge * charge_no,
  'call_' || ${sqlTime('ms')} || lpad(n::text, 16, '0'), to_timestamp((ms + 1500 + n % 4000) / 1000.0)
from ${made} where not is_coding and not is_failed`);
}

/** Balances that agree with the ledger. */
async function insertBalances(session: Session, numbers: string): Promise<void> {
  await session.run(`insert into balances (account_id, balance_nano, last_entry_no)
select account_id, ${TOP_UP_NANO} + sum(amount_nano) filter (where entry_no > 1), max(entry_no) from ledger_entries
group by account_id having count(*) > 1
union all
select ${sqlId('acct', 'n')}, ${TOP_UP_NANO}, 1 from ${numbers}
where not exists (select from ledger_entries e where e.account_id = ${sqlId('acct', 'n')} and e.entry_no = 2)`);
}

/** Drops the indexes and constraints of a table to which no foreign key refers; returns the SQL that restores them. */
async function dropIndexes(session: Session, table: string): Promise<string> {
  const rows = await session.rows<{ name: string; definition: string; constraint_definition: string | null }>(
    `select i.relname as name, pg_get_indexdef(x.indexrelid) as definition, pg_get_constraintdef(c.oid) as constraint_definition
    from pg_index x join pg_class i on i.oid = x.indexrelid left join pg_constraint c on c.conindid = x.indexrelid
    where x.indrelid = '${table}'::regclass`,
  );
  const restore: string[] = [];
  for (const { name, definition, constraint_definition: constraint } of rows) {
    await session.run(constraint === null ? `drop index ${name}` : `alter table ${table} drop constraint ${name}`);
    restore.push(constraint === null ? definition : `alter table ${table} add constraint ${name} ${constraint}`);
  }
  return restore.join(';\n');
}

if (import.meta.main) {
  const shares = readOptions({ calls: 10_000_000, accounts: 1_000_000, partitions: 1 });
  const { DATABASE_URL: url = '', FAREGATE_DATA_DIR: dataDir = '' } = process.env;
  if (url === '' && dataDir === '')
    throw new Error('DATABASE_URL or FAREGATE_DATA_DIR: where is the empty database to fill?');
  const beganMs = performance.now();
  const onStep = (text: string): void =>
    console.log(`${((performance.now() - beganMs) / 1_000).toFixed(0).padStart(5)} s  ${text}`);
  await fillDatabase({ url, dataDir, ...shares, onStep });
}
