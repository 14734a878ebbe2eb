import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { readOptions } from '../scripts/read-options.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { createDatabase } from './create-database.ts';
import { accountId, fillDatabase, keyId, RARE_MODEL } from './fill-database.ts';
import { ADMIN_TOKEN, admin, type GatewayTarget, startGatewayTarget } from './gateway-target.ts';
import { createProvider } from './load/provider.ts';
import { send, type Waited } from './paced-calls.ts';
import { spawnFreeGateway } from './processes.ts';
import { quantile } from './quantile.ts';
import { REPOSITORY } from './revisions.ts';

/**
 * The time of lists, searches, an export and an audit on a large database, and of admissions and ends of calls compared with an empty
 * one. Starts a PostgreSQL in the temporary directory, fills it, and starts a gateway on it.
 *
 *     node bench/at-size.ts [--calls 10000000] [--accounts 1000000] [--no-export]
 *
 * For the export it also reports rows, bytes and the times of its statements (`bench/export-statements.ts`).
 */

const REPEATS = 5;
const CALLS_A_SECOND = 20;
const IDLE_MS = 20_000;

const given = readOptions({ calls: 10_000_000, accounts: 1_000_000, 'no-export': false });
const { calls, accounts } = given;
const directory = mkdtempSync(join(tmpdir(), 'faregate-at-size-'));
// Memory of a small server. The write-ahead log is large enough that filling the database does not cause a checkpoint every few seconds.
const server = await startPostgresServer(directory, { shared_buffers: '1GB', max_wal_size: '8GB' });

async function measure(): Promise<void> {
  const url = await createDatabase(server.url, 'filled');
  await createDatabase(server.url, 'empty');
  const filledMs = await timed(() => fillDatabase({ url, calls, accounts, onStep: (text) => console.error(text) }));
  console.log(`${calls} calls and ${accounts} accounts, filled in ${seconds(filledMs)}\n`);

  const provider = createProvider().server.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const target = await startGatewayTarget({
    checkout: REPOSITORY,
    upstreamUrl: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    databaseUrl: url,
    directory: join(directory, 'gateway'),
    spawn: spawnFreeGateway,
    flags: [],
  });
  try {
    await askGateway(target, url);
  } finally {
    await target.stop();
    provider.close();
  }

  // Last, because its accounts have balances without ledger entries.
  for (const name of ['empty', 'filled', 'empty', 'filled']) {
    console.log(`\nAdmissions and ends, ${name} database:`);
    await run(['bench/statements.ts', `${server.url}/${name}`], (text) => process.stdout.write(text));
  }
}

async function askGateway({ url, balanceKeys }: GatewayTarget, databaseUrl: string): Promise<void> {
  console.log('| asked for | responses | median ms | worst ms |\n|---|---|---|---|');
  await lists(url);
  await commands(databaseUrl);
  console.log('\n| meanwhile | took | calls | failed | p50 ms | p99 ms | at most ms |\n|---|---|---|---|---|---|---|');
  await beside('nothing', url, balanceKeys[0]!, () => setTimeout(IDLE_MS));
  await beside('an audit', url, balanceKeys[0]!, () => audit(url));
  if (given['no-export']) return;
  let exported = '';
  await beside('an export', url, balanceKeys[0]!, async () => {
    exported = await exportAll(databaseUrl);
  });
  console.log(`\n${exported}`);
}

/** Every list, with every combination of the filters of calls. */
async function lists(url: string): Promise<void> {
  const nowMs = Date.now();
  const daysAgo = (days: number): string => new Date(nowMs - days * 86_400_000).toISOString();
  const [whale, big, small] = [accountId(1), accountId(50), accountId(4_000)];
  const choices: Record<string, readonly (Record<string, string> | null)[]> = {
    account: [null, { accountId: whale }, { accountId: big }, { accountId: small }],
    key: [null, { keyId: keyId(1) }, { keyId: keyId(4_000) }],
    model: [null, { model: 'model-3' }, { model: RARE_MODEL }, { model: 'none' }],
    status: [null, ...['succeeded', 'failed', 'aborted', 'unresolved'].map((status) => ({ status }))],
    time: [null, { from: daysAgo(2) }, { to: daysAgo(120) }, { from: daysAgo(90), to: daysAgo(89.9) }],
  };
  let filters: Record<string, string>[] = [{}];
  for (const options of Object.values(choices)) {
    filters = filters.flatMap((filter) => options.map((option) => ({ ...filter, ...option })));
  }
  const first: number[] = [];
  for (const filter of filters) first.push((await ask(url, '/calls', filter)).tookMs);
  print(`calls, the first page of ${filters.length} combinations of filters`, first);

  for (const [title, filter] of [
    ['all', {}],
    ['of a small account', { accountId: small }],
    ['of the largest account', { accountId: whale }],
    ['failed', { status: 'failed' }],
    ['unresolved', { status: 'unresolved' }],
    ['unresolved of the largest account', { status: 'unresolved', accountId: whale }],
    ['of a rare model', { model: RARE_MODEL }],
    ['of a model that no call has', { model: 'none' }],
    ['of an hour three months ago', { from: daysAgo(90), to: daysAgo(90 - 1 / 24) }],
  ] as const) {
    await toTheEnd(url, `calls ${title}, pages`, '/calls', filter);
  }
  for (const [title, path, filter] of [
    ['accounts', '/accounts', {}],
    ['accounts with a common name', '/accounts', { search: 'acme' }],
    ['accounts with a part of an old name', '/accounts', { search: 'nitech 22' }],
    ['accounts of an e-mail domain', '/accounts', { search: '@example77.com' }],
    ['accounts that are not there', '/accounts', { search: 'nobody' }],
    ['the account of a name', '/accounts', { name: 'Initech 23' }],
    ['the account of an e-mail address', '/accounts', { name: 'owner4000@example0.com' }],
    ['ledger of a small account', `/accounts/${small}/ledger`, {}],
    ['ledger of the largest account', `/accounts/${whale}/ledger`, {}],
    ['keys of an account', `/accounts/${small}/keys`, {}],
    ['subscriptions of an account', `/accounts/${small}/subscriptions`, {}],
  ] as const) {
    await toTheEnd(url, `${title}, pages`, path, filter);
  }
  for (const path of [`/accounts/${small}`, `/accounts/${whale}`, '/routes', '/unpriced', '/calls?status=in_flight']) {
    const took: number[] = [];
    for (let i = 0; i < REPEATS; i++) took.push((await ask(url, path, {})).tookMs);
    print(path.replace(small, ':small').replace(whale, ':largest'), took);
  }
}

