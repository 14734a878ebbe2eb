import assert from 'node:assert/strict';
import { chownSync, existsSync, rmSync, utimesSync } from 'node:fs';
import { test } from 'node:test';
import { makeFastDirectory, sweepFastDirectories } from './fast-directory.ts';

test('removes directories of killed runs after an hour, and none of running ones or of other users', {
  skip: skip(),
}, () => {
  const prefix = `faregate-sweep-${process.pid}-`;
  const [old, young, others] = [1, 2, 3].map(() => makeFastDirectory(prefix)) as [string, string, string];
  const longAgo = new Date(Date.now() - 7_200_000);
  for (const path of [old, others]) utimesSync(path, longAgo, longAgo);
  chownSync(others, 12_345, 12_345);
  sweepFastDirectories(prefix);
  assert.deepEqual([old, young, others].map(existsSync), [false, true, true]);
  for (const path of [young, others]) rmSync(path, { recursive: true });
});

function skip(): string | false {
  if (process.getuid?.() !== 0) return 'only root makes directories of other users';
  const path = makeFastDirectory('faregate-sweep-probe-');
  rmSync(path, { recursive: true });
  return path.startsWith('/dev/shm/') ? false : 'this system has no memory for directories';
}
