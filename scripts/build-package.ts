import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addParts } from './package-parts.ts';

/**
 * Compiles the program into `dist`, which the package has in place of `src`: Node strips no types within `node_modules`. Of large libraries
 * the package has the parts that the program uses, which are built or copied from `node_modules`.
 *
 *   npm pack        runs it (`prepack`), and builds the console (`prepare`)
 *
 * `--types-checked`: they have been, by `npm run check`; most of the time goes into that.
 */
const fileOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const dist = fileOf('dist');

rmSync(dist, { recursive: true, force: true });
const compiler = fileOf('node_modules/typescript/bin/tsc');
const unchecked = process.argv.includes('--types-checked') ? ['--noCheck'] : [];
const { status } = spawnSync(process.execPath, [compiler, '--project', fileOf('tsconfig.package.json'), ...unchecked], {
  stdio: 'inherit',
});
if (status !== 0) throw new Error(`The compiler ended with exit code ${status}.`);
// What the program reads besides its modules: migrations and the configuration of the demo.
cpSync(fileOf('src'), dist, { recursive: true, filter: (path) => !['.ts', '.md'].includes(extname(path)) });
await addParts(dist);
