import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page, Request } from 'playwright-core';
import { readOptions } from '../scripts/read-options.ts';
import { openBrowser } from '../test/support/browser.ts';
import { accountId, keyId } from './fill-database.ts';
import { admin, startGatewayTarget } from './gateway-target.ts';
import { spawnFreeGateway } from './processes.ts';
import { quantile } from './quantile.ts';
import { REPOSITORY } from './revisions.ts';

/**
 * Load times of the console's pages on a large database. An operator who owns the largest account opens each page in the system's
 * Chromium. A page is complete when it waits for no response and shows no loading indicator.
 *
 *     DATABASE_URL=postgres://… npm run fill -- --calls 10000000 --accounts 1000000
 *     node bench/console-pages.ts --url postgres://… [--repeats 5]
 *
 * The exit code is 1 if the median of a page exceeds a second.
 */
const PAGE_MAX_MS = 1_000;

const { url: databaseUrl, repeats } = readOptions({ url: '', repeats: 5 });
if (databaseUrl === '') throw new Error('Name the filled database: --url postgres://…');
const directory = mkdtempSync(join(tmpdir(), 'faregate-console-pages-'));
const [whale, key] = [accountId(1), keyId(1)];

/** Addresses of the pages. */
const PLACES: readonly string[] = [
  ...['#/', '#/quickstart', '#/keys', '#/usage', '#/calls', `#/calls?keyId=${key}`, '#/calls?status=failed'],
  ...['#/ledger', '#/plan', '#/vouchers', '#/models', '#/members', '#/webhooks', '#/settings', '#/profile'],
  ...['#/operator', '#/operator/accounts', '#/operator/accounts?search=nitech%2022', `#/operator/accounts/${whale}`],
  ...['#/operator/find', '#/operator/calls', '#/operator/calls?status=failed', `#/operator/calls?accountId=${whale}`],
  ...['#/operator/unresolved', '#/operator/routes', '#/operator/usage', '#/operator/vouchers', '#/operator/users'],
  ...['#/operator/plans', '#/operator/config', '#/operator/audit', '#/operator/changes'],
];

interface Responded {
  readonly address: string;
  readonly tookMs: number;
}

async function measure(): Promise<void> {
  const target = await startGatewayTarget({
    checkout: REPOSITORY,
    upstreamUrl: 'http://127.0.0.1:9',
    databaseUrl,
    directory: join(directory, 'gateway'),
    spawn: spawnFreeGateway,
    flags: [],
  });
  try {
    await visitAll(target.url);
  } finally {
    await target.stop();
  }
}

async function visitAll(url: string): Promise<void> {
  const browser = await openBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await signIn(page, url);

  console.log('| page | median ms | worst ms | slowest response | ms |\n|---|---|---|---|---|');
  const last = await calledIds(url);
  for (const place of [...PLACES, ...last]) {
    const took: number[] = [];
    let slowest: Responded = { address: '–', tookMs: 0 };
    for (let i = 0; i < repeats; i++) {
      const { tookMs, responses } = await visit(page, url, place);
      took.push(tookMs);
      for (const response of responses) if (response.tookMs > slowest.tookMs) slowest = response;
    }
    const median = quantile(took, 0.5);
    if (median > PAGE_MAX_MS) process.exitCode = 1;
    const figures = [
      place,
      median.toFixed(0),
      quantile(took, 1).toFixed(0),
      slowest.address,
      slowest.tookMs.toFixed(0),
    ];
    console.log(`| ${figures.join(' | ')} |`);
  }
  await browser.close();
}

/** Loads the page with an empty cache; returns its time and its requests. */
async function visit(
  page: Page,
  url: string,
  place: string,
): Promise<{ tookMs: number; responses: readonly Responded[] }> {
  const responses: Responded[] = [];
  const onDone = (request: Request): void => {
    const address = new URL(request.url());
    if (/^\/(?:account|admin)\//.test(address.pathname)) {
      responses.push({ address: address.pathname + address.search, tookMs: request.timing().responseEnd });
    }
  };
  await page.goto('about:blank');
  page.on('requestfinished', onDone);
  const beganMs = performance.now();
  await page.goto(`${url}/console${place}`);
  await page.locator('main h1').first().waitFor();
  await page.waitForFunction(
    () => Reflect.get(globalThis, 'document').querySelector('main .mantine-Loader-root') === null,
  );
  const tookMs = performance.now() - beganMs;
  await page.waitForLoadState('networkidle');
  page.off('requestfinished', onDone);
  return { tookMs, responses };
}

async function signIn(page: Page, url: string): Promise<void> {
  const name = `bench ${Date.now()}`;
  const memberships = [{ accountId: whale, role: 'owner' }];
  const { id, link } = await admin<{ id: string; link: string }>(url, '/users', { name, memberships });
  // Only the command line can create an operator.
  execFileSync(process.execPath, [join(REPOSITORY, 'src/main.ts'), 'user', 'role', id, 'operator'], {
    cwd: directory,
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl },
  });
  await page.goto(`${url}/console${new URL(link).hash}`);
  await page.getByLabel('New password').fill('a password for the bench');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('nav a').first().waitFor();
}

/** The pages of a call in the largest account. */
async function calledIds(url: string): Promise<string[]> {
  const { data } = await admin<{ data: { id: string }[] }>(url, `/calls?accountId=${whale}&limit=1`);
  return [`#/calls/${data[0]!.id}`, `#/operator/calls/${data[0]!.id}`];
}

try {
  await measure();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
