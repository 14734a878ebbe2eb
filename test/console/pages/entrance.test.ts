import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

describe('the console before and after sign-in', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let owner: TestPerson;
  let accountId: string;

  before(async () => {
    server = await startGateway();
    accountId = (await server.createAccount()).id;
    owner = await createPerson(server, { name: 'Ada', memberships: [{ accountId, role: 'owner' }] });
  });
  after(async () => {
    await server?.stop();
  });

  it('signs in with a password and opens the requested page', async () => {
    await using console = await openConsole(server, { at: '#/keys' });
    const { page } = console;
    await page.getByLabel('E-mail address or name').fill(owner.email);
    await page.getByLabel(/^Password/).fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await console.assertAccessible();
    await page.getByLabel(/^Password/).fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/keys');
  });

  it('excludes the closed menu from keyboard focus on a phone, and moves focus after navigation', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/keys', widthPx: 390 });
    const { page } = console;
    const link = page.getByRole('link', { name: 'Vouchers' });
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press('Tab');
      assert.equal(await page.locator('nav :focus').count(), 0);
    }
    await page.getByRole('button', { name: 'Menu' }).click();
    await link.click();
    await page.getByRole('heading', { level: 1, name: 'Vouchers' }).waitFor();
    await page.locator('nav[inert]').waitFor({ state: 'attached' });
    await page.locator('main:focus').waitFor();
  });

  it('shows the sign-in page with an error from the address', async () => {
    for (const error of ['denied', '__proto__', 'constructor', 'no such error']) {
      await using console = await openConsole(server, { at: `#/sign-in?error=${error}` });
      await console.page.getByRole('alert').waitFor();
      await console.page.getByRole('button', { name: 'Sign in' }).waitFor();
    }
  });

  it('uses a supported language, whatever the browser has stored', async () => {
    await using console = await openConsole(server, { at: '#/' });
    await console.page.evaluate(() => localStorage.setItem('faregate.language', 'toString'));
    await console.page.reload();
    await console.page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('shows "not found" for a malformed address', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/calls/%' });
    await console.page.getByText('There is no such page').waitFor();
  });

  it('signs out and shows nothing that was read before', async () => {
    const person = await createPerson(server, { memberships: [{ accountId, role: 'owner' }] });
    await using console = await openConsole(server, { person });
    const { page } = console;
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('button', { name: 'You' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('reports a session that was ended elsewhere, and returns to the page after sign-in', async () => {
    const person = await createPerson(server, { memberships: [{ accountId, role: 'owner' }] });
    await using console = await openConsole(server, { person });
    const { page } = console;
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await server.admin('DELETE', `/users/${person.id}/sessions`);
    await console.go('#/calls?status=failed');
    await page.getByText('Your session has ended').waitFor();
    await console.assertAccessible();
    await page.getByLabel('E-mail address or name').fill(person.email);
    await page.getByLabel(/^Password/).fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Sign-in failed').waitFor();
    assert.ok(await page.getByText('Your session has ended').isVisible());
    await page.getByLabel(/^Password/).fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/calls?status=failed');
  });

  it('loads a page once the gateway is available again', async () => {
    await using console = await openConsole(server, { person: owner, isNew: true });
    const { page, context } = console;
    await page.getByText('No calls yet').waitFor();
    await context.setOffline(true);
    await console.go('#/vouchers');
    await page.getByText('The gateway is unreachable').waitFor();
    await context.setOffline(false);
    await page.getByRole('heading', { level: 1, name: 'Vouchers' }).waitFor();
  });

  it('collapses menu groups and keeps the current page visible', async () => {
    const memberships = [{ accountId, role: 'owner' }] as const;
    const operator = await createPerson(server, { operatorRole: 'operator', memberships });
    await using console = await openConsole(server, { person: operator, at: '#/operator/changes' });
    const { page } = console;
    const current = page.getByRole('link', { name: 'Audit log' });
    await current.waitFor();
    const box = await current.boundingBox();
    assert.ok(box !== null && box.y >= 0 && box.y + box.height <= 900);
    await page.getByRole('button', { name: 'Gateway', expanded: true }).click();
    await page.getByRole('link', { name: 'Audit', exact: true }).waitFor({ state: 'detached' });
    await current.waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Gateway', expanded: false }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Audit', exact: true }).count(), 0);
  });

  it('shows no data of a previous user, even if that session has just ended', async () => {
    const memberships = [{ accountId, role: 'owner' }] as const;
    const first = await createPerson(server, { memberships });
    const second = await createPerson(server, { memberships });
    await using console = await openConsole(server, { person: first });
    const { page } = console;
    await page.getByText('Spent today').waitFor();
    await server.admin('DELETE', `/users/${first.id}/sessions`);
    await console.go('#/keys');
    await page.getByLabel('E-mail address or name').fill(second.email);
    await page.getByLabel(/^Password/).fill(second.password);
    // From here on only the sign-in gets a response.
    await page.route(/\/account\/v1\/(?!sessions?$)/, (route) => route.abort());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await console.go('#/');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.equal(await page.getByText('Spent today').count(), 0);
  });

  it("uses the browser's language or the chosen one, and remembers the choice", async () => {
    await using console = await openConsole(server, { person: owner, language: 'zh', theme: 'dark' });
    const { page } = console;
    await page.getByRole('link', { name: '概览' }).waitFor();
    assert.equal(await page.evaluate('document.documentElement.lang'), 'zh-CN');
    await page.getByRole('button', { name: '语言' }).click();
    await page.getByRole('menuitem', { name: 'English' }).click();
    await page.getByRole('link', { name: 'Overview' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Overview' }).waitFor();
  });

  it('shows pages only to users who may open them', async () => {
    const member = await createPerson(server, { memberships: [{ accountId, role: 'member' }] });
    await using console = await openConsole(server, { person: member, at: '#/ledger' });
    await console.page.getByText('There is no such page').waitFor();
    await console.go('#/operator/accounts');
    await console.page.getByText('There is no such page').waitFor();
    assert.equal(await console.page.getByRole('link', { name: 'Ledger and statements' }).count(), 0);
  });

  it('offers no reset of a password without a mail server', async () => {
    await using console = await openConsole(server, { at: '#/' });
    const answered = console.page.waitForResponse(/password-resets/);
    await console.page.reload();
    await answered;
    await console.page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(await console.page.getByText('Forgot password?').count(), 0);
  });
});
