import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Runs all static checks: types, style, and the scripts below. Runs one per processor at a time, the slowest first, and prints the output
 * of each as one block. Exit code 1 if a check fails; the others still run.
 *
 *   npm run check
 */
const TSC = 'node_modules/typescript/bin/tsc';
const CHECKS: readonly (readonly string[])[] = [
  [TSC, '--noEmit'],
  ['scripts/check-imports.ts'],
  [TSC, '--noEmit', '-p', 'console'],
  ['scripts/token-accuracy.ts', '--check'],
  ['scripts/biome.ts', 'check', '--error-on-warnings', '.'],
  ['scripts/check-homes.ts'],
  ['scripts/check-words.ts'],
  ['scripts/check-spelling.ts'],
  ['scripts/check-patterns.ts'],
  ['scripts/metrics-doc.ts', '--check'],
  ['scripts/presets-doc.ts', '--check'],
  ['scripts/state-doc.ts', '--check'],
  ['scripts/errors-doc.ts', '--check'],
  ['scripts/charges-doc.ts', '--check'],
  ['scripts/faults-doc.ts', '--check'],
  ['scripts/routing-doc.ts', '--check'],
  ['scripts/translation-doc.ts', '--check'],
  ['scripts/configuration-doc.ts', '--check'],
  ['scripts/check-commits.ts'],
];

const waiting = [...CHECKS];
const failed: string[] = [];
await Promise.all(Array.from({ length: availableParallelism() }, runWaiting));
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}

async function runWaiting(): Promise<void> {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    const { printed, isGood } = await run(check);
    process.stdout.write(printed);
    if (!isGood) failed.push(check.join(' '));
  }
}

function run(check: readonly string[]): Promise<{ printed: string; isGood: boolean }> {
  const child = spawn(process.execPath, check, { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ printed, isGood: code === 0 }));
  });
}
