import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TOOLS = fileURLToPath(new URL('../tools', import.meta.url));

/**
 * Returns the folder of a package of `tools`. Installs these packages at the first use: neither the gateway nor its tests need them, so
 * `npm ci` does not.
 *
 * @throws Error if npm fails
 */
export function requiredTool(name: string): string {
  const folder = join(TOOLS, 'node_modules', name);
  if (versionIn(join(folder, 'package.json')) !== wantedVersion(name)) {
    const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd: TOOLS,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) throw new Error(`${name} was not installed: npm ci in tools failed with exit code ${status}.`);
  }
  return folder;
}

const wantedVersion = (name: string): string =>
  JSON.parse(readFileSync(join(TOOLS, 'package.json'), 'utf8')).devDependencies[name];

const versionIn = (file: string): string | null =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : null;
