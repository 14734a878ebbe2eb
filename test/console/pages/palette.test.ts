import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type ConsoleOptions, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

/** Moving about: the command palette, addresses that keep the state of a page, scroll positions, and the figures of the first page. */

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe('moving about in the console', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let server: TestGateway;
  let ada: TestPerson;
  let account: TestAccount;

  before(async () => {
    server = await startGateway({ usageIntervalMs: 100, catalog: 'file' });
    account = await server.createAccount({ balanceYuan: '5' });
    ada = await createPerson(server, {
      name: 'Ada',
      operatorRole: 'operator',
      memberships: [{ accountId: account.id, role: 'owner' }],
    });
    await server.admin('PATCH', `/accounts/${account.id}`, { name: 'Blue Harbor' });
  });
  after(async () => {
    await server?.stop();
  });

  const open = (options: ConsoleOptions) => openConsole(server, { person: ada, ...options });
  const hashOf = (page: Page): string => new URL(page.url()).hash;
  const palette = (page: Page) => page.getByRole('dialog', { name: 'Search and commands' });

  async function openPalette(page: Page): Promise<void> {
    await page.keyboard.press('Control+k');
    await palette(page).locator('input:focus').waitFor();
  }

  /** Types into the palette and opens the first match. */
  async function take(page: Page, text: string, first: string): Promise<void> {
    await page.keyboard.type(text);
    await palette(page).locator('[data-combobox-selected]').filter({ hasText: first }).waitFor();
    await page.keyboard.press('Enter');
  }

  it('an account is topped up with the keyboard alone', async () => {
    await using console = await open({ at: '#/operator/latency' });
    const { page } = console;
    await page.locator('main h1').waitFor();
    await openPalette(page);
    await console.assertAccessible();
    await take(page, 'top up', 'Top up an account');
    await take(page, 'harbor', 'Blue Harbor');
    const dialog = page.getByRole('dialog', { name: 'Top up' });
    await dialog.waitFor();
    assert.equal(hashOf(page), `#/operator/accounts/${account.id}?tab=money&do=top-up`);
    await page.keyboard.type('7');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await server.admin('GET', `/accounts/${account.id}`)).body.balanceYuan, '12');
    assert.equal(hashOf(page), `#/operator/accounts/${account.id}?tab=money`);
  });

  it('the palette opens pages, accounts and the drain of a route, and goes back with Escape', async () => {
    await using console = await open({ at: '#/operator' });
    const { page } = console;
    await page.locator('main h1').waitFor();
    await openPalette(page);
    await take(page, 'late', 'Latency');
    await page.getByRole('heading', { name: 'Latency', level: 1 }).waitFor();
    await openPalette(page);
    await palette(page).getByRole('option', { name: 'Drain a route' }).waitFor();
    await page.keyboard.type('drain');
    await page.keyboard.press('Enter');
    await palette(page)
      .getByRole('option', { name: /test-chat/ })
      .waitFor();
    await page.keyboard.press('Escape');
    await palette(page).getByRole('option', { name: 'Drain a route' }).waitFor();
    await page.keyboard.press('Escape');
    await palette(page).waitFor({ state: 'detached' });
    await openPalette(page);
    await page.keyboard.type('drain a route');
    await page.keyboard.press('Enter');
    await take(page, 'test-chat', 'test-chat');
    await page.getByRole('dialog', { name: 'Drain' }).getByText('test-chat has no other route').waitFor();
    // An open dialog keeps what was entered: the palette does not open above it.
    await page.keyboard.press('Control+k');
    assert.equal(await palette(page).count(), 0);
  });

  it('a key that was typed into the palette is neither sent nor put into the address', async () => {
    await using console = await open({ at: '#/operator' });
    const { page } = console;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`));
    await page.locator('main h1').waitFor();
    await openPalette(page);
    await page.keyboard.type(account.key);
    await palette(page).getByText('Keys are found on the page Find').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await palette(page).waitFor({ state: 'detached' });
    assert.ok(asked.length > 0);
    assert.ok(![...asked, page.url()].some((each) => each.includes(account.key.slice(0, 12))));
  });

  it('a list starts at its top, and the way back leads to where it was, with all its pages', async () => {
    for (let i = 0; i < 30; i++) await call(`${server.url}/v1/chat/completions`, account.key, hello);
    await using console = await open({ at: '#/calls', heightPx: 500 });
    const { page } = console;
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('row').nth(30).waitFor();
    assert.equal(hashOf(page), '#/calls?pages=2');
    const last = page.getByRole('row').nth(28).getByRole('link').first();
    await last.scrollIntoViewIfNeeded();
    const scrolled = () => page.evaluate<number>('scrollY');
    const before = await scrolled();
    assert.ok(before > 500, `only ${before} px`);
    await last.click();
    await page.getByText('Provider model').or(page.getByText('Charge')).first().waitFor();
    assert.equal(await scrolled(), 0);
    await page.goBack();
    await page.waitForFunction(`Math.abs(scrollY - ${before}) < 2`);
    // A link or a reload shows as much.
    await page.reload();
    await page.getByRole('row').nth(30).waitFor();
    // Another filter starts at the first page.
    await page
      .getByRole('textbox', { name: 'Model' })
      .or(page.getByRole('combobox', { name: 'Model' }))
      .first()
      .click();
    await page.getByRole('option', { name: 'test-chat' }).click();
    await page.waitForURL((url) => !url.hash.includes('pages='));
  });

  it('choices of the quickstart, sorts and searches are in the address', async () => {
    await using console = await open({ at: '#/quickstart' });
    const { page } = console;
    await page.getByText('PowerShell').click();
    await page
      .getByRole('combobox', { name: 'Model' })
      .or(page.getByLabel('Model', { exact: true }))
      .first()
      .click();
    await page.getByRole('option', { name: 'test-messages' }).click();
    await page.waitForURL((url) => url.hash.includes('model=test-messages'));
    assert.match(hashOf(page), /system=powershell/);
    await page.reload();
    await page.getByRole('radio', { name: 'PowerShell', checked: true }).waitFor({ state: 'attached' });
    await console.go('#/operator/models');
    await page.getByRole('button', { name: 'Output', exact: true }).click();
    await page.getByRole('button', { name: /^Output/ }).click();
    await page.getByRole('searchbox', { name: 'Search' }).fill('test-c');
    await page.waitForURL((url) => url.hash.includes('search=test-c'));
    await page.reload();
    await page.getByRole('columnheader', { name: 'Output ↓' }).waitFor();
    assert.equal(await page.getByRole('row').filter({ hasText: 'test-messages' }).count(), 0);
  });

  it('the first page of operators has trends and the calls a minute, and an account has its chart', async () => {
    await using console = await open({ at: '#/operator' });
    const { page } = console;
    await page.getByRole('img', { name: 'Calls today, and the previous seven days' }).waitFor();
    await page.getByText('yesterday 0').first().waitFor();
    await page.getByRole('heading', { name: 'Calls a minute' }).waitFor();
    await console.assertAccessible();
    await console.go(`#/operator/accounts/${account.id}`);
    await page.getByRole('img', { name: /^Net charge by day and model/ }).waitFor();
    await page.getByRole('button', { name: 'Top up' }).click();
    await page.getByRole('dialog', { name: 'Top up' }).waitFor();
  });
});

describe('the first start', { skip: withoutBrowser, timeout: 120_000 }, () => {
  it('leads from step to step until there is a call', async () => {
    await using server = await startGateway();
    const ada = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    await using console = await openConsole(server, { person: ada, at: '#/operator' });
    const { page } = console;
    // The test's catalog has models, so an account is next.
    await page.getByRole('link', { name: 'Create an account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Name/).fill('first');
    await dialog.getByLabel('First top-up').fill('1');
    await dialog.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('heading', { name: 'first', level: 1 }).waitFor();
    await console.go('#/operator');
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'New key' }).click();
    const key = (await page.getByText(/^sk-fg-\w{20,}$/).textContent())!;
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
    await console.go('#/operator');
    await page.getByText('/v1/chat/completions').first().waitFor();
    await console.assertAccessible();
    assert.equal((await call(`${server.url}/v1/chat/completions`, key, hello)).status, 200);
    await page.getByText('Calls today').waitFor();
    assert.equal(await page.getByText('First steps').count(), 0);
  });
});
