import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { withoutBrowser } from '../test/support/chromium.ts';
import { runConformance, runGrouped, runTests } from './run-tests.ts';

/**
 * Runs the tests.
 *
 *   npm test                          every rule once
 *   npm run test:full                 everything, all runs of the property tests, coverage, the page of conformance
 *   npm test -- <files or options>    these files, as a full run has them
 *
 * Coverage is required of the code that touches money or bytes on their way through; a full run that falls below fails. So
 * does one whose results are not what `test/conformance/REPORT.md` says.
 */
const MONEY_AND_RELAY = [
  'accounting/audit',
  'accounting/calls',
  'accounting/continuation',
  'accounting/corrections',
  'accounting/ledger',
  'accounting/pricing',
  'accounting/repeats',
  'accounting/reservations',
  'accounting/settlement',
  'calls',
  'db/nodes',
  'journal',
  'lib/json',
  'lib/sse',
  'protocols/chat',
  'protocols/images',
  'protocols/messages',
  'protocols/metering',
  'protocols/operations',
  'protocols/responses',
  'providers/routing',
  'providers/upstream',
];
const BRANCHES_MIN = 95;
const PAGE = 'test/conformance/REPORT.md';

const COVERAGE = [
  '--experimental-test-coverage',
  `--test-coverage-branches=${BRANCHES_MIN}`,
  ...MONEY_AND_RELAY.map((folder) => `--test-coverage-include=src/${folder}/**`),
  '--test-coverage-include=src/lib/json-*.ts',
  '--test-coverage-include=src/lib/sse/sse.ts',
  '--test-coverage-include=src/lib/event-*.ts',
  '--test-coverage-exclude=**/*.test.ts',
];

/**
 * Tests that run with coverage: the unit tests, and of the others those that reach what unit tests do not. Coverage makes
 * what computes much several times slower, so all others run without it. A branch of this code that only they reach counts
 * as not covered: add the file here.
 */
const COUNTED = [
  'src/**',
  'test/audit/audit-counters.test.ts',
  'test/billing/**',
  'test/idempotency/**',
  'test/providers/provider-*.test.ts',
  'test/relay/{client-aborts,relay-failures}.test.ts',
  'test/requests/refusals.test.ts',
  'test/routing/**',
];

/** Of these, tests that compute so much that they do not. */
const NOT_COUNTED = [
  'src/accounting/reservations/moved-clock.test.ts',
  'src/calls/request-workers.test.ts',
  'src/lib/json/json-parts.test.ts',
  'src/lib/json/json-scan.test.ts',
  'src/lib/worker-pool.test.ts',
  'src/protocols/metering/tap-*.test.ts',
  'src/protocols/responses/stream.test.ts',
  'src/protocols/token-estimate/**',
  'test/billing/{audit-counters,audit-partitions,batches,billing-per-endpoint,lists}.test.ts',
];

/**
 * Tests that a quick run leaves out, and which ones it has of the same rules. They kill, cut power, measure the memory of
 * whole programs, or run commands as processes, each of which takes seconds to start.
 */
