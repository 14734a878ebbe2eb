import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

/**
 * Every task in docs/operations that the console can do is done by a test in a browser. The last paragraph of a page describes the task
 * in the console; this file names the tests of each page.
 */
const DOCUMENTS = 'docs/operations';
const BROWSER_TESTS = 'test/console/pages';

/** By page of `docs/operations`: the files with its browser tests, and the beginnings of the tests' names. */
const TESTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'accounts-from-csv': { accounts: ['create an account'], 'operator-makes': ['a key is shown once'] },
  announcements: { 'operator-day': ['announces maintenance'] },
  audit: { 'operator-engine': ['run the audit'] },
  branding: { branding: ['has the name'] },
  catalog: { catalog: ['lead from an empty catalog', 'show the history'], 'catalog-forms': ['change prices'] },
  'complaint-by-request-id': { 'operator-engine': ['find a request by id'] },
  configuration: { 'operator-tasks': ['show the configuration'] },
  'drain-a-route': { 'operator-engine': ['drain a route'], 'operator-day': ['drains a provider'] },
  'first-operator': { 'operator-edits': ['create a user with a one-time link'] },
  groups: { accounts: ['create an account'], catalog: ['add a plan and a group'], margins: ['change with the group'] },
  incidents: { 'operator-engine': ['find the owner of a pasted key'], 'operator-day': ['drains a provider'] },
  invoices: {
    'operator-day': ['tops up an account', 'sees on Live'],
    'owner-day': ['enters the company', 'requests an invoice'],
  },
  keys: {
    'operator-makes': ['a key is shown once', 'a replacement key'],
    'operator-edits': ['of a key keep'],
    'operator-tasks': ['rename a key'],
  },
  latency: { 'operator-engine': ['show the latency'] },
  money: { accounts: ['show the resulting balance'], 'operator-edits': ['of an account keep'] },
  'monthly-statement': { 'owner-day': ['enters the company'], 'operator-tasks': ['show the statement'] },
  notices: { 'own-account': ['a webhook receives'], 'operator-tasks': ['notify of a low balance'] },
  people: { 'operator-edits': ['create a user with a one-time link', 'add an existing user', 'limit a member'] },
  plans: {
    'operator-makes': ['a plan is granted'],
    'operator-tasks': ['renew a plan'],
    catalog: ['add a plan and a group'],
  },
  refund: { 'operator-engine': ['refund part of a charge'], accounts: ['show the resulting balance'] },
  retention: { 'operator-tasks': ['show the configuration'], 'operator-engine': ['run the audit'] },
  'rotate-a-provider-key': { 'operator-engine': ['test a provider'] },
  scaling: { 'operator-engine': ['show the latency'], 'operator-tasks': ['show the configuration'] },
  'sealed-secrets': { 'catalog-forms': ['seal a new secret'] },
  secrets: {
    'operator-makes': ['an admin token', 'a key is shown once'],
    'operator-tasks': ['notify of a low balance'],
  },
  'suspend-an-account': { accounts: ['suspend with a reason'], 'operator-engine': ['find the owner of a pasted key'] },
  tokens: { 'operator-makes': ['an admin token'] },
  'top-spender': { 'operator-tasks': ['find who spent most'] },
  'unresolved-call': { 'operator-engine': ['resolve a call'] },
  upgrade: { 'operator-edits': ['are in a downloaded backup'], 'operator-engine': ['run the audit'] },
  vouchers: { 'operator-makes': ['voucher codes'], 'operator-tasks': ['show who redeemed'] },
  'who-changed-this': { 'operator-engine': ['filter the audit log'] },
};

/** Tasks that the console cannot do; their pages say so. */
const BY_COMMAND_ALONE: readonly string[] = ['moving-in', 'partitions'];

/** Names of pages and tabs, which tests open by their address. */
const PLACES: ReadonlySet<string> = new Set([
  ...[...readFileSync('console/src/app/pages.ts', 'utf8').matchAll(/\{ en: '(.+?)', zh/g)].map(([, title]) => title!),
  ...['Summary', 'Money', 'API keys', 'Coding Plan', 'People', 'Statement'],
]);

const bodies = new Map(
  readdirSync(BROWSER_TESTS)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => {
      const [, ...tests] = readFileSync(join(BROWSER_TESTS, name), 'utf8').split(/^ {2,4}it\(\s*["'`]/m);
      return [name.replace('.test.ts', ''), tests] as const;
    }),
);

/** The last paragraph of a page. */
const inConsole = (page: string): string =>
  readFileSync(join(DOCUMENTS, `${page}.md`), 'utf8')
    .trimEnd()
    .split('\n\n')
    .at(-1)!;

describe('the tasks of operators in the console', () => {
  const pages = readdirSync(DOCUMENTS)
    .filter((name) => name !== 'README.md')
    .map((name) => name.replace('.md', ''));

  it('each have a browser test, or a page that says that only the command line does them', () => {
    assert.deepEqual([...Object.keys(TESTS), ...BY_COMMAND_ALONE].toSorted(), pages.toSorted());
    for (const page of BY_COMMAND_ALONE) assert.match(inConsole(page), /console (?:has no|does not)/, page);
  });

  it('are done with the buttons that the pages name', () => {
    const missing: string[] = [];
    for (const [page, files] of Object.entries(TESTS)) {
      const found = Object.entries(files).flatMap(([file, names]) =>
        names.map((name) => {
          const body = bodies.get(file)?.find((each) => each.startsWith(name));
          if (body === undefined) missing.push(`${page}: no test "${name}" in ${file}`);
          return body ?? '';
        }),
      );
      for (const [, label] of inConsole(page).matchAll(/\*\*(.+?)\*\*/g)) {
        const isPressed = found.some((body) => body.includes(label!));
        if (!PLACES.has(label!) && !isPressed) missing.push(`${page}: no test of it uses "${label}"`);
      }
    }
    assert.deepEqual(missing, []);
  });
});
