import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';

/** Where programs of the system are that a usual user's PATH leaves out, such as nginx. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];

/** The path of a program of this machine; `null` if it has none. */
export function findTool(name: string): string | null {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** Skips the test because of what is missing; where CI=true nothing may be missing, and the test fails. */
export function skipOrFail(t: TestContext, missing: string): void {
  if (process.env.CI === 'true') throw new Error(`CI has to have it: ${missing}`);
  t.skip(missing);
}

/** Runs a program of this machine. Without it the test is skipped, or fails in CI, and the result is `null`. */
export function runTool(t: TestContext, name: string, args: readonly string[]): SpawnSyncReturns<string> | null {
  const path = findTool(name);
  if (path === null) {
    skipOrFail(t, `${name} is not installed`);
    return null;
  }
  return spawnSync(path, args, { encoding: 'utf8' });
}
