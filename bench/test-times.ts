import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './machine.ts';
import { parseStat } from './process-tree.ts';
import { commitOf, describeRevision, REPOSITORY, removeCheckout } from './revisions.ts';

/**
 * Compares the duration of `npm test` at an earlier revision and here, in two consecutive runs. The duration depends on the machine and
 * its load, so only consecutive runs can be compared.
 *
 *   node bench/test-times.ts REVISION            the revision first
 *   node bench/test-times.ts REVISION --turned   the revision second
 *   node bench/test-times.ts REVISION --full     all tests
 *   node bench/test-times.ts REVISION --ci       here `.ci/run` in a fresh clone of HEAD, compared with `npm test` of the revision
 *   node bench/test-times.ts REVISION --known 211   scaled to a machine on which the revision takes this many seconds
 *
 * CPU includes all child processes, also PostgreSQL. Linux only. Exit code 1 if a test failed.
 */

/** Duration and result of one test run. */
interface Times {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The summary printed by the run. */
  readonly outcome: string;
  readonly hasFailed: boolean;
}

const TICKS_A_SECOND = 100;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: 'boolean', default: false },
    ci: { type: 'boolean', default: false },
    turned: { type: 'boolean', default: false },
    known: { type: 'string' },
  },
});
const revision = positionals[0];
if (revision === undefined) {
  console.error('Which revision? node bench/test-times.ts REVISION [--full | --ci] [--turned] [--known SECONDS]');
  process.exit(2);
}

const { machine, load } = describeMachine();
console.log(`${machine}, load ${load.toFixed(1)} at the start`);
const directory = mkdtempSync(join(tmpdir(), 'faregate-test-times-'));
// As root, PostgreSQL runs as another user.
chmodSync(directory, 0o755);
const checkout = join(directory, 'before');
run(REPOSITORY, 'git', ['worktree', 'add', '--detach', '--force', checkout, commitOf(revision, REPOSITORY)]);
try {
  // Runs install scripts, because tests start programs of the modules and open pages.
  run(checkout, 'npm', ['ci', '--no-audit', '--no-fund']);
  const beforeFirst = [
    { name: describeRevision(revision), measure: () => timeTests(checkout) },
    { name: 'this checkout', measure: () => (values.ci ? timeCi() : timeTests(REPOSITORY)) },
  ];
  const measured = new Map<string, Times>();
  for (const { name, measure } of values.turned ? beforeFirst.toReversed() : beforeFirst) {
    const times = measure();
    measured.set(name, times);
    console.log(`${times.seconds.toFixed(0)} s, ${times.cpuSeconds.toFixed(0)} s of CPU, ${times.outcome}: ${name}`);
    if (times.hasFailed) process.exitCode = 1;
  }
  const [before, now] = beforeFirst.map(({ name }) => measured.get(name)!) as [Times, Times];
  const ratio = (what: 'seconds' | 'cpuSeconds'): string => (now[what] / before[what]).toFixed(2);
  console.log(`this checkout : ${revision}   ${ratio('seconds')} of the time, ${ratio('cpuSeconds')} of the CPU`);
  if (values.known !== undefined) {
    const seconds = (Number(values.known) * now.seconds) / before.seconds;
    console.log(`This checkout would take ${seconds.toFixed(0)} s where ${revision} takes ${values.known} s.`);
  }
} finally {
  removeCheckout(checkout);
  rmSync(directory, { recursive: true, force: true });
}

function timeTests(folder: string): Times {
  const test = ['scripts/test.ts', ...(values.full ? ['--full'] : [])];
  const { printed, ...times } = timed(() => run(folder, join(folder, 'node_modules/node/bin/node'), test, [0, 1]));
  // A full run consists of two, each with its own summary.
  const sum = (what: string): number => {
    const counts = [...printed.matchAll(new RegExp(`^ℹ ${what} (\\d+)$`, 'gm'))].map(([, count]) => Number(count));
    if (counts.length === 0) throw new Error(`The run in ${folder} did not come to its end: ${printed.slice(-2_000)}`);
    return counts.reduce((all, count) => all + count);
  };
  const failed = sum('fail');
  return { ...times, outcome: `${sum('pass')} passed, ${failed} failed`, hasFailed: failed > 0 };
}

/** What a CI machine does, including installation. */
function timeCi(): Times {
  const clone = join(directory, 'clone');
  run(REPOSITORY, 'git', ['clone', '--quiet', REPOSITORY, clone]);
  const { printed: _, ...times } = timed(() => run(clone, 'bash', ['.ci/run']));
  return { ...times, outcome: '`.ci/run` passed', hasFailed: false };
}

function timed(work: () => string): Pick<Times, 'seconds' | 'cpuSeconds'> & { readonly printed: string } {
  const [beganMs, beganTicks] = [performance.now(), ownTicks()];
  const printed = work();
  return {
    printed,
    seconds: (performance.now() - beganMs) / 1_000,
    cpuSeconds: (ownTicks() - beganTicks) / TICKS_A_SECOND,
  };
}

/** CPU of this process and its exited descendants. */
function ownTicks(): number {
  return parseStat(readFileSync('/proc/self/stat', 'utf8')).ticks;
}

/** @throws Error with the program's last output if its exit code is unexpected */
function run(folder: string, program: string, args: readonly string[], codes: readonly number[] = [0]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (error !== undefined) throw error;
  if (status === null || !codes.includes(status))
    throw new Error(`${program} ${args.join(' ')}: ${stdout.slice(-20_000)}${stderr}`);
  return stdout;
}