/** Maximum number of pages read of a list. */
const PAGES_MAX = 300;

async function toTheEnd(url: string, title: string, path: string, filter: Record<string, string>): Promise<void> {
  const took: number[] = [];
  let [items, cursor] = [0, null as string | null];
  do {
    const page = { limit: '50', ...(cursor === null ? {} : { cursor }) };
    const { tookMs, body } = await ask(url, path, { ...filter, ...page });
    took.push(tookMs);
    const { data, nextCursor } = body as { data: unknown[]; nextCursor: string | null };
    items += data.length;
    cursor = nextCursor;
  } while (cursor !== null && took.length < PAGES_MAX);
  const allMs = took.reduce((sum, ms) => sum + ms, 0);
  print(`${title}${cursor === null ? '' : ' so far'}: ${items} in ${seconds(allMs)}`, took);
}

/** Commands. Times include the start of a process. */
async function commands(databaseUrl: string): Promise<void> {
  for (const command of [
    ['--version'],
    ['account', 'show', 'Initech 23'],
    ['calls', '--status', 'failed'],
    ['calls', '--status', 'unresolved'],
    ['account', 'list', '--search', 'nitech 22', '--json'],
  ]) {
    const took: number[] = [];
    for (let i = 0; i < 3; i++) {
      took.push(await timed(() => run(['src/main.ts', ...command], () => undefined, { DATABASE_URL: databaseUrl })));
    }
    print(`\`faregate ${command.join(' ')}\``, took);
  }
}

async function audit(url: string): Promise<void> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const response = await fetch(`${url}/admin/v1/audit?progress=true`, { method: 'POST', headers });
  const { result } = JSON.parse((await response.text()).trimEnd().split('\n').at(-1)!);
  if (result?.isSound !== true)
    throw new Error(`the audit found violations: ${JSON.stringify(result).slice(0, 2_000)}`);
}

/** Runs a command as a process; returns its time. */
async function exportAll(databaseUrl: string): Promise<string> {
  let said = '';
  const file = join(directory, 'export.jsonl');
  await run(
    ['bench/export-statements.ts', '--file', file],
    (text) => {
      said += text;
    },
    { DATABASE_URL: databaseUrl },
  );
  return said;
}

/** Latency of calls while something else runs. */
async function beside(title: string, url: string, key: string, work: () => Promise<unknown>): Promise<void> {
  let isOver = false;
  const calls: Promise<Waited>[] = [];
  const callers = (async () => {
    while (!isOver) {
      calls.push(send(url, key));
      await setTimeout(1_000 / CALLS_A_SECOND);
    }
  })();
  const workMs = await timed(work).finally(() => {
    isOver = true;
  });
  await callers;
  const waited = await Promise.all(calls);
  const took = waited.filter(({ status }) => status === 200).map(({ ms }) => ms);
  const failed = waited.length - took.length;
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => quantile(took, share).toFixed(1));
  console.log(`| ${title} | ${seconds(workMs)} | ${took.length} | ${failed} | ${p50} | ${p99} | ${most} |`);
}

async function ask(
  url: string,
  path: string,
  query: Record<string, string>,
): Promise<{ tookMs: number; body: unknown }> {
  const search = new URLSearchParams(query).toString();
  const beganMs = performance.now();
  const body = await admin(url, `${path}${search === '' ? '' : `?${search}`}`);
  return { tookMs: performance.now() - beganMs, body };
}

function print(title: string, took: readonly number[]): void {
  console.log(`| ${title} | ${took.length} | ${quantile(took, 0.5).toFixed(1)} | ${quantile(took, 1).toFixed(1)} |`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function run(args: string[], onText: (text: string) => void, environment: Record<string, string> = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: REPOSITORY, env: { ...process.env, ...environment } });
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', onText);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${args.join(' ')}: ${errors}`))));
  });
}

try {
  await measure();
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
