import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../src/db/embedded.ts';

/**
 * What it takes a process to open one embedded database after the other, each a copy of a new one, to read from it and to
 * close it: milliseconds, CPU of all threads, memory and open files afterwards.
 *
 *   node bench/openings.ts [12]
 */
const times = Number(process.argv[2] ?? 12);
const folder = mkdtempSync(join(tmpdir(), 'faregate-openings-'));
try {
  const original = join(folder, 'original');
  await (await openEmbedded({ dataDir: original })).close();
  console.log(' wall ms   CPU ms   RSS MB   files');
  for (let i = 0; i < times; i++) {
    const dataDir = join(folder, String(i));
    cpSync(original, dataDir, { recursive: true });
    const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
    const database = await openEmbedded({ dataDir });
    await database.query({ name: 'openings.read', text: 'select count(*)::int as n from generate_series(1, 20000)' });
    await database.close();
    const { user, system } = process.cpuUsage(cpu);
    const figures = [performance.now() - startedMs, (user + system) / 1_000, process.memoryUsage.rss() / 1e6];
    console.log(`${figures.map((each) => each.toFixed(0).padStart(8)).join(' ')}${String(openFiles()).padStart(8)}`);
    rmSync(dataDir, { recursive: true });
  }
} finally {
  rmSync(folder, { recursive: true });
}

function openFiles(): number | string {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : '-';
}
