import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import pg from 'pg';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import { ALLOW_TRIGGERS } from '../../src/db/citus.ts';
import type { Database } from '../../src/db/database.ts';
import { type DatabaseLocation, type Databases, openDatabases } from '../../src/db/databases.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type ClusterPorts, createCitusDatabase } from '../citus/databases.ts';
import { emptyDatabase, readNewDatabase } from '../support/emptied-database.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type Backend, type Kill, Moments } from '../support/moments.ts';
import { openPartitioned, type PartitionedDatabase } from '../support/opened-partitions.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { spreadDatabase } from '../support/spread-database.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** A gateway on a database with four partitions, whose transactions over both homes are interrupted at a chosen moment. */
export interface Scene extends AsyncDisposable {
  readonly g: TestGateway;
  readonly moments: Moments;
  readonly watched: Pick<Databases, 'directory' | 'partitions'>;
  /** Other handles to the same database, which are not killed except with the whole server. */
  readonly others: Databases;
  /** Another database, the target of imports. */
  readonly target: Target;
  readonly kills: Readonly<Record<'backend' | 'gateway' | 'server', Kill>>;
}

interface Target {
  /** Its directory, whose imports are interrupted. */
  readonly watched: Database;
  readonly others: Databases;
  readonly clear: () => Promise<void>;
}

/** Rows and sums by name. */
export type Totals = Readonly<Record<string, bigint>>;

const DIRECTORY_TOTALS = `select (select count(*) from accounts) as accounts,
  (select count(*) from account_requests) as account_requests,
  (select count(*) from api_keys) as keys,
  (select count(*) from api_keys where revoked_at is not null) as revoked_keys,
  (select count(*) from voucher_redemptions) as redemptions,
  (select count(*) from memberships) as memberships,
  (select count(*) from notices) as notices,
  (select coalesce(sum(low_balance_nano), 0)::bigint from accounts) as thresholds`;

const PARTITION_TOTALS = `select (select count(*) from balances) as balances,
  (select coalesce(sum(balance_nano), 0)::bigint from balances) as money,
  (select count(*) from ledger_entries) as ledger_entries,
  (select count(*) from subscriptions) as subscriptions,
  (select count(*) from key_limits) as key_limits,
  (select count(*) from rate_limits) as rate_limits,
  (select count(*) from continuation_keys) as continuation_keys,
  (select count(*) from notice_states) as notice_states,
  (select count(distinct id) from account_changes cross join unnest(account_ids) as n (id)) as changed_accounts`;

/** Contents of the directory, and of all partitions together. */
export async function totalsOf({ directory, partitions }: Pick<Databases, 'directory' | 'partitions'>): Promise<{
  readonly directory: Totals;
  readonly partitions: Totals;
}> {
  const ofPartitions = await Promise.all(partitions.map((each) => sql<Totals>(each, PARTITION_TOTALS)));
  const sums: Record<string, bigint> = {};
  for (const [row] of ofPartitions)
    for (const [name, value] of Object.entries(row!)) sums[name] = (sums[name] ?? 0n) + value;
  const [ofDirectory] = await sql<Totals>(directory, DIRECTORY_TOTALS);
  return { directory: ofDirectory!, partitions: sums };
}

const PARTITIONS = 4;
/** The server process is killed, but not its machine. */
const NOT_SYNCED = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' };

/** The cluster of `npm run test:citus`; otherwise `null`. */
function citusPorts(): ClusterPorts | null {
  const given = process.env.FAREGATE_TEST_CITUS_PORTS;
  return given === undefined ? null : JSON.parse(given);
}

/** Two empty databases of a server that may be killed: a Citus cluster, or a local server. */
async function createDatabases(
  parts: AsyncDisposableStack,
  ports: ClusterPorts | null,
): Promise<readonly PartitionedDatabase[]> {
  const open = async (url: string, remove: () => Promise<void>): Promise<PartitionedDatabase> =>
    parts.use(await openPartitioned({ url, dataDir: '' }, PARTITIONS, remove));
  if (ports !== null) {
    const made = [await createCitusDatabase(ports), await createCitusDatabase(ports)];
    const opened: PartitionedDatabase[] = [];
    for (const { url, remove } of made) opened.push(await open(url, remove));
    return opened;
  }
  const directory = makeFastDirectory('faregate-killed-');
  parts.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startPostgresServer(directory, NOT_SYNCED);
  parts.defer(() => server.stop());
  const run = async (text: string): Promise<void> => {
    const client = new pg.Client({ connectionString: `${server.url}/postgres` });
    await client.connect();
    await client.query(text).finally(() => client.end());
  };
  await run('create database first');
  const first = await open(`${server.url}/first`, async () => undefined);
  await first.databases.close();
  await run('create database second template first');
  await first.reopen();
  return [first, await open(`${server.url}/second`, async () => undefined)];
}

