import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './machine.ts';
import { parseStat } from './process-tree.ts';
import { commitOf, describeRevision, REPOSITORY, removeCheckout } from './revisions.ts';

/**
 * What `npm test` takes at an earlier revision and here, one after the other: seconds of a suite are those of its machine and of the hour, so
 * only two runs beside each other say which of them is heavier.
 *
 *   node bench/test-times.ts REVISION            the revision first
 *   node bench/test-times.ts REVISION --turned   it comes second
 *   node bench/test-times.ts REVISION --full     all tests
 *
 * CPU is that of the run and of everything that it starts, PostgreSQL too. Linux only. Exit code 1 if a test failed in one of them.
 */

/** What one run of the tests took, and how it ended. */
interface Times {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly passed: number;
  readonly failed: number;
}

const TICKS_A_SECOND = 100;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: { type: 'boolean', default: false }, turned: { type: 'boolean', default: false } },
});
const revision = positionals[0];
if (revision === undefined) {
  console.error('Which revision? node bench/test-times.ts REVISION [--full] [--turned]');
  process.exit(2);
}

const { machine, load } = describeMachine();
console.log(`${machine}, load ${load.toFixed(1)} when it began`);
const directory = mkdtempSync(join(tmpdir(), 'faregate-test-times-'));
// PostgreSQL runs as another user where tests run as root.
chmodSync(directory, 0o755);
const checkout = join(directory, 'before');
run(REPOSITORY, 'git', ['worktree', 'add', '--detach', '--force', checkout, commitOf(revision, REPOSITORY)]);
try {
  // Tests start programs of the modules, and open pages, so their scripts must have run.
  run(checkout, 'npm', ['ci', '--no-audit', '--no-fund']);
  const beforeFirst = [
    { name: describeRevision(revision), folder: checkout },
    { name: 'this checkout', folder: REPOSITORY },
  ];
  const measured = new Map<string, Times>();
  for (const { name, folder } of values.turned ? beforeFirst.toReversed() : beforeFirst) {
    const times = timeTests(folder);
    measured.set(folder, times);
    console.log(
      `${times.seconds.toFixed(0)} s, ${times.cpuSeconds.toFixed(0)} s of CPU, ${times.passed} passed, ${times.failed} failed: ${name}`,
    );
    if (times.failed > 0) process.exitCode = 1;
  }
  const [before, now] = [measured.get(checkout)!, measured.get(REPOSITORY)!];
  const ratio = (what: 'seconds' | 'cpuSeconds'): string => (now[what] / before[what]).toFixed(2);
  console.log(`this checkout : ${revision}   ${ratio('seconds')} of the time, ${ratio('cpuSeconds')} of the CPU`);
} finally {
  removeCheckout(checkout);
  rmSync(directory, { recursive: true, force: true });
}

function timeTests(folder: string): Times {
  const [beganMs, beganTicks] = [performance.now(), ownTicks()];
  const test = ['scripts/test.ts', ...(values.full ? ['--full'] : [])];
  const printed = run(folder, join(folder, 'node_modules/node/bin/node'), test, [0, 1]);
  // A full run is two, and each has lines of its own.
  const sum = (what: string): number => {
    const counts = [...printed.matchAll(new RegExp(`^ℹ ${what} (\\d+)$`, 'gm'))].map(([, count]) => Number(count));
    if (counts.length === 0) throw new Error(`The run in ${folder} did not come to its end: ${printed.slice(-2_000)}`);
    return counts.reduce((all, count) => all + count);
  };
  return {
    seconds: (performance.now() - beganMs) / 1_000,
    cpuSeconds: (ownTicks() - beganTicks) / TICKS_A_SECOND,
    passed: sum('pass'),
    failed: sum('fail'),
  };
}

/** Of this process and of its descendants that have ended. */
function ownTicks(): number {
  return parseStat(readFileSync('/proc/self/stat', 'utf8')).ticks;
}

/** @throws Error with what the program wrote if its exit code is another one. */
function run(folder: string, program: string, args: readonly string[], codes: readonly number[] = [0]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (error !== undefined) throw error;
  if (status === null || !codes.includes(status)) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return stdout;
}
