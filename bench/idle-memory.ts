import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LISTENING, readPrinted } from '../scripts/started-demo.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { createDatabase } from './create-database.ts';
import { benchConfig } from './gateway-target.ts';
import { sharedMb } from './process-tree.ts';
import { nextMessage } from './processes.ts';

/**
 * The memory of a new `faregate serve` on either kind of database some seconds after it listens, with data from an earlier start, and the
 * CPU used until it listened. `PSS` includes its local server; the other figures are the gateway alone. Linux only, because it reads
 * /proc.
 *
 *   node bench/idle-memory.ts [seconds after it listens] [flags for Node]
 */
const [secondsText = '5', ...flags] = process.argv.slice(2);
const WAIT_MS = Number(secondsText) * 1_000;
/** The first start creates the database and the compile cache. */
const STARTS = 4;

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** As `bin/faregate.js` sets it. */
const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/faregate', import.meta.url));
/** Reports the process's own memory figures on request. Threads inherit its flags. */
const METER = `data:text/javascript,${encodeURIComponent(`
  import { isMainThread } from 'node:worker_threads';
  if (isMainThread) {
    process.on('message', () => process.send({ ...process.memoryUsage(), cpu: process.cpuUsage() }));
    process.channel.unref();
  }
`)}`;

interface Memory extends NodeJS.MemoryUsage {
  readonly cpu: NodeJS.CpuUsage;
}

const directory = mkdtempSync(join(tmpdir(), 'faregate-idle-'));
const postgres = await startPostgresServer(directory);
try {
  console.log(
    row([
      'MB of',
      'PSS',
      'resident',
      'most',
      'files',
      'JS heap',
      'used of it',
      'buffers',
      'CPU s to listen',
      'threads',
    ]),
  );
  await measure('PostgreSQL', await createDatabase(postgres.url, 'idle'));
  await measure('local', '');
} finally {
  await postgres.stop();
  removeDirectory(directory);
}

async function measure(database: string, databaseUrl: string): Promise<void> {
  const home = join(directory, database);
  mkdirSync(home);
  const file = join(home, 'faregate.yaml');
  writeFileSync(file, benchConfig({ upstreamUrl: 'http://127.0.0.1:9', databaseUrl, directory: home }));
  for (let start = 1; start <= STARTS; start++) {
    const child = spawn(process.execPath, [...flags, '--import', METER, MAIN, 'serve', '--config', file], {
      env: { PATH: process.env.PATH, LOG_LEVEL: 'error', NODE_COMPILE_CACHE: COMPILE_CACHE },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    await readPrinted(child)(LISTENING);
    const ask = async (): Promise<Memory> => {
      const reading = nextMessage<Memory>(child);
      child.send('memory');
      return reading;
    };
    const { cpu } = await ask();
    await sleep(WAIT_MS);
    const memory = await ask();
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)![1]) * 1_024;
    const sizes = [kib('VmRSS'), kib('VmHWM'), kib('RssFile'), memory.heapTotal, memory.heapUsed, memory.arrayBuffers];
    const cpuSeconds = ((cpu.user + cpu.system) / 1e6).toFixed(2);
    const threads = /^Threads:\s+(\d+)/m.exec(status)![1]!;
    const name = `${database}, ${start === 1 ? 'new' : `start ${start}`}`;
    const shared = sharedMb(child.pid!).toFixed(0);
    console.log(row([name, shared, ...sizes.map((size) => (size / 1e6).toFixed(0)), cpuSeconds, threads]));
    child.kill();
    await once(child, 'exit');
  }
}

function row([name, ...cells]: readonly string[]): string {
  return name!.padEnd(20) + cells.map((cell) => cell.padStart(Math.max(9, cell.length + 1))).join(' ');
}
