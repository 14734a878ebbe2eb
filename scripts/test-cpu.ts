import { appendFileSync, readFileSync } from 'node:fs';
import { afterEach } from 'node:test';
import { isMainThread } from 'node:worker_threads';

/**
 * Writes the CPU time of each test as a line of JSON: seconds of the test's process with all threads (`seconds`), and of its child
 * processes that have exited (`childSeconds`). Other load on the machine affects CPU time less than wall-clock time. PostgreSQL is not
 * included; `time npm test` includes it.
 *
 *   FAREGATE_TEST_CPU=/tmp/cpu.jsonl npm test
 */
const file = process.env.FAREGATE_TEST_CPU;

/** Clock ticks per second in `/proc`, the same on every Linux. */
const TICKS = 100;

interface Reading {
  readonly seconds: number;
  readonly childSeconds: number;
}

function read(): Reading {
  const { user, system } = process.cpuUsage();
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The program name is the second field, in parentheses. Fields 13 and 14 after it are the times of exited children.
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
