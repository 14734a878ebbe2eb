import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { responseAnything } from '../../conformance/addresses.ts';
import { plansText, subscribe } from '../../conformance/plans.ts';
import { openConsole, openPlainBrowser } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { isWriting, PAGE_LOOKS, PagePictures } from '../../support/page-pictures.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

/**
 * Compares pictures of every page in both themes, on desktop and phone, in both languages. Runs axe in the two looks that differ most:
 * light on a phone, and dark on a desktop in Chinese.
 */

const LANGUAGES = ['en', 'zh'] as const;
/** The time of the pictures. Their data was created in the minute before. */
const NOW = '2026-11-20T04:01:00Z';

const PLACES = [
  ...[
    '/',
    '/quickstart',
    '/keys',
    '/usage',
    '/calls',
    '/calls?tab=refusals',
    '/ledger',
    '/ledger?tab=statement',
    '/invoices',
    '/plan',
  ],
  ...['/vouchers', '/models', '/members', '/webhooks', '/settings', '/profile'],
  ...[
    '/operator',
    '/operator/accounts',
    '/operator/find',
    '/operator/calls',
    '/operator/unresolved',
    '/operator/routes',
  ],
  ...[
    '/operator/latency',
    '/operator/usage',
    '/operator/backup',
    '/operator/notices',
    '/operator/vouchers',
    '/operator/invoices',
    '/operator/users',
    '/operator/catalog',
    '/operator/catalog?tab=text',
    '/operator/providers',
    '/operator/models',
    '/operator/plans',
    '/operator/groups',
    '/operator/config',
    '/operator/audit',
  ],
  '/operator/changes',
];

describe('every page of the console', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let browser: Browser;
  let person: TestPerson;
  /** By picture name. */
  let places: ReadonlyMap<string, string>;
  before(async () => {
    // Every record gets a different instant, because lists are sorted by time.
    let tickMs = 1;
    let nowMs = Date.parse(NOW) - 60_000;
    const clock = { nowMs: () => (nowMs += tickMs) };
    server = await startGateway({
      catalog: 'file',
      plans: plansText({ starter: {} }),
      usageIntervalMs: 10,
      clock,
    });
    server.provider.respond = responseAnything;
    browser = await openPlainBrowser();
    const account = await server.createAccount();
    await subscribe(server, account, 'starter');
    const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
    await call(`${server.url}/v1/chat/completions`, account.key, hello);
    await call(`${server.url}/v1/chat/completions`, account.key, { ...hello, model: 'none' });
    const { id } = await account.endedCall();
    const limits = { dailySpendCapYuan: '5', dailyCalls: 200, allowedNetworks: ['127.0.0.0/8'] };
    await server.admin('POST', `/accounts/${account.id}/keys`, { name: 'ci', ...limits });
    const memberships = [{ accountId: account.id, role: 'owner' }] as const;
    await createPerson(server, { name: 'Grace', memberships });
    person = await createPerson(server, { operatorRole: 'operator', memberships });
    tickMs = 0;
    nowMs = Date.parse(NOW);
    const tabs = ['summary', 'money', 'keys', 'plan', 'people', 'statement'];
    const ofAccount = tabs.map((tab) => `/operator/accounts/${account.id}?tab=${tab}`);
    places = new Map(
      [...PLACES, `/calls/${id}`, `/operator/calls/${id}`, ...ofAccount].map((place) => [nameOf(place), place]),
    );
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  for (const language of LANGUAGES) {
    it(`is accessible and matches its pictures: ${language}`, { timeout: 600_000 }, async () => {
      // The first picture has the look in which the page was opened.
      const looks = language === 'en' ? PAGE_LOOKS : [...PAGE_LOOKS.slice(2), ...PAGE_LOOKS.slice(0, 2)];
      await using console = await openConsole(server, { browser, language, ...looks[0], person });
      const { page } = console;
      await page.clock.setFixedTime(NOW);
      const pictures = await PagePictures.of(page, looks);
      for (const [name, place] of [...places, ['sign-in', '/keys']] as const) {
        if (name === 'sign-in') await console.context.clearCookies();
        // A full load for each page: another hash in the same document would not load it.
        await page.goto('about:blank');
        await pictures.begin();
        // When comparing, waits until the page matches its picture; when writing pictures, until the network is idle.
        await page.goto(`${server.url}/console#${place}`, { waitUntil: isWriting ? 'networkidle' : 'load' });
        await page.locator('main h1').first().waitFor();
        await pictures.compare(`${language}/${name}`);
        await console.assertAccessible().catch((error: Error) => {
          throw new Error(`${place}: ${error.message}`);
        });
      }
      pictures.end();
    });
  }
});

/** `operator-accounts-one-money` for `/operator/accounts/acct_…?tab=money`. */
function nameOf(place: string): string {
  const words = place.split(/[/?=]/).filter((word) => word !== '' && word !== 'tab');
  return words.map((word) => (word.includes('_') ? 'one' : word)).join('-') || 'overview';
}
