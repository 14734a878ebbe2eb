import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addParts } from './package-parts.ts';

/**
 * Compiles the program into `dist`, which replaces `src` in the package: Node does not strip types below `node_modules`.
 *
 *   npm pack        runs this script (`prepack`), and builds the console (`prepare`); then removes `dist` (`postpack`)
 *
 * `--types-checked`: skips the type check, which takes most of the time, if `npm run check` has done it.
 */
const fileOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const dist = fileOf('dist');

rmSync(dist, { recursive: true, force: true });
if (process.argv.includes('--remove')) process.exit();
const compiler = fileOf('node_modules/typescript/bin/tsc');
const unchecked = process.argv.includes('--types-checked') ? ['--noCheck'] : [];
const { status } = spawnSync(process.execPath, [compiler, '--project', fileOf('tsconfig.package.json'), ...unchecked], {
  stdio: 'inherit',
});
if (status !== 0) throw new Error(`The compiler failed with exit code ${status}.`);
// Other files that the program reads: migrations and the configuration of the demo.
cpSync(fileOf('src'), dist, { recursive: true, filter: (path) => !['.ts', '.md'].includes(extname(path)) });
addParts(dist);
