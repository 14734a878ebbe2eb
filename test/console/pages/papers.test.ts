import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { createTestClock } from '../../support/clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { ask, createPerson, type TestPerson } from '../../support/people.ts';
import { until } from '../../support/until.ts';

/** Statements, receipts and invoices, and what people get by mail: links for forgotten passwords and invitations. */

const LOGO = join(tmpdir(), `paper-logo-${process.pid}.svg`);

describe('papers and mails', { skip: withoutBrowser }, () => {
  const clock = createTestClock(new Date().toISOString());
  let mails: MailServer;
  let server: TestGateway;
  let accountId: string;
  let owner: TestPerson;
  let operator: TestPerson;
  let receipt: string;
  before(async () => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="10" height="10" fill="teal"/></svg>';
    writeFileSync(LOGO, svg);
    mails = await startMailServer();
    server = await startGateway({
      clock,
      billing: `seller: { name: Acme Models, taxNumber: "91110000Y", address: "1 Mill Road", logo: ${LOGO} }`,
      noticeSettings: `mail: { smtp: { host: 127.0.0.1, port: ${mails.port}, tls: none }, from: gateway@example.com }`,
    });
    accountId = (await server.createAccount()).id;
    owner = await createPerson(server, { name: 'Ada', memberships: [{ accountId, role: 'owner' }] });
    operator = await createPerson(server, { name: 'Gus', operatorRole: 'operator' });
  });
  after(async () => {
    await server?.stop();
    await mails?.close();
    rmSync(LOGO);
  });

  it('an operator enters the reference of a top-up, and the owner the company; the receipt prints both', async () => {
    await using ofOperator = await openConsole(server, {
      person: operator,
      at: `#/operator/accounts/${accountId}?tab=money`,
    });
    const dialog = ofOperator.page.getByRole('dialog');
    await ofOperator.page.getByRole('button', { name: 'Top up' }).click();
    await dialog.getByLabel('Amount').fill('50');
    await dialog.getByLabel('Payment reference').fill('transfer 2026-0042');
    await dialog.getByRole('button', { name: /Top up/ }).click();
    await ofOperator.page.getByText('transfer 2026-0042').waitFor();

    await using console = await openConsole(server, { person: owner, at: '#/settings', theme: 'dark' });
    const { page } = console;
    await page.getByLabel('Company name').fill('Lantern Ltd');
    await page.getByLabel('Tax number').fill('91310000X');
    const form = page.locator('form', { has: page.getByLabel('Company name') });
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();

    await page.reload();
    await form.getByRole('button', { name: 'Save', disabled: true }).waitFor();

    await console.go('#/ledger?kind=top_up');
    await page.getByText('transfer 2026-0042').waitFor();
    await page
      .getByRole('link', { name: /^Receipt le_/ })
      .first()
      .click();
    await page.getByText('Lantern Ltd').waitFor();
    receipt = new URL(page.url()).hash.split('/').at(-1)!;
    await console.assertAccessible();
    await page.emulateMedia({ media: 'print' });
    const visible = (text: string) => page.getByText(text, { exact: true }).first().isVisible();
    for (const shown of ['Acme Models', 'Lantern Ltd', 'transfer 2026-0042', receipt]) {
      assert.equal(await visible(shown), true, shown);
    }
    assert.equal(await page.evaluate('document.querySelector(".paper img").naturalWidth > 0'), true);
    for (const hidden of ['header', 'nav', '.page-head']) {
      assert.equal(await page.locator(hidden).first().isVisible(), false, hidden);
    }
    // Dark on white, although the theme is dark.
    const colorOf = (name: string) =>
      page.evaluate<string>(`getComputedStyle(document.body).getPropertyValue('${name}')`);
    assert.equal(await colorOf('--mantine-color-text'), '#000');
    assert.equal(await page.evaluate('getComputedStyle(document.querySelector(".paper")).color'), 'rgb(0, 0, 0)');
    assert.ok((await page.pdf()).length > 1_000);
  });

  it('a statement prints who sells and who buys, in both languages', async () => {
    for (const [language, title] of [
      ['en', 'Seller'],
      ['zh', '销售方'],
    ] as const) {
      await using console = await openConsole(server, { person: owner, at: '#/ledger?tab=statement', language });
      const { page } = console;
      await page.getByText(title, { exact: true }).waitFor();
      await page.emulateMedia({ media: 'print' });
      assert.equal(await page.getByText('Acme Models').isVisible(), true);
      assert.equal(await page.locator('.no-print').first().isVisible(), false);
      // A4 is narrower than the width below which lists are cards on the screen.
      await page.setViewportSize({ width: 680, height: 960 });
      await page.locator('.paper table').first().waitFor();
    }
  });

  it('an owner requests an invoice, an operator sees it on Live and issues it', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/invoices' });
    const { page } = console;
    await page.getByRole('button', { name: 'Request an invoice' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Top-ups', { exact: true }).click();
    await dialog.getByLabel(/transfer 2026-0042/).check();
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Request an invoice' }).click();
    await page.getByText('1 top-up').waitFor();
    await console.assertAccessible();

    await using ofOperator = await openConsole(server, { person: operator, at: '#/operator' });
    await ofOperator.page.getByText('An account waits for an invoice').waitFor();
    await ofOperator.page.locator('main').getByRole('link', { name: 'Invoices' }).click();
    await ofOperator.page.getByRole('button', { name: 'Actions for Lantern Ltd' }).click();
    await ofOperator.page.getByRole('menuitem', { name: 'Issue' }).click();
    const closing = ofOperator.page.getByRole('dialog');
    await closing.getByText('91310000X').waitFor();
    await closing.getByLabel('Invoice number').fill('INV-2026-7');
    await ofOperator.assertAccessible();
    await closing.getByRole('button', { name: 'Issue' }).click();
    await ofOperator.page.getByText('Invoice issued.').waitFor();
    await ofOperator.page.getByText('No open requests').waitFor();

    await page.reload();
    await page.getByText('INV-2026-7').waitFor();
    // The top-up is not offered again.
    await page.getByRole('button', { name: 'Request an invoice' }).click();
    await dialog.getByText('Top-ups', { exact: true }).click();
    await dialog.getByRole('checkbox').first().waitFor();
    assert.equal(await dialog.getByText('transfer 2026-0042').count(), 0);
    await dialog.getByRole('button', { name: 'Request an invoice' }).click();
    await dialog.getByText('Choose at least one top-up.').waitFor();
  });

  it('a forgotten password is replaced with the link of a mail', async () => {
    const person = await createPerson(server, { name: 'Lin', memberships: [{ accountId, role: 'member' }] });
    await using console = await openConsole(server, { at: '#/' });
    const { page } = console;
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByLabel('E-mail address').fill(person.email);
    await console.assertAccessible();
    await page.getByRole('button', { name: 'Send a link' }).click();
    await page.getByText('a mail with a link is on its way').waitFor();
    const linkOf = () =>
      mails.received
        .filter(({ to, text }) => to[0] === person.email && text.includes('Subject: Reset'))
        .map(({ text }) => /http\S+token=[\w-]{43}/.exec(text.replaceAll('=\r\n', '').replaceAll('=3D', '='))![0])[0];
    await until(() => linkOf() !== undefined);
    await page.goto(linkOf()!);
    await page.getByText('Lin, choose a new password').waitFor();
    await page.getByLabel('New password').fill('another long password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.equal((await ask(server, 'GET', '/session', undefined, person.headers)).status, 401);
  });

  it('an invitation with an address is mailed, and says so', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/members' });
    const { page } = console;
    await page.getByRole('button', { name: 'Invite' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The link is sent there').waitFor();
    await dialog.getByLabel('E-mail address').fill('guest@people.example');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    await page.getByText('The link is being sent to guest@people.example.').waitFor();
    await until(() => mails.received.some(({ to }) => to[0] === 'guest@people.example'));
  });

  it('without a mail server, the sign-in page offers no reset', async () => {
    const silent = await startGateway();
    try {
      await using console = await openConsole(silent, { at: '#/' });
      const answered = console.page.waitForResponse(/password-resets/);
      await console.page.reload();
      await answered;
      await console.page.getByRole('button', { name: 'Sign in' }).waitFor();
      assert.equal(await console.page.getByText('Forgot password?').count(), 0);
    } finally {
      await silent.stop();
    }
  });
});
