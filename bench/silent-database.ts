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
import { report, send, sendAll } from './paced-calls.ts';

/**
 * How long calls wait for a database that stops responding without closing its connections: 100 calls, 50 a second, behind a
 * proxy that passes nothing on any more. Before and after, each call is the median and the most of what its client waits.
 *
 *   node bench/silent-database.ts
 *   node bench/silent-database.ts --checkout directory   of another version, which has its node_modules
 */
const { values: options } = parseArgs({
  options: { checkout: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) } },
});

const directory = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
const server = await startPostgresServer(directory);
const administration = new pg.Client({ connectionString: `${server.url}/postgres` });
await administration.connect();
await administration.query('create database silent');
await administration.end();
const proxy = await startProxy(`${server.url}/silent`);
const load = spawn(process.execPath, [fileURLToPath(new URL('load/load.ts', import.meta.url))], {
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
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
});

for (const key of target.balanceKeys) await send(target.url, key);
report('before it falls silent', await sendAll(target.url, target.balanceKeys));
proxy.swallowAll();
report('while it is silent', await sendAll(target.url, target.balanceKeys));
const openBefore = proxy.connections;
proxy.allow();
await new Promise((wait) => setTimeout(wait, 3_000));
report('three seconds after it responds again', await sendAll(target.url, target.balanceKeys));
console.log(`connections of the gateway at the end of the silence: ${openBefore}`);

await target.stop();
load.kill();
await proxy.close();
await server.stop();
rmSync(directory, { recursive: true, force: true });