/** Triggers on a worker do not know the session's setting that disables them. */
async function setLedgerTriggers(partition: Database, change: 'disable' | 'enable'): Promise<void> {
  await partition.transaction(async (transaction) => {
    // Citus forwards only whole messages.
    await sql(transaction, ALLOW_TRIGGERS);
    await sql(transaction, `alter table ledger_entries ${change} trigger user`);
  });
}

export async function openScene(ports = citusPorts()): Promise<Scene> {
  await using parts = new AsyncDisposableStack();
  const [stored, target] = await createDatabases(parts, ports);
  const { databases: others, location } = stored!;
  for (const partition of others.partitions) {
    const rollups = createRollupStore(partition);
    while ((await rollups.sumSlice('Asia/Shanghai')) !== 'idle');
  }
  const proxies: TestProxy[] = [];
  /** Opened like a gateway's, with connections that can be terminated. */
  async function openBehindProxy({ url }: DatabaseLocation): Promise<Databases> {
    const proxy = await startProxy(url);
    parts.defer(() => proxy.close());
    proxies.push(proxy);
    const databases = await openDatabases({ url: proxy.url, dataDir: '' }, silentLogger);
    parts.defer(() => databases.close());
    return databases;
  }
  const opened = await openBehindProxy(location);
  const importing = await openBehindProxy(target!.location);
  const moments = new Moments();
  // Closes the gateway before its databases.
  const partitions = opened.partitions.map((each) => ({ ...moments.watch(each), close: async () => undefined }));
  const watched = { directory: partitions[0]!, partitions };
  const g = await startGateway({
    database: spreadDatabase(watched),
    stored: {
      database: spreadDatabase(others),
      url: location.url,
      openAnother: () => assert.fail('there is one node'),
      remove: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    },
    noticeSettings: 'notices: { lowBalanceYuan: "1" }',
  });
  parts.use(g);

  const targets = target!.databases.partitions;
  const asNew = await Promise.all(targets.map(readNewDatabase));
  const isOnCitus = ports !== null;
  const clear = async (): Promise<void> => {
    for (const [number, each] of targets.entries()) {
      if (isOnCitus) await setLedgerTriggers(each, 'disable');
      assert.ok(await emptyDatabase(each, asNew[number]!));
      if (isOnCitus) await setLedgerTriggers(each, 'enable');
    }
  };

  const isGone = async ({ pid }: Backend): Promise<boolean> =>
    (await sql(others.directory, 'select from pg_stat_activity where pid = $1', [pid])).length === 0;

  const kills = {
    async backend({ pid }: Backend): Promise<void> {
      await sql(others.directory, 'select pg_terminate_backend($1::int)', [pid]);
      await until(() => isGone({ pid, port: 0 }), 'the backend is there');
    },
    async gateway(backend: Backend): Promise<void> {
      for (const proxy of proxies) proxy.end(backend.port);
      await until(() => isGone(backend), 'the server has not noticed that its client is gone');
    },
    /** If one server process dies, PostgreSQL stops all others at once and recovers from the WAL. */
    async server(): Promise<void> {
      const victim = new pg.Client({ connectionString: location.url });
      victim.on('error', () => undefined);
      await victim.connect();
      const { rows } = await victim.query('select pg_backend_pid() as pid');
      process.kill(rows[0].pid, 'SIGKILL');
      await until(() => isRecovered(rows[0].pid), 'the server does not run again');
    },
  };

  async function isRecovered(pid: number): Promise<boolean> {
    try {
      const all = [...others.partitions, ...targets, ...watched.partitions];
      await Promise.all(all.map((each) => sql(each, 'select count(*) from balances')));
      return await isGone({ pid, port: 0 });
    } catch {
      return false;
    }
  }

  const all = parts.move();
  return {
    g,
    moments,
    watched,
    others,
    target: { watched: moments.watchImports(importing.directory), others: target!.databases, clear },
    kills,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
