import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { withoutBrowser } from '../test/support/chromium.ts';
import { runConformance, runGrouped, runTests } from './run-tests.ts';

/**
 * Runs the tests.
 *
 *   npm test                          each rule once
 *   npm run test:full                 everything: all property runs, coverage, the conformance page
 *   npm test -- <files or options>    these files, as in a full run
 *
 * A full run fails if the coverage of the code for money and relay is too low, or if the results differ from
 * `test/conformance/REPORT.md`.
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
 * Tests that run with coverage: unit tests, and tests that reach code that unit tests do not. Coverage slows down heavy computation several
 * times, so all others run without it. If a branch is only reached by another test, add its file here.
 */
const COUNTED = [
  'src/{accounting,calls,db,journal,lib,protocols,providers}/**',
  'test/audit/audit-counters.test.ts',
  'test/billing/**',
  'test/corrections/**',
  'test/hostile/{answers,connections}.test.ts',
  'test/idempotency/**',
  'test/key-limits/{caller-budgets,gateway,minute-limits}.test.ts',
  'test/nodes/nodes.test.ts',
  'test/plans/admin-plans.test.ts',
  'test/providers/{provider-*,route-parameters}.test.ts',
  'test/relay/{client-aborts,relay-failures}.test.ts',
  'test/requests/refusals.test.ts',
  'test/routing/**',
  'test/telemetry/traces.test.ts',
  'test/translation/{translated-calls,two-gateways}.test.ts',
  'test/upstream/**',
];

/** Exceptions: tests with heavy computation. */
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
 * Tests that a quick run omits, with the tests that it runs for the same rules. They kill processes, simulate power cuts, measure the
 * memory of programs, or run commands as processes, which take seconds to start.
 */
const FULL_ONLY = [
  // Long loops of kills. `src/journal` and `test/settlement/restart` test each entry.
  'test/chaos/**',
  'test/settlement/crashes.test.ts',
  'test/settlement/killed.test.ts',
  // The same for transactions over the directory and a partition. See `test/db/over-both`.
  'test/db/over-both-kills.test.ts',
  'test/cli/demo-crashes.test.ts',
  // Several starts of the demo. See `test/db/demo-mark` and `test/cli/demo-month`.
  'test/cli/{demo,demo-mark,demo-mended}.test.ts',
  // Full disks under whole gateways and at their start. See `src/journal`, `src/accounting/settlement`.
  'test/settlement/{disk-full,half-start}.test.ts',
  // Order of syncs. See `src/lib/files`, `src/journal`.
  'test/settlement/power-cuts.test.ts',
  // Migration of databases of earlier versions. See `test/db/migrate`.
  'test/db/releases.test.ts',
  // Directories under different users and permissions, and local servers that are killed or cannot run. Every test with a local server
  // uses both; see `test/db/local-server` too.
  'test/db/{data-dir,local-server-kills,local-server-root,private-directory}.test.ts',
  // Connections that break during a statement. See `src/accounting/reservations/lost-admissions`, `test/settlement/flaky`.
  'test/db/lost-connection.test.ts',
  // Whole programs, tested from outside. See `src/cli/log`, `scripts/import-rules.ts`, `test/scripts/test-processes`.
  'test/cli/{loaded-code,log-reader}.test.ts',
  'test/scripts/test-runs.test.ts',
  // Many bodies of maximum size, and their threads. See `test/input`, `src/lib/worker-pool`.
  'src/calls/request-workers.test.ts',
  'test/hostile/bodies.test.ts',
  // Large responses and slow readers. See `src/protocols/metering/tap-large-events`, `test/relay`.
  'test/conformance/4.2-large-answers.test.ts',
  'test/hostile/memory.test.ts',
  'test/transport/slow-readers.test.ts',
  // Exports of many accounts, from several partitions and under load. See `test/transfer/round-trip`.
  'test/transfer/{batches,spread,under-load}.test.ts',
  // All commands of pages, as processes. `test/cli` runs commands in the test process.
  'test/docs/moving.test.ts',
  'test/docs/operations.test.ts',
  'test/docs/readme.test.ts',
  // The documentation site in a browser. `test/docs/citations` checks links.
  'test/docs/site.test.ts',
  // Worker processes. Their logic and limits are tested in `src/cli/serve` and `src/app`.
  'test/workers/**',
  // Type checks of the vendors' types. `test/clients` uses the clients themselves.
  'test/clients/vendor-types.test.ts',
  // Damaged export files. See `test/transfer`.
  'test/cli/transfer.test.ts',
  // A browser, request generators, a second biller, an installation, checkouts of revisions. Their parts have other tests.
  'bench/{call-path,gateway-target,revisions}.test.ts',
  'test/console/pages/**',
  'test/fuzz/fuzz.test.ts',
  'test/month/month.test.ts',
  'test/openapi/schemathesis.test.ts',
  'test/scripts/package.test.ts',
  // System programs that read the examples for operators.
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
  - runs property tests with all runs instead of a tenth
  - splits vendor responses at every byte instead of every seventh
  - tests rules of both protocols with streaming and non-streaming responses for each, instead of one mode per protocol
  - runs the tests that are skipped below with "only \`npm run test:full\` runs it"
  - measures coverage, and checks ${PAGE}
`);
  return runGrouped({ scope: 'quick', options, files });
}

async function runEverything(options: readonly string[]): Promise<number> {
  if (withoutBrowser !== false) console.log(`Page tests are skipped: ${withoutBrowser}\n`);
  const exceptions = matching(NOT_COUNTED);
  const counted = matching(COUNTED).filter((file) => !exceptions.includes(file));
  const notCounted = all.filter((file) => !counted.includes(file));
  const cores = availableParallelism();
  console.log(`Two concurrent runs: ${counted.length} files with coverage of the code for money and relay, whose output follows at the end;
${notCounted.length} files without coverage:
`);
  const withCoverage = runGrouped({
    scope: 'full',
    options: [...COVERAGE, ...options],
    files: counted,
    places: cores,
    isBeside: true,
  });
  const run = { scope: 'full', options, files: notCounted, places: cores * 2 } as const;
  // Options may filter tests, so the page cannot be compared.
  if (options.length > 0) return Math.max(await runGrouped(run), await withCoverage);
  const { code, page } = await runConformance(run);
  const first = await withCoverage;
  if (code !== 0 || page === readFileSync(PAGE, 'utf8')) return Math.max(first, code);
  console.error(`${PAGE} is out of date. Run: npm run conformance`);
  return 1;
}

function matching(patterns: readonly string[]): string[] {
  return globSync(patterns)
    .filter((file) => all.includes(file))
    .sort();
}
