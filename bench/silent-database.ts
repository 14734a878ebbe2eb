import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { startProxy } from '../test/support/proxy.ts';
import { startGatewayTarget } from './gateway-target.ts';

/**
 * How long calls wait for a database that stops answering without closing its connections: 100 calls, 50 a second, behind a
 * proxy that passes nothing on any more. Before and after, each call is the median and the most of what its client waits.
 *
 *   node bench/silent-database.ts
 *   node bench/silent-database.ts --checkout directory   of another version, which has its node_modules
 */
const { values: options } = parseArgs({
  options: { checkout: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) } },
});
const CALLS = 100;
const EVERY_MS = 20;

const directory = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
const server = await startPostgresServer(directory);
const administration = new pg.Client({ connectionString: `${server.url}/postgres` });
await administration.connect();
await administration.query('create database silent');
await administration.end();
const proxy = await startProxy(`${server.url}/silent`);
const load = spawn(process.execPath, [fileURLToPath(new URL('load.ts', import.meta.url))], {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
const [{ url: providerUrl }] = (await once(load, 'message')) as [{ url: string }];
const target = await startGatewayTarget({
  checkout: resolve(options.checkout),
  upstreamUrl: providerUrl,
  databaseUrl: proxy.url,
  directory: join(directory, 'gateway'),
  flags: [],
  spawn: (args, environment) =>
    spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    }),
});

for (const key of target.balanceKeys) await send(key);
report('before it falls silent', await sendAll());
proxy.swallowAll();
report('while it is silent', await sendAll());
const openBefore = proxy.connections;
proxy.allow();
await new Promise((wait) => setTimeout(wait, 3_000));
report('three seconds after it answers again', await sendAll());
console.log(`connections of the gateway at the end of the silence: ${openBefore}`);

target.child.kill('SIGKILL');
load.kill();
await proxy.close();
await server.stop();
rmSync(directory, { recursive: true, force: true });

interface Waited {
  readonly status: number;
  readonly ms: number;
}

async function send(key: string): Promise<Waited> {
  const startMs = performance.now();
  const response = await fetch(`${target.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'bench-model', messages: [{ role: 'user', content: 'word' }] }),
  });
  await response.arrayBuffer();
  return { status: response.status, ms: performance.now() - startMs };
}

async function sendAll(): Promise<Waited[]> {
  const sent: Promise<Waited>[] = [];
  for (let i = 0; i < CALLS; i++) {
    sent.push(send(target.balanceKeys[i % target.balanceKeys.length]!));
    await new Promise((wait) => setTimeout(wait, EVERY_MS));
  }
  return Promise.all(sent);
}

function report(when: string, all: readonly Waited[]): void {
  const times = all.map(({ ms }) => ms).toSorted((one, other) => one - other);
  const statuses = Object.entries(Object.groupBy(all, ({ status }) => status)).map(
    ([status, some]) => `${some!.length} × ${status}`,
  );
  const [median, most] = [times[Math.floor(times.length / 2)]!, times.at(-1)!];
  console.log(`${when}: ${statuses.join(', ')}; median ${median.toFixed(0)} ms, most ${most.toFixed(0)} ms`);
}