const FULL_ONLY = [
  // Long loops of kills: what a journal and a restart do with each entry stands in `src/journal` and `test/settlement/restart`.
  'test/chaos/**',
  'test/settlement/crashes.test.ts',
  'test/settlement/killed.test.ts',
  // The same of transactions over the directory and a partition: `test/db/over-both`, and the tests of each of them.
  'test/db/over-both-kills.test.ts',
  'test/cli/demo-crashes.test.ts',
  // The demo, started several times: its mark stands in `test/db/demo-mark`, what it makes in `test/cli/demo-month`.
  'test/cli/{demo,demo-mark,demo-mended}.test.ts',
  // Disks that fill under whole gateways, and a start that does: `src/journal`, `test/hostile/what-happens-when`.
  'test/settlement/{disk-full,half-start}.test.ts',
  // Syncs before what depends on them: `src/lib/files`, `src/journal`.
  'test/settlement/power-cuts.test.ts',
  // Databases of earlier versions that are brought up to date: `test/db/migrate` has the migrations.
  'test/db/releases.test.ts',
  // Directories that processes of several users and rights want, and local servers that are killed or cannot run: every test that starts
  // a gateway on one uses both, and `test/db/local-server` has the rest.
  'test/db/{data-dir,local-server-kills,local-server-root,private-directory}.test.ts',
  // Connections that break in the middle of a statement: `src/accounting/reservations/lost-admissions`, `test/settlement/flaky`.
  'test/db/lost-connection.test.ts',
  // Whole programs, looked at from outside: `src/cli/log`, `scripts/import-rules.ts`, `test/scripts/test-processes`.
  'test/cli/{loaded-code,log-reader}.test.ts',
  'test/scripts/test-runs.test.ts',
  // Bodies and uploads as large as their limits, many at a time, and the threads that read them: `test/input`, `src/lib/worker-pool`.
  'src/calls/request-workers.test.ts',
  'test/hostile/{bodies,uploads}.test.ts',
  // Large responses, clients that stop reading them, and what is kept of them: `src/protocols/metering/tap-large-events`, `test/relay`.
  'test/conformance/4.2-large-answers.test.ts',
  'test/hostile/memory.test.ts',
  'test/transport/slow-readers.test.ts',
  // Exports of many accounts in batches, from several partitions and beside calls: `test/transfer/round-trip`.
  'test/transfer/{batches,spread,under-load}.test.ts',
  // Every command of a page as a reader runs it: the commands have tests in `test/cli`, which carry them out in their process.
  'test/docs/moving.test.ts',
  'test/docs/operations.test.ts',
  'test/docs/readme.test.ts',
  // The site of the documents, built and opened in a browser: `test/docs/citations` has the links.
  'test/docs/site.test.ts',
  // Workers, each a process: what is decided about them, and what they have of limits, is in `src/cli/serve` and `src/app`.
  'test/workers/**',
  // The vendors' types by their compiler: their clients take the same responses in `test/clients`.
  'test/clients/vendor-types.test.ts',
  // Files of exports, damaged in each way: `test/transfer`.
  'test/cli/transfer.test.ts',
  // A browser, generators of requests, a second biller, an installation, checkouts of revisions: what they use is tested without them.
  'bench/{call-path,gateway-target,revisions}.test.ts',
  'test/console/pages/**',
  'test/fuzz/fuzz.test.ts',
  'test/month/month.test.ts',
  'test/openapi/schemathesis.test.ts',
  'test/scripts/package.test.ts',
  // Programs of the system that read the examples for operators; nothing of the gateway is tested here alone.
  'test/deploy/**',
];

const isFull = process.argv.includes('--full');
const given = process.argv.slice(2).filter((argument) => argument !== '--full');
const hasFiles = given.some((argument) => !argument.startsWith('-'));
const all = globSync(['src/**/*.test.ts', 'bench/**/*.test.ts', 'test/**/*.test.ts']).sort();

if (hasFiles) process.exitCode = await runTests({ scope: 'full', options: given, files: [] });
else if (isFull) process.exitCode = await runEverything(given);
else process.exitCode = await runQuickly(given);

async function runQuickly(options: readonly string[]): Promise<number> {
  const leftOut = matching(FULL_ONLY);
  const files = all.filter((file) => !leftOut.includes(file));
  console.log(`${files.length} files. Only \`npm run test:full\`
  - runs ${leftOut.join(', ')}
  - tries properties as often as they say, and not a tenth as often
  - cuts what vendors send at every byte, and not at every seventh
  - tries what both protocols share on each of them whole and as a stream, and not one whole and the other as a stream
  - runs what is skipped below with "only \`npm run test:full\` runs it"
  - measures coverage, and checks ${PAGE}
`);
  return runGrouped({ scope: 'quick', options, files });
}

async function runEverything(options: readonly string[]): Promise<number> {
  if (withoutBrowser !== false) console.log(`The tests of pages are skipped: ${withoutBrowser}\n`);
  const exceptions = matching(NOT_COUNTED);
  const counted = matching(COUNTED).filter((file) => !exceptions.includes(file));
  const notCounted = all.filter((file) => !counted.includes(file));
  const cores = availableParallelism();
  console.log(`Two runs at a time. With coverage of the code for money and relay, ${counted.length} files, whose results come in one
piece when it has ended; without, ${notCounted.length} files:
`);
  const withCoverage = runGrouped({
    scope: 'full',
    options: [...COVERAGE, ...options],
    files: counted,
    places: cores,
    isBeside: true,
  });
  const run = { scope: 'full', options, files: notCounted, places: cores * 2 } as const;
  // With options that leave tests out, such as a pattern of names, the page cannot be compared.
  if (options.length > 0) return Math.max(await runGrouped(run), await withCoverage);
  const { code, page } = await runConformance(run);
  const first = await withCoverage;
  if (code !== 0 || page === readFileSync(PAGE, 'utf8')) return Math.max(first, code);
  console.error(`${PAGE} is not what this run says. Run: npm run conformance`);
  return 1;
}

function matching(patterns: readonly string[]): string[] {
  return globSync(patterns)
    .filter((file) => all.includes(file))
    .sort();
}
