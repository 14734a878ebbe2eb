import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';

/** Directories of system programs, such as nginx, that a user's PATH may not include. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];

/** The path of a program on this machine; `null` if it is not installed. */
export function findTool(name: string): string | null {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** Skips the test because of a missing program. With CI=true the test fails instead. */
export function skipOrFail(t: TestContext, missing: string): void {
  if (process.env.CI === 'true') throw new Error(`CI has to have it: ${missing}`);
  t.skip(missing);
}

/** Runs a program of this machine. If it is missing, the test is skipped, or fails in CI, and the result is `null`. */
export function runTool(t: TestContext, name: string, args: readonly string[]): SpawnSyncReturns<string> | null {
  const path = findTool(name);
  if (path === null) {
    skipOrFail(t, `${name} is not installed`);
    return null;
  }
  return spawnSync(path, args, { encoding: 'utf8' });
}
