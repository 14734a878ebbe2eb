import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Runs Biome with the arguments that it is given, and installs it into `tools` first if it is not there: 65 MB that neither the gateway nor its
 * tests need, so that `npm ci` leaves them out.
 *
 *   node scripts/biome.ts check --write src
 */
const TOOLS = fileURLToPath(new URL('../tools', import.meta.url));
const BIOME = `${TOOLS}/node_modules/@biomejs/biome`;

if (installedVersion() !== wantedVersion()) {
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: TOOLS,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`Biome was not installed: npm ci in tools ended with exit code ${status}.`);
}
const { status } = spawnSync(process.execPath, [`${BIOME}/bin/biome`, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exitCode = status ?? 1;

function wantedVersion(): string {
  return JSON.parse(readFileSync(`${TOOLS}/package.json`, 'utf8')).devDependencies['@biomejs/biome'];
}

function installedVersion(): string | null {
  const file = `${BIOME}/package.json`;
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : null;
}
