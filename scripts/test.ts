import { globSync, readFileSync } from 'node:fs';
import { runConformance, runTests } from './run-tests.ts';

/**
 * Runs the tests: `npm test` all of them with coverage, `npm test -- <files or options>` some.
 *
 * Coverage is required of the code that touches money or bytes on their way through; a run that falls below fails. So does
 * a run of everything whose results are not what `docs/conformance.md` says.
 */
const MONEY_AND_RELAY = ['billing', 'call', 'metering', 'pricing', 'protocols', 'upstream', 'operations', 'routing'];
const BRANCHES_MIN = 95;
const PAGE = 'docs/conformance.md';

const COVERAGE = [
  '--experimental-test-coverage',
  `--test-coverage-branches=${BRANCHES_MIN}`,
  ...MONEY_AND_RELAY.map((folder) => `--test-coverage-include=src/${folder}/**`),
  '--test-coverage-include=src/lib/json-*.ts',
  '--test-coverage-include=src/lib/sse.ts',
  '--test-coverage-exclude=**/*.test.ts',
];

const given = process.argv.slice(2);
const hasFiles = given.some((argument) => !argument.startsWith('-'));
const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort();

if (hasFiles) process.exitCode = await runTests(given, []);
else if (given.length > 0) process.exitCode = await runTests([...COVERAGE, ...given], all);
else process.exitCode = await runEverything();

async function runEverything(): Promise<number> {
  const { code, page } = await runConformance(COVERAGE, all);
  if (code !== 0 || page === readFileSync(PAGE, 'utf8')) return code;
  console.error(`${PAGE} is not what this run says. Run: npm run conformance`);
  return 1;
}
