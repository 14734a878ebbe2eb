import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { responseAnything } from '../../conformance/addresses.ts';
import { plansText, subscribe } from '../../conformance/plans.ts';
import { openConsole, openPlainBrowser } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { findFaults } from '../../support/page-faults.ts';
import { isWriting, PAGE_LOOKS, PagePictures, TABLET } from '../../support/page-pictures.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { until } from '../../support/until.ts';

/**
 * Every page in both languages and themes, on desktop, tablet and phone: compares its pictures, looks for what is cut off, covered or
 * not translated, and runs axe in both themes. Opens each page once and changes how it is looked at.
 */

const LANGUAGES = ['en', 'zh'] as const;
/** The time of the pictures. Their data was created in the minute before. */
const NOW = '2026-11-20T04:01:00Z';

/** Buttons on pages and tabs that open a dialog. */
const DIALOGS: Readonly<Record<string, readonly string[]>> = {
  keys: ['Create a key'],
  members: ['Invite'],
  webhooks: ['Add an endpoint'],
  'operator-accounts': ['New account'],
  'operator-accounts-one-summary': [
    'Suspend',
    'Edit name and e-mail address',
    'Edit caps, price and group',
    'Edit low balance',
    'Edit rate limits',
  ],
  'operator-accounts-one-money': ['Top up', 'Adjust'],
  'operator-accounts-one-keys': ['New key'],
  'operator-accounts-one-plan': ['Grant a plan'],
  'operator-accounts-one-people': ['Invite a new user', 'Add a user'],
  'operator-calls-one': ['Refund'],
  'operator-notices': ['Add an endpoint'],
  'operator-routes': ['Drain the provider', 'Test'],
  'operator-users': ['New user'],
  'operator-vouchers': ['New batch'],
};

const PLACES = [
  ...[
    '/',
    '/quickstart',
    '/playground',
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
    '/operator/announcements',
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

  it('has faults if text is cut off, covered, in another language or not a word, or the page is too wide', async () => {
    await using context = await browser.newContext({ viewport: { width: 390, height: 900 } });
    const page = await context.newPage();
    const faultsOf = async (body: string, language: 'en' | 'zh' = 'en'): Promise<string[]> => {
      await page.setContent(`<main><p>A page with enough text on it, so that it is not blank.</p>${body}</main>`);
      return (await findFaults(page, language)).filter((fault) => language === 'en' || !fault.includes('A page'));
    };
    const line = 'style="white-space: nowrap; overflow: hidden; width: 40px';
    assert.deepEqual(await faultsOf('<p>fits</p>'), []);
    assert.deepEqual(await faultsOf(`<p ${line}; text-overflow: ellipsis">shortened on purpose</p>`), []);
    assert.deepEqual(await faultsOf(`<p ${line}">lost at the side</p>`), ['cut off: lost at the side']);
    assert.deepEqual(await faultsOf(`<p ${line}; overflow: auto">scrolls within itself</p>`), []);
    const covered = '<p>some text</p><button style="position: relative; top: -3em" aria-label="Copy">Copy</button>';
    assert.ok((await faultsOf(covered)).includes('overlap: some text | Copy'));
    assert.deepEqual(await faultsOf('<p>NaN calls</p><p>余额</p>'), [
      'not a word: NaN calls',
      'not in this language: 余额',
    ]);
    assert.deepEqual(await faultsOf('<p>The key was revoked.</p><code>curl a b c</code>', 'zh'), [
      'not in this language: The key was revoked.',
    ]);
    assert.match((await faultsOf('<p style="width: 600px">wide</p>')).join(), /px wider than the window/);
    assert.deepEqual(
      await faultsOf(
        '<div role="dialog" style="height: 990px">A dialog with more text in it than a blank one would have.</div>',
      ),
      ['the dialog does not fit the window'],
    );
  });

  for (const language of LANGUAGES) {
    it(`is accessible and matches its pictures: ${language}`, { timeout: 600_000 }, async () => {
      // The first picture has the look in which the page was opened.
      const looks = language === 'en' ? PAGE_LOOKS : [...PAGE_LOOKS.slice(2), ...PAGE_LOOKS.slice(0, 2)];
      await using console = await openConsole(server, { browser, language, ...looks[0], person });
      const { page } = console;
      await page.clock.setFixedTime(NOW);
      const pictures = await PagePictures.of(page, looks);
      const faults: string[] = [];
      const look = async (name: string, how: string): Promise<void> => {
        faults.push(...(await findFaults(page, language)).map((fault) => `${name}, ${how}: ${fault}`));
      };
      const isAccessible = (name: string, how: string): Promise<void> =>
        console.assertAccessible().catch((error: Error) => {
          faults.push(`${name}, ${how}: ${error.message}`);
        });
      for (const [name, place] of [...places, ['sign-in', '/keys']] as const) {
        if (name === 'sign-in') await console.context.clearCookies();
        // A full load for each page: another hash in the same document would not load it.
        await page.goto('about:blank');
        await pictures.begin();
        // When comparing, waits until the page matches its picture; when writing pictures, until the network is idle.
        await page.goto(`${server.url}/console#${place}`, { waitUntil: isWriting ? 'networkidle' : 'load' });
        await page.locator('main h1').first().waitFor();
        await pictures.compare(`${language}/${name}`, async (at) => {
          const how = `${at.theme}, ${at.widthPx} px`;
          // Positions are the same in both themes, and colours at all widths.
          if (at.theme === 'light') await look(name, how);
          // Colours are the same in both languages, and roles and labels in both themes.
          if (at === looks.at(-1) || (at === looks[1] && language === 'en')) await isAccessible(name, how);
        });
        for (const button of language === 'en' ? (DIALOGS[name] ?? []) : []) {
          await page.getByRole('main').getByRole('button', { name: button }).first().click();
          await page.getByRole('dialog').waitFor();
          await look(`${name}, ${button}`, 'phone');
          // The first one may only close the list of an input.
          await until(async () => {
            await page.keyboard.press('Escape');
            return (await page.getByRole('dialog').count()) === 0;
          });
        }
        await page.setViewportSize({ width: TABLET.widthPx, height: TABLET.heightPx });
        await look(name, 'tablet');
      }
      assert.deepEqual(faults, []);
      pictures.end();
    });
  }
});

/** `operator-accounts-one-money` for `/operator/accounts/acct_…?tab=money`. */
function nameOf(place: string): string {
  const words = place.split(/[/?=]/).filter((word) => word !== '' && word !== 'tab');
  return words.map((word) => (word.includes('_') ? 'one' : word)).join('-') || 'overview';
}
