import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { startGatewayTarget } from './gateway-target.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import type { MeterReading } from './meter.ts';
import { NEXT_TRANSACTION } from './next-transaction.ts';
import { benchFile, hasCores, nextMessage, spawnOnCore } from './processes.ts';
import { type Measured, renderReport, type Series } from './report.ts';

/**
 * Calls a second, CPU a call and commits a call of the gateway beside a bare pass-through, in one run: non-stream chat,
 * the target on one core, load and provider on the other. Calls that are paid for from a balance, and coding calls whose
 * key has limits. Rounds take turns, medians are printed. Compare ratios, not machines.
 *
 *   npm run bench                          on the embedded database and on a PostgreSQL that it starts
 *   npm run bench -- --before directory    beside another checkout, which has its node_modules; rounds of both take turns
 *   npm run bench -- --connections 1 --seconds 4 --rounds 3
 *   npm run bench -- --profile directory   also writes a CPU profile of each target there, which slows it down
 */
const { values: options } = parseArgs({
  options: {
    connections: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    before: { type: 'string' },
    profile: { type: 'string' },
  },
});
const CHECKOUT = fileURLToPath(new URL('..', import.meta.url));
const BALANCE_PATH = '/v1/chat/completions';
const CODING_PATH = '/v1/coding/chat/completions';

/** A process under test. */
interface Target {
  readonly child: ChildProcess;
  readonly idleBytes: number;
  /** The number of the next transaction of its database, if it has one. */
  readonly nextTransaction: (reading: MeterReading) => Promise<number | null>;
}

/** One line of the report, and what is done for it in each round. */
interface Line extends Series {
  readonly target: Target;
  readonly order: Omit<LoadOrder, 'connections' | 'seconds'>;
}

const load = spawnOnCore([benchFile('load.ts')], 1);
const { url: providerUrl } = await nextMessage<{ url: string }>(load);
const directory = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
const postgres = await startPostgresServer(directory);
const administration = new pg.Client({ connectionString: `${postgres.url}/postgres` });
await administration.connect();

const bare = await startBare();
const lines: Line[] = [bare];
for (const engine of ['PostgreSQL', 'embedded'] as const) {
  const versions = options.before === undefined ? [''] : ['before', 'after'];
  const started: Line[] = [];
  for (const version of versions) started.push(...(await startGateway(engine, version)));
  // Lines that are to be compared stand beside each other.
  lines.push(...started.toSorted((left, right) => left.scenario.localeCompare(right.scenario)));
}

// Until code that is run often has been compiled, a call costs half as much again.
await round(lines, false);
for (let i = 0; i < Number(options.rounds); i++) {
  // What comes later in a round must not always be the same.
  await round(i % 2 === 0 ? lines : lines.toReversed(), true);
}
console.log(`\n${options.connections} connections, ${options.rounds} rounds of ${options.seconds} s, medians`);
console.log(hasCores ? 'target on core 0, load and provider on core 1' : 'not pinned to cores: figures are rough');
console.log(`\n${renderReport(lines, bare)}`);

const targets = new Set(lines.map(({ target }) => target.child));
for (const child of [...targets, load]) {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}
await administration.end();
await postgres.stop();
rmSync(directory, { recursive: true, force: true });

async function startBare(): Promise<Line> {
  const child = spawnOnCore([...profileFlags(), benchFile('bare-proxy.ts'), providerUrl], 0);
  const { url } = await nextMessage<{ url: string }>(child);
  const target = await toTarget(child, async () => null);
  const order = { url, path: BALANCE_PATH, keys: ['none'] };
  return { name: 'bare proxy', scenario: '', version: '', idleBytes: target.idleBytes, rounds: [], target, order };
}

/** Starts a gateway of one of the checkouts; both scenarios use the same process. */
async function startGateway(engine: 'PostgreSQL' | 'embedded', version: string): Promise<Line[]> {
  const name = `${engine}${version}`.toLowerCase();
  const isServer = engine === 'PostgreSQL';
  if (isServer) await administration.query(`create database ${name}`);
  const { child, url, balanceKeys, codingKeys } = await startGatewayTarget({
    checkout: version === 'before' && options.before !== undefined ? resolve(options.before) : CHECKOUT,
    upstreamUrl: providerUrl,
    databaseUrl: isServer ? `${postgres.url}/${name}` : '',
    directory: join(directory, name),
    spawn: (args, environment) => spawnOnCore(args, 0, environment),
    flags: profileFlags(),
  });
  const target = await toTarget(child, async (reading) => {
    return isServer ? await nextOnServer() : reading.nextTransaction;
  });
  const shared = { name: engine, version, idleBytes: target.idleBytes, target };
  return [
    { ...shared, scenario: 'balance', rounds: [], order: { url, path: BALANCE_PATH, keys: balanceKeys } },
    { ...shared, scenario: 'coding, limited key', rounds: [], order: { url, path: CODING_PATH, keys: codingKeys } },
  ];
}

async function toTarget(child: ChildProcess, nextTransaction: Target['nextTransaction']): Promise<Target> {
  return { child, nextTransaction, idleBytes: (await measure(child)).rssBytes };
}

/** Transactions are numbered for all databases of a server; that of another one is idle meanwhile. */
async function nextOnServer(): Promise<number> {
  const { rows } = await administration.query<{ next: number }>(NEXT_TRANSACTION);
  return rows[0]!.next;
}

async function round(inOrder: readonly Line[], isKept: boolean): Promise<void> {
  for (const line of inOrder) {
    const measured = await measureRound(line);
    const title = [line.name, line.scenario, line.version].filter((part) => part !== '').join(', ');
    console.log(`${title.padEnd(44)}${Math.round(measured.callsPerSecond)} calls/s`);
    if (isKept) line.rounds.push(measured);
  }
}

async function measureRound({ name, target, order }: Line): Promise<Measured> {
  const before = await measure(target.child);
  const transactionsBefore = await target.nextTransaction(before);
  const startMs = performance.now();
  load.send({ ...order, connections: Number(options.connections), seconds: Number(options.seconds) });
  const { calls, failures, medianMs } = await nextMessage<LoadResult>(load);
  const elapsedMs = performance.now() - startMs;
  const after = await measure(target.child);
  const transactionsAfter = await target.nextTransaction(after);
  if (failures > 0) throw new Error(`${name}: ${failures} calls failed`);
  const hasTransactions = transactionsBefore !== null && transactionsAfter !== null;
  return {
    callsPerSecond: (calls * 1_000) / elapsedMs,
    medianMs,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / calls,
    commits: hasTransactions ? (transactionsAfter - transactionsBefore) / calls : null,
  };
}

function profileFlags(): string[] {
  return options.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', resolve(options.profile)];
}

async function measure(child: ChildProcess): Promise<MeterReading> {
  child.send({});
  return nextMessage(child);
}
