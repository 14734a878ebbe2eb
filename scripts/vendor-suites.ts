import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { renderTable } from '../src/cli/table.ts';
import { adminClient } from '../test/support/admin-client.ts';
import { readExpected } from '../test/vendor-suites/expected.ts';
import { type Installation, installSuites } from '../test/vendor-suites/installation.ts';
import { startVendor } from '../test/vendor-suites/provider.ts';
import { differences, type Judged, judge, summarize } from '../test/vendor-suites/results.ts';
import { runSuite } from '../test/vendor-suites/run.ts';
import { SUITES } from '../test/vendor-suites/suites.ts';
import { LISTENING, withGateway } from './started-demo.ts';

/**
 * Runs the vendors' test suites for their Python SDKs through a gateway, and compares the results with
 * `test/vendor-suites/expected.yaml`. Exit code 1 if a result differs, including a test that passes unexpectedly.
 */
const HELP = `npm run vendor-suites

  Runs the tests for resources that the gateway serves, from the source distributions for Python of
  ${SUITES.map(({ name, version }) => `${name} ${version}`).join(' and ')}, through a gateway in front of a scripted provider.
  Needs python3 with venv. The first run installs the packages into the cache directory of the user and needs a package
  registry; later runs take less than a minute.
`;

const CONFIG = fileURLToPath(new URL('../test/vendor-suites/faregate.yaml', import.meta.url));
const ADMIN_TOKEN = 'vendor-suites-admin-token';

/** A test in the table. */
type Row = Judged & { readonly suite: string };

interface Audit {
  readonly invariants: readonly { readonly name: string; readonly breaches: readonly unknown[] }[];
}

const { values: flags } = parseArgs({ options: { help: { type: 'boolean', default: false } } });
if (flags.help) console.log(HELP);
else await run();

async function run(): Promise<void> {
  let installation: Installation;
  try {
    installation = installSuites();
  } catch (error) {
    return fail([(error as Error).message]);
  }
  const provider = await startVendor();
  const environment = {
    FAREGATE_CONFIG: CONFIG,
    FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    VENDOR_PROVIDER: provider.url,
    DATABASE_URL: '',
    LOG_LEVEL: 'error',
  };
  try {
    await withGateway(environment, async (printed) => compare((await printed(LISTENING))[1]!, installation));
  } finally {
    await provider.close();
  }
}

async function compare(url: string, installation: Installation): Promise<void> {
  const { refusals, results } = readExpected();
  const admin = adminClient(url, ADMIN_TOKEN);
  const account = await admin('POST', '/accounts', { name: 'vendor-suites', verified: true, balanceYuan: '10000' });
  const { key } = await admin('POST', `/accounts/${account.id}/keys`, { name: 'vendor-suites' });
  const rows: Row[] = [];
  const problems: string[] = [];
  for (const suite of SUITES) {
    const { name, version } = suite;
    const tests = await runSuite(suite, installation, { url, key, refusals });
    const judged = tests.map((test) => judge(test, refusals));
    rows.push(...judged.map((each) => ({ ...each, suite: `${name} ${version}` })));
    problems.push(...differences(results[name] ?? {}, summarize(judged)).map((each) => `${name}: ${each}`));
  }
  print(rows);
  const { invariants } = await admin<Audit>('POST', '/audit');
  const broken = invariants.filter(({ breaches }) => breaches.length > 0);
  problems.push(...broken.map(({ name }) => `audit: the invariant "${name}" is broken`));
  if (problems.length > 0) fail(problems);
  else console.log('All results are as listed in test/vendor-suites/expected.yaml.');
}

function print(tests: readonly Row[]): void {
  const rows = [...Map.groupBy(tests, ({ suite, file }) => `${suite} ${file}`).values()];
  const count = (kind: Judged['kind']) => (row: readonly Row[]) =>
    String(row.filter((test) => test.kind === kind).length);
  console.log(
    renderTable([...rows, tests], '', [
      { title: 'suite', cell: (row) => (row === tests ? 'all' : row[0]!.suite) },
      { title: 'resource', cell: (row) => (row === tests ? '' : row[0]!.file) },
      { title: 'passed', cell: count('passed') },
      { title: 'refused as documented', cell: count('refused') },
      { title: 'not served', cell: count('not served') },
      { title: 'other', cell: count('other') },
    ]),
  );
}

function fail(problems: readonly string[]): void {
  for (const problem of problems) console.error(problem);
  process.exitCode = 1;
}
