import { appendFileSync, readFileSync } from 'node:fs';
import { afterEach } from 'node:test';
import { isMainThread } from 'node:worker_threads';

/**
 * Writes what each test takes of the processor, as one line of JSON a test: seconds of the test's process with all of its
 * threads (`seconds`), and of the processes that it started and that have ended (`childSeconds`). They count less of what
 * else the machine does than the clock, though not nothing of it. What PostgreSQL takes is not among them; `time npm test`
 * has all of it.
 *
 *   FAREGATE_TEST_CPU=/tmp/cpu.jsonl npm test
 */
const file = process.env.FAREGATE_TEST_CPU;

/** Clock ticks a second in `/proc`, which is the same on every Linux. */
const TICKS = 100;

interface Reading {
  readonly seconds: number;
  readonly childSeconds: number;
}

function read(): Reading {
  const { user, system } = process.cpuUsage();
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name of the program comes second, in brackets; thirteen and fourteen places behind it are the ended children's.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { seconds: (user + system) / 1e6, childSeconds: (Number(fields[13]) + Number(fields[14])) / TICKS };
}

if (file && process.env.NODE_TEST_CONTEXT !== undefined && isMainThread) {
  let last: Reading = { seconds: 0, childSeconds: 0 };
  afterEach((test) => {
    const now = read();
    const line = {
      file: test.filePath,
      test: test.fullName,
      seconds: now.seconds - last.seconds,
      childSeconds: now.childSeconds - last.childSeconds,
    };
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    last = now;
  });
}
