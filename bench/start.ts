import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LISTENING, type ReadPrinted, readPrinted } from '../scripts/started-demo.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { createDatabase } from './create-database.ts';
import { ADMIN_TOKEN, benchConfig, createAccount, createKey } from './gateway-target.ts';
import { createProvider } from './load/provider.ts';
import { send } from './paced-calls.ts';
import { parseStat } from './process-tree.ts';
import { median } from './quantile.ts';
import { DATABASE_KINDS } from './targets.ts';

/**
 * Duration of a start, from the command to the response of the first call: with a configuration and of the demo, with a new database and
 * with existing data, on either kind of database; and of `faregate --version`. Medians over rounds that take turns; CPU includes the
 * children that the gateway's process waited for. Linux only, because it reads /proc.
 *
 *   node bench/start.ts [rounds]
 *
 * A new database with a configuration has no account: creating one, with its key, is part of that start.
 */
const ROUNDS = Number(process.argv[2] ?? 5);

const BIN = fileURLToPath(new URL('../bin/faregate.js', import.meta.url));
const TICKS_A_SECOND = 100;

interface Started {
  readonly listenMs: number;
  readonly callMs: number;
  /** `null` if the process exited before it was read. */
  readonly cpuSeconds: number | null;
}

const directory = mkdtempSync(join(tmpdir(), 'faregate-start-'));
const postgres = await startPostgresServer(directory);
const provider = createProvider().server.listen(0, '127.0.0.1');
await once(provider, 'listening');
const results = new Map<string, Started[]>();
try {
  // Creates the compile cache for later starts.
  await runVersion();
  for (let round = 0; round <= ROUNDS; round++) await measureRound(round);
} finally {
  provider.close();
  await postgres.stop();
  rmSync(directory, { recursive: true, force: true });
}
console.log(row(['medians', 'listens ms', 'first call ms', 'CPU s', 'most ms']));
for (const [name, runs] of results) {
  const middle = (value: (run: Started) => number): number => median(runs.map(value))!;
  const most = Math.max(...runs.map(({ callMs }) => callMs));
  console.log(
    row([
      name,
      middle(({ listenMs }) => listenMs).toFixed(0),
      middle(({ callMs }) => callMs).toFixed(0),
      runs[0]!.cpuSeconds === null ? '-' : middle(({ cpuSeconds }) => cpuSeconds ?? 0).toFixed(2),
      most.toFixed(0),
    ]),
  );
}

/** Round 0 warms up and is not counted. */
async function measureRound(round: number): Promise<void> {
  const note = (name: string, started: Started): void => {
    if (round > 0) results.set(name, [...(results.get(name) ?? []), started]);
  };
  note('faregate --version', await runVersion());
  for (const database of DATABASE_KINDS) {
    for (const kind of ['configured', 'demo']) {
      const home = join(directory, `${database}-${kind}-${round}`);
      mkdirSync(home);
      const url = database === 'PostgreSQL' ? await createDatabase(postgres.url, `${kind}_${round}`) : '';
      const start = kind === 'demo' ? startDemo : startConfigured;
      note(`${database}, ${kind}, new`, await start(home, url));
      note(`${database}, ${kind}, with data`, await start(home, url));
      removeDirectory(home);
    }
  }
}

async function runVersion(): Promise<Started> {
  const begun = performance.now();
  const child = spawn(process.execPath, [BIN, '--version'], { env: environment(), stdio: 'ignore' });
  await once(child, 'exit');
  const tookMs = performance.now() - begun;
  return { listenMs: tookMs, callMs: tookMs, cpuSeconds: null };
}

async function startDemo(home: string, databaseUrl: string): Promise<Started> {
  return startGateway(home, ['serve'], { DATABASE_URL: databaseUrl }, async (_url, printed) => {
    const [, key] = await printed(/API key +(\S+)\n/);
    return { key: key!, model: 'demo-chat' };
  });
}

async function startConfigured(home: string, databaseUrl: string): Promise<Started> {
  const file = join(home, 'faregate.yaml');
  const { port } = provider.address() as AddressInfo;
  writeFileSync(file, benchConfig({ upstreamUrl: `http://127.0.0.1:${port}`, databaseUrl, directory: home }));
  const keyFile = join(home, 'key');
  return startGateway(home, ['serve', '--config', file], {}, async (url) => {
    const isNew = !existsSync(keyFile);
    if (isNew) writeFileSync(keyFile, await createKey(url, await createAccount(url, { balanceYuan: '100' })));
    return { key: readFileSync(keyFile, 'utf8'), model: 'bench-model' };
  });
}

async function startGateway(
  home: string,
  args: readonly string[],
  added: Record<string, string>,
  caller: (url: string, printed: ReadPrinted) => Promise<{ readonly key: string; readonly model: string }>,
): Promise<Started> {
  const begun = performance.now();
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: home,
    env: environment({ PORT: '0', FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN, FAREGATE_DATA_DIR: join(home, 'data'), ...added }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const printed = readPrinted(child);
    const url = (await printed(LISTENING))[1]!;
    const listenMs = performance.now() - begun;
    const { key, model } = await caller(url, printed);
    const { status } = await send(url, key, model);
    const callMs = performance.now() - begun;
    if (status !== 200) throw new Error(`the call had the status ${status}`);
    return { listenMs, callMs, cpuSeconds: cpuSeconds(child.pid!) };
  } finally {
    child.kill('SIGINT');
    await once(child, 'exit');
  }
}

/** CPU of a process and of the exited children that it waited for. */
function cpuSeconds(pid: number): number {
  return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).ticks / TICKS_A_SECOND;
}

function environment(added: Record<string, string> = {}): Record<string, string | undefined> {
  return { PATH: process.env.PATH, LOG_LEVEL: 'error', ...added };
}

function row([name, ...cells]: readonly string[]): string {
  return name!.padEnd(34) + cells.map((cell) => cell.padStart(14)).join('');
}
