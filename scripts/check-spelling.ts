import { spawnSync } from 'node:child_process';
import { requiredTool } from './required-tool.ts';

/**
 * Checks the spelling of names, comments, messages and documents with cspell. Words that it does not know and that are right go to
 * `cspell.json`. Exit code 1 if a word is unknown.
 *
 *   node scripts/check-spelling.ts
 */
const program = `${requiredTool('cspell')}/bin.mjs`;
const { status } = spawnSync(
  process.execPath,
  [program, 'lint', '--no-progress', '--no-summary', '--cache', '--cache-location', 'node_modules/.cache/cspell'],
  {
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;
