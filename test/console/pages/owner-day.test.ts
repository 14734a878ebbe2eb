import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { plansText, subscribe } from '../../conformance/plans.ts';
import { type OpenConsole, openConsole, saveForm } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { linkIn, type MailServer, startMailServer } from '../../support/mail-server.ts';
import { ask, signIn } from '../../support/people.ts';
import { assertPrinted } from '../../support/printed.ts';
import { chatResponse } from '../../support/provider.ts';
import { sql } from '../../support/sql.ts';
import { until } from '../../support/until.ts';

/**
 * The first day of an account holder, in one session of a browser and in the dark theme: each test continues where the one before it
 * ended. The operator's day is in `operator-day.test.ts`.
 */

const LOGO = join(tmpdir(), `owner-logo-${process.pid}.svg`);
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="10" height="10" fill="teal"/></svg>';
const NEARLY_USED = /^name: laptop\r$[\s\S]*^percent: 80\r$/m;
const ADA = { email: 'ada@people.example', password: 'a long password of Ada' };

describe('on the first day, an account holder', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let mails: MailServer;
  let server: TestGateway;
  let account: TestAccount;
  let console: OpenConsole;
  before(async () => {
    writeFileSync(LOGO, SVG);
    mails = await startMailServer();
    server = await startGateway({
      plans: plansText({ starter: {} }),
      usageIntervalMs: 5,
      billing: `seller: { name: Acme Models, taxNumber: "91110000Y", address: "1 Mill Road", logo: ${LOGO} }`,
      noticeSettings: `mail: { smtp: { host: 127.0.0.1, port: ${mails.port}, tls: none }, from: gateway@example.com }`,
    });
    server.provider.respond = chatResponse();
    account = await server.createAccount();
    await subscribe(server, account, 'starter');
    const topUp = { amountYuan: '50', reference: 'transfer 2026-0042' };
    await server.admin('POST', `/accounts/${account.id}/top-ups`, topUp, { 'idempotency-key': 'transfer' });
    const memberships = [{ accountId: account.id, role: 'owner' }];
    const authorization = `Bearer ${server.localToken}`;
    const invited = { name: 'Ada', email: ADA.email, memberships };
    const made = await server.admin('POST', '/users', invited, { authorization });
    assert.equal(made.body.linkMailedTo, ADA.email);
  });
  after(async () => {
    await console?.[Symbol.asyncDispose]();
    await server?.stop();
    await mails?.close();
    rmSync(LOGO);
  });

  /** Waits for a mail to Ada; returns the one-time link in it. */
  async function linkOf(subject: string): Promise<string> {
    const found = () =>
      mails.received.find(({ to, text }) => to[0] === ADA.email && text.includes(`Subject: ${subject}`));
    await until(() => found() !== undefined);
    return linkIn(found()!);
  }

  async function signOut(): Promise<void> {
    const { page } = console;
    await page.getByRole('button', { name: 'You' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  }

  it('follows the link of an invitation, and signs in again with the new password', async () => {
    const link = await linkOf('Set your password');
    console = await openConsole(server, { at: new URL(link).hash, theme: 'dark' });
    const { page } = console;
    await page.getByText('Ada, choose a password').waitFor();
    assert.equal(new URL(page.url()).hash, '#/welcome');
    await console.assertAccessible();
    await page.getByLabel('New password').fill(ADA.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await signOut();
    await console.go(new URL(link).hash);
    await page.getByText('This link is not valid').waitFor();
    await page.goto(`${server.url}/console`);
    await page.getByLabel('E-mail address or name').fill(ADA.email);
    await page.getByLabel(/^Password/).fill(ADA.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('makes a test call in the quickstart and sees its cost', async () => {
    const { page } = console;
    await console.go('#/quickstart');
    await page.getByRole('button', { name: 'Create a trial key' }).click();
    await page.getByText('A trial key is in use').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Cost:').waitFor();
    const { chargeYuan } = await account.endedCall();
    await page.getByText(`: ¥${chargeYuan}`).waitFor();
    const { body } = await server.admin('GET', `/accounts/${account.id}/keys`);
    const made = body.data.find(({ name }: { name: string }) => name === 'Console trial');
    assert.deepEqual([made.totalSpendCapYuan, made.scopes], ['1', ['calls']]);
    await console.assertAccessible();
    const shown = (): Promise<string> => page.getByRole('main').innerText();
    const key = await page.getByLabel('API key').inputValue();
    assert.ok((await shown()).includes(key));
    await page.getByRole('combobox', { name: 'Client' }).click();
    await page.getByRole('option', { name: 'Zed' }).click();
    await page.getByText('These settings outlive the trial key').waitFor();
    await page.getByText('Windows: cmd').click();
    await page.getByText('setx FAREGATE_API_KEY').waitFor();
    assert.ok(!(await shown()).includes(key));
    await page.getByRole('combobox', { name: 'Client' }).click();
    await page.getByRole('option', { name: 'Cline' }).click();
    await page.getByText('Checked on').waitFor();
    await console.assertAccessible();
  });

  it('opens the playground from the row of a model, and sees tokens and charge of each turn', async () => {
    const { page } = console;
    const say = async (message: string) => {
      await page.getByLabel('Your message').fill(message);
      await page.keyboard.press('Enter');
    };
    await console.go('#/models');
    await page.getByRole('link', { name: 'Try test-chat' }).click();
    await page.getByRole('heading', { name: 'Playground' }).waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Model' }).inputValue(), 'test-chat');
    await page.getByText('A trial key is in use').waitFor();
    await page.getByLabel('System text').fill('Be short.');
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('Output limit').fill('50');
    await say('First');
    await page.getByText('Hello there').waitFor();
    const first = await account.endedCall(2);
    await page.getByText(`: ¥${first.chargeYuan}`).waitFor();
    await page.getByText('11 tokens in, 7 out').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Call details' }).getAttribute('href'), `#/calls/${first.id}`);
    await say('Second');
    await page.getByRole('group', { name: 'Response' }).nth(1).waitFor();
    await account.endedCall(3);
    const sent = JSON.parse(server.provider.requests.at(-1)!.body.toString());
    assert.deepEqual(sent.messages, [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'First' },
      { role: 'assistant', content: 'Hello there' },
      { role: 'user', content: 'Second' },
    ]);
    assert.deepEqual([sent.max_tokens, sent.temperature], [50, 0.5]);
    await console.assertAccessible();
    const written = await page.getByRole('region', { name: 'curl' }).innerText();
    assert.ok(written.includes('Bearer $FAREGATE_KEY') && written.includes('"Second"'));
    await page.getByText('Python', { exact: true }).click();
    await page.getByText('import os').waitFor();
    const stored = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    assert.doesNotMatch(stored, /sk-|First/);
    await page.getByRole('button', { name: 'New conversation' }).click();
    assert.equal(await page.getByText('Hello there').count(), 0);
  });

  it('creates a key with a budget, calls with an SDK, is notified at 80 %, and revokes the key', async () => {
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await console.go('#/keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await dialog.getByLabel('Name').fill('laptop');
    await dialog.getByRole('button', { name: 'More', exact: false }).click();
    // A call costs ¥0.000124.
    await dialog.getByLabel('A day', { exact: true }).fill('0.00015');
    await dialog.getByRole('button', { name: 'Create a key' }).click();
    const apiKey = await dialog.locator('code').innerText();
    await page.getByRole('button', { name: 'Done' }).click();

    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
    const messages = [{ role: 'user', content: 'Hello!' }] as const;
    const stream = () => client.chat.completions.create({ model: 'test-chat', messages: [...messages], stream: true });
    let text = '';
    for await (const chunk of await stream()) text += chunk.choices[0]?.delta?.content ?? '';
    assert.equal(text, 'Hello there');
    const { chargeYuan } = await account.endedCall(4);
    await until(async () => {
      await server.gateway.notices.settle();
      return mails.received.some(({ to, text }) => to[0] === ADA.email && NEARLY_USED.test(text));
    });
    await console.go('#/');
    await page.getByText('A budget is nearly used').waitFor();
    await page.getByText(/^API key laptop: ¥\S+ of ¥\S+ used today\./).waitFor();
    await console.go('#/calls');
    const row = page.getByRole('row').filter({ hasText: 'laptop' });
    await row.getByText('succeeded').waitFor();
    await row.getByRole('link').click();
    const charge = page.getByRole('row', { name: /^Charge/ });
    await charge.getByText(`¥${chargeYuan}`).waitFor();
    await console.assertAccessible();

    await console.go('#/keys');
    await page.getByRole('button', { name: 'Actions for laptop' }).click();
    await page.getByRole('menuitem', { name: 'Revoke', exact: true }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.waitFor({ state: 'detached' });
    await assert.rejects(stream(), (error: { status?: number }) => error.status === 401);
  });

  it('chooses what is recorded of callers, filters calls by tag, and sums usage by it', async () => {
    const { page } = console;
    const send = async (user: string, tags: string): Promise<string> => {
      const headers = { 'x-faregate-tags': tags, 'user-agent': 'tester/1.0 (a computer)' };
      const body = { model: 'test-chat', messages: [], user };
      const response = await call(`${server.url}/v1/chat/completions`, account.key, body, { headers });
      assert.equal(response.status, 200);
      return String(response.headers['x-faregate-call-id']);
    };
    await console.go('#/settings');
    const endUser = page.getByRole('switch', { name: 'End user' });
    await endUser.click();
    await page.getByRole('switch', { name: 'Program' }).click();
    await saveForm(page, page.locator('form').filter({ has: endUser }));
    await console.assertAccessible();
    const { body } = await server.admin('GET', `/accounts/${account.id}`);
    assert.deepEqual(body.recording, { clientAddress: false, program: true, endUser: true });

    const ofAnn = await send('ann', 'red, batch');
    await send('bob', 'batch');
    await console.go('#/calls');
    const rows = page.getByRole('table').locator('tbody tr');
    await until(async () => (await rows.count()) === 6);
    await page.getByLabel('Tag', { exact: true }).fill('red');
    await page.getByLabel('Tag', { exact: true }).press('Enter');
    await until(async () => (await rows.count()) === 1);
    await console.assertAccessible();
    await console.go(`#/calls/${ofAnn}`);
    for (const shown of ['ann', 'red, batch', 'tester/1.0']) await page.getByText(shown, { exact: true }).waitFor();
    assert.equal(await page.getByText('Client address').count(), 0);
    await console.assertAccessible();

    const queued = 'select count(*) as n from usage_queue';
    await until(async () => (await sql<{ n: bigint }>(server.database, queued))[0]!.n === 0n);
    await console.go('#/usage?by=tag');
    const figures = page.getByLabel('Figures').getByRole('table');
    await figures.getByRole('row', { name: /^red 1 / }).waitFor();
    await figures.getByRole('row', { name: /^batch 2 / }).waitFor();
    await console.go('#/usage?by=endUser');
    await figures.getByRole('row', { name: /^bob 1 / }).waitFor();
  });

  it('enters the company, and prints a receipt and a statement with seller and buyer', async () => {
    const { page } = console;
    await console.go('#/settings');
    await page.getByLabel('Company name').fill('Lantern Ltd');
    await page.getByLabel('Tax number').fill('91310000X');
    const form = page.locator('form', { has: page.getByLabel('Company name') });
    await saveForm(page, form);
    await page.getByText('Saved.').first().waitFor();
    await page.reload();
    await form.getByRole('button', { name: 'Save', disabled: true }).waitFor();

    await console.go('#/ledger?kind=top_up');
    const topUp = page.getByRole('row').filter({ hasText: 'transfer 2026-0042' });
    await topUp.getByRole('link', { name: /^Receipt le_/ }).click();
    await page.getByText('Lantern Ltd').waitFor();
    const receipt = new URL(page.url()).hash.split('/').at(-1)!;
    await console.assertAccessible();
    await assertPrinted(page, ['Acme Models', 'Lantern Ltd', 'transfer 2026-0042', receipt], false);
    assert.equal(await page.evaluate('document.querySelector(".paper img").naturalWidth > 0'), true);

    await console.go('#/ledger?tab=statement');
    const { balanceNano } = await account.money();
    const balance = `¥${balanceNano / 1_000_000_000n}.${String((balanceNano / 10_000_000n) % 100n).padStart(2, '0')}`;
    await page.getByText('Closing balance').waitFor();
    await page.getByText(balance).first().waitFor();
    await console.assertAccessible();
    await page.getByText('Seller', { exact: true }).waitFor();
    await assertPrinted(page, ['Acme Models'], true);
    const person = { headers: await signIn(server, ADA) };
    await using chinese = await openConsole(server, { person, at: '#/ledger?tab=statement', language: 'zh' });
    await chinese.page.getByText('销售方', { exact: true }).waitFor();
  });

  it('requests an invoice, and sees its number once it is issued', async () => {
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const request = async () => {
      await page.getByRole('button', { name: 'Request an invoice' }).click();
      await dialog.getByText('Top-ups', { exact: true }).click();
    };
    await console.go('#/invoices');
    await request();
    await dialog.getByLabel(/transfer 2026-0042/).check();
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Request an invoice' }).click();
    await page.getByText('1 top-up').waitFor();
    await console.assertAccessible();
    const { body } = await server.admin('GET', '/invoice-requests?state=open');
    const issue = { invoiceNumber: 'INV-2026-7' };
    const issued = await server.admin('POST', `/invoice-requests/${body.data[0].id}/issue`, issue);
    assert.equal(issued.status, 200, JSON.stringify(issued.body));
    await page.reload();
    await page.getByText('INV-2026-7').waitFor();
    // The top-up is not offered again.
    await request();
    await dialog.getByRole('checkbox').first().waitFor();
    assert.equal(await dialog.getByText('transfer 2026-0042').count(), 0);
    await dialog.getByRole('button', { name: 'Request an invoice' }).click();
    await dialog.getByText('Choose at least one top-up.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('invites a colleague, to whom the link is mailed', async () => {
    const { page } = console;
    await console.go('#/members');
    await page.getByRole('button', { name: 'Invite' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The link is sent there').waitFor();
    await dialog.getByLabel('E-mail address').fill('guest@people.example');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    await page.getByText('The link is being sent to guest@people.example.').waitFor();
    await until(() => mails.received.some(({ to }) => to[0] === 'guest@people.example'));
  });

  it('forgets the password, and replaces it with the link of a mail', async () => {
    const elsewhere = await signIn(server, ADA);
    const { page } = console;
    await page.goto(`${server.url}/console#/`);
    await page.reload();
    await signOut();
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByLabel('E-mail address').fill(ADA.email);
    await console.assertAccessible();
    await page.getByRole('button', { name: 'Send a link' }).click();
    await page.getByText('a mail with a link is on its way').waitFor();
    await page.goto(await linkOf('Reset'));
    await page.getByText('Ada, choose a new password').waitFor();
    await page.getByLabel('New password').fill('another long password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.equal((await ask(server, 'GET', '/session', undefined, elsewhere)).status, 401);
  });
});
