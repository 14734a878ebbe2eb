import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgresServer } from '../test/support/postgres-server.ts';

/**
 * Calls a second and CPU a call of the gateway beside a bare pass-through, in one run: non-stream chat, the target on one
 * core, load and provider on the other. Rounds take turns, medians are printed. Compare ratios, not machines.
 *
 *   npm run bench                          on the embedded database and on a PostgreSQL that it starts
 *   npm run bench -- --connections 64 --seconds 4 --rounds 3
 *   npm run bench -- --profile directory   also writes a CPU profile of each target there, which slows it down
 */
const { values: options } = parseArgs({
  options: {
    connections: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    profile: { type: 'string' },
  },
});
const hasCores =
  process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0;

interface Target {
  readonly name: string;
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
  readonly rates: number[];
  readonly cpuMicros: number[];
}

const load = start('load.ts', [], 1);
const { url: providerUrl } = await next<{ url: string }>(load);
const directory = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
const postgres = await startPostgresServer(directory);
const targets: Target[] = [
  await target('bare proxy', 'bare-proxy.ts', [providerUrl]),
  await target('gateway, PostgreSQL', 'gateway-target.ts', [providerUrl, `${postgres.url}/postgres`]),
  await target('gateway, embedded', 'gateway-target.ts', [providerUrl]),
];

const idleBytes = await Promise.all(targets.map(async ({ child }) => (await measure(child)).rssBytes));
// Until code that is run often has been compiled, a call costs half as much again.
await round(Number(options.seconds));
for (const { rates, cpuMicros } of targets) rates.length = cpuMicros.length = 0;
for (let i = 0; i < Number(options.rounds); i++) await round(Number(options.seconds));

const bare = median(targets[0]!.rates);
console.log(`\n${options.connections} connections, ${options.rounds} rounds of ${options.seconds} s, medians`);
console.log(hasCores ? 'target on core 0, load and provider on core 1' : 'not pinned to cores: figures are rough');
console.log(
  `\n${'target'.padEnd(22)}${'calls/s'.padStart(9)}${'of bare'.padStart(9)}${'CPU µs/call'.padStart(13)}${'idle MB'.padStart(9)}`,
);
for (const [i, { name, rates, cpuMicros }] of targets.entries()) {
  const rate = median(rates);
  const cells = [
    Math.round(rate).toLocaleString('en').padStart(9),
    (rate / bare).toFixed(2).padStart(9),
    median(cpuMicros).toFixed(0).padStart(13),
    (idleBytes[i]! / 1e6).toFixed(0).padStart(9),
  ];
  console.log(name.padEnd(22) + cells.join(''));
}
for (const { child } of targets) child.disconnect();
load.disconnect();
await postgres.stop();
rmSync(directory, { recursive: true, force: true });

async function round(seconds: number): Promise<void> {
  for (const { name, child, url, key, rates, cpuMicros } of targets) {
    const before = await measure(child);
    const startMs = performance.now();
    load.send({ url, key, connections: Number(options.connections), seconds });
    const { calls, failures } = await next<{ calls: number; failures: number }>(load);
    const elapsedMs = performance.now() - startMs;
    const after = await measure(child);
    if (failures > 0) throw new Error(`${name}: ${failures} calls failed`);
    rates.push((calls * 1_000) / elapsedMs);
    cpuMicros.push((after.cpuMicros - before.cpuMicros) / calls);
    console.log(`${name.padEnd(22)}${Math.round((calls * 1_000) / elapsedMs)} calls/s`);
  }
}

async function target(name: string, file: string, args: string[]): Promise<Target> {
  const { profile } = options;
  const flags = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
  const child = start(file, args, 0, flags);
  const { url, key } = await next<{ url: string; key: string }>(child);
  return { name, child, url, key, rates: [], cpuMicros: [] };
}

function start(file: string, args: string[], core: number, flags: string[] = []): ChildProcess {
  const script = [...flags, fileURLToPath(new URL(file, import.meta.url)), ...args];
  const [command, commandArgs] = hasCores
    ? ['taskset', ['-c', String(core), process.execPath, ...script]]
    : [process.execPath, script];
  return spawn(command as string, commandArgs as string[], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

async function measure(child: ChildProcess): Promise<{ cpuMicros: number; rssBytes: number }> {
  child.send({});
  return next(child);
}

function next<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('a process of the bench ended early'));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as Message);
    });
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!;
}
