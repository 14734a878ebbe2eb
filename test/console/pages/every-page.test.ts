import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { responseAnything } from '../../conformance/addresses.ts';
import { plansText, subscribe } from '../../conformance/plans.ts';
import { openBrowser, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

/** Every page, as the two kinds of people see it who differ most: at a desk, and on a phone in Chinese and in the dark. */

const LOOKS = [
  { language: 'en', theme: 'light', widthPx: 1280 },
  { language: 'zh', theme: 'dark', widthPx: 390 },
] as const;

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
    '/operator/users',
    '/operator/plans',
    '/operator/config',
    '/operator/audit',
  ],
  '/operator/changes',
];

describe('every page of the console', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let browser: Browser;
  let person: TestPerson;
  let places: string[];
  before(async () => {
    server = await startGateway({ plans: plansText({ starter: {} }), usageIntervalMs: 10 });
    server.provider.respond = responseAnything;
    browser = await openBrowser();
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
    const tabs = ['summary', 'money', 'keys', 'plan', 'people', 'statement'];
    const ofAccount = tabs.map((tab) => `/operator/accounts/${account.id}?tab=${tab}`);
    places = [...PLACES, `/calls/${id}`, `/operator/calls/${id}`, ...ofAccount];
  });
  after(async () => {
    await server?.stop();
  });

  for (const look of LOOKS) {
    it(`can be used by everybody: ${look.language}, ${look.theme}, ${look.widthPx} px`, {
      timeout: 300_000,
    }, async () => {
      const console = await openConsole(browser, server, { ...look, person });
      for (const place of places) {
        // Each page is loaded, and drawn once: another place of the same document would not be loaded.
        await console.page.goto('about:blank');
        await console.page.goto(`${server.url}/console#${place}`, { waitUntil: 'networkidle' });
        await console.page.locator('main h1').first().waitFor();
        await console.assertAccessible().catch((error: Error) => {
          throw new Error(`${place}: ${error.message}`);
        });
      }
      await console.close();
    });
  }
});
