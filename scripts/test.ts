import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * Runs the tests: `npm test` all of them with coverage, `npm test -- <files or options>` some.
 *
 * Coverage is required of the code that touches money or bytes on their way through; a run that falls below fails.
 */
const MONEY_AND_RELAY = ['billing', 'call', 'metering', 'pricing', 'protocols', 'upstream', 'operations', 'routing'];
const BRANCHES_MIN = 95;

const given = process.argv.slice(2);
const hasFiles = given.some((argument) => !argument.startsWith('-'));
const files = hasFiles ? [] : globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort();
const coverage = hasFiles
  ? []
  : [
      '--experimental-test-coverage',
      `--test-coverage-branches=${BRANCHES_MIN}`,
      ...MONEY_AND_RELAY.map((folder) => `--test-coverage-include=src/${folder}/**`),
      '--test-coverage-include=src/lib/json-scan.ts',
      '--test-coverage-include=src/lib/sse.ts',
      '--test-coverage-exclude=**/*.test.ts',
    ];

const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-global-setup=test/support/global-setup.ts',
    '--test-reporter=spec',
    '--test-timeout=120000',
    `--test-concurrency=${availableParallelism()}`,
    ...coverage,
    ...given,
    ...files,
  ],
  { stdio: 'inherit' },
);
child.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 1;
});
