import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LISTENING, readPrinted } from '../scripts/started-demo.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { createDatabase } from './create-database.ts';
import { benchConfig } from './gateway-target.ts';
import { nextMessage } from './processes.ts';
import { quantile } from './quantile.ts';

/**
 * Ablation of an idle gateway's resident memory: Node alone, Node with all modules of a gateway loaded and not started, the whole
 * gateway, and the whole gateway with flags that remove what V8 keeps. Medians. Linux only, because it reads /proc.
 *
 *   node bench/idle-layers.ts [seconds after it listens]
 */
const WAIT_MS = Number(process.argv[2] ?? '5') * 1_000;
const STARTS = 5;
const CODE = /\.[cm]?[jt]s$/;

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** As `bin/faregate.js` sets it. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/faregate', import.meta.url));

/** Sends the address of each module that is loaded, in order. */
const LIST = module(`
  import { registerHooks } from 'node:module';
  import { isMainThread } from 'node:worker_threads';
  const modules = [];
  if (isMainThread) {
    registerHooks({ load(url, context, next) { if (url.startsWith('file:')) modules.push(url); return next(url, context); } });
    process.on('message', () => process.send(modules));
    process.channel.unref();
  }
`);
const WAIT = 'setInterval(() => {}, 1e6); process.stdout.write("loaded");';

const directory = mkdtempSync(join(tmpdir(), 'faregate-idle-'));
const postgres = await startPostgresServer(directory);
try {
  const file = join(directory, 'faregate.yaml');
  const databaseUrl = await createDatabase(postgres.url, 'idle');
  writeFileSync(file, benchConfig({ upstreamUrl: 'http://127.0.0.1:9', databaseUrl, directory }));
  const serve = [MAIN, 'serve', '--config', file];
  const modules = await loadedModules(serve);
  // Some libraries try to load optional modules that are not installed.
  const load = join(directory, 'load.mjs');
  writeFileSync(
    load,
    `process.argv[1] = '';\nfor (const url of ${JSON.stringify(modules)}) await import(url).catch(() => {});\n${WAIT}`,
  );
  const idle = join(directory, 'idle.mjs');
  writeFileSync(idle, WAIT);

  console.log('| resident MB | all | mapped files |\n|---|--:|--:|');
  await measure('Node alone', [idle], 'loaded');
  await measure(`Node with the ${modules.length} modules of a gateway`, [load], 'loaded');
  await measure('the whole gateway', serve, LISTENING);
  await measure('with a young generation of 2 × 1 MiB', ['--max-semi-space-size=1', ...serve], LISTENING);
  await measure('without optimized code', ['--no-opt', ...serve], LISTENING);
} finally {
  await postgres.stop();
  removeDirectory(directory);
}

async function loadedModules(serve: readonly string[]): Promise<string[]> {
  const child = start(['--import', LIST, ...serve]);
  await readPrinted(child)(LISTENING);
  const listed = nextMessage<string[]>(child);
  child.send('modules');
  const modules = await listed;
  await end(child);
  return modules.filter((url) => CODE.test(url) && !url.endsWith('/src/main.ts'));
}

async function measure(name: string, args: readonly string[], ready: string | RegExp): Promise<void> {
  const seen: { readonly resident: number; readonly files: number }[] = [];
  for (let i = 0; i < STARTS; i++) {
    const child = start(args);
    await readPrinted(child)(ready instanceof RegExp ? ready : new RegExp(ready));
    await sleep(WAIT_MS);
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const mb = (field: string): number =>
      (Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)![1]) * 1_024) / 1e6;
    seen.push({ resident: mb('VmRSS'), files: mb('RssFile') });
    await end(child);
  }
  const median = (of: (each: (typeof seen)[number]) => number): string => quantile(seen.map(of), 0.5).toFixed(0);
  console.log(`| ${name} | ${median(({ resident }) => resident)} | ${median(({ files }) => files)} |`);
}

function start(args: readonly string[]) {
  const env = { PATH: process.env.PATH, LOG_LEVEL: 'error', NODE_COMPILE_CACHE };
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
}

async function end(child: ReturnType<typeof start>): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function module(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
