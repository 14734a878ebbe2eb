import { globSync, readFileSync } from 'node:fs';
import { runConformance, runTests } from './run-tests.ts';

/**
 * Runs the tests: `npm test` all of them, `npm test -- <files or options>` some.
 *
 * Coverage is required of the code that touches money or bytes on their way through; a run that falls below fails. So does
 * a run of everything whose results are not what `docs/conformance.md` says.
 */
const MONEY_AND_RELAY = [
  'billing',
  'call',
  'idempotency',
  'metering',
  'nodes',
  'operations',
  'pricing',
  'protocols',
  'routing',
  'settlement',
  'upstream',
];
const BRANCHES_MIN = 95;
const PAGE = 'docs/conformance.md';

const COVERAGE = [
  '--experimental-test-coverage',
  `--test-coverage-branches=${BRANCHES_MIN}`,
  ...MONEY_AND_RELAY.map((folder) => `--test-coverage-include=src/${folder}/**`),
  '--test-coverage-include=src/lib/json-*.ts',
  '--test-coverage-include=src/lib/sse.ts',
  '--test-coverage-include=src/lib/event-*.ts',
  '--test-coverage-exclude=**/*.test.ts',
];

/**
 * Tests that run without coverage: it makes what computes much several times slower, and these test either other code, or
 * the same code with more of it, or start programs of which nothing would be counted.
 */
const NOT_COUNTED = [
  'src/tokens/**',
  'src/lib/json-parts.test.ts',
  'src/metering/tap-*.test.ts',
  'test/chaos/**',
  'test/cli/**',
  'test/db/**',
  'test/docs/**',
  'test/hostile/memory.test.ts',
  'test/scripts/**',
  'test/settlement/**',
  'test/transport/**',
];

const given = process.argv.slice(2);
const hasFiles = given.some((argument) => !argument.startsWith('-'));
const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort();

if (hasFiles) process.exitCode = await runTests(given, []);
else process.exitCode = await runEverything(given);

async function runEverything(options: readonly string[]): Promise<number> {
  const notCounted = globSync(NOT_COUNTED).filter((file) => all.includes(file));
  console.log(`Part 1 of 2: ${notCounted.length} files, without coverage\n`);
  const first = await runTests(options, notCounted);
  const counted = all.filter((file) => !notCounted.includes(file));
  console.log(`\nPart 2 of 2: ${counted.length} files, with coverage of the code for money and relay\n`);
  // With options that leave tests out, such as a pattern of names, the page cannot be compared.
  if (options.length > 0) return Math.max(first, await runTests([...COVERAGE, ...options], counted));
  const { code, page } = await runConformance(COVERAGE, counted);
  if (code !== 0 || page === readFileSync(PAGE, 'utf8')) return Math.max(first, code);
  console.error(`${PAGE} is not what this run says. Run: npm run conformance`);
  return 1;
}
