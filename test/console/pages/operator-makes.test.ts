import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { plansText } from '../../conformance/plans.ts';
import { chooseAction, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

describe('what operators create', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let operator: TestPerson;

  before(async () => {
    server = await startGateway({ plans: plansText({ coder: { name: 'Coder' } }) });
    operator = await createPerson(server, { name: 'Olga', operatorRole: 'operator' });
  });
  after(async () => {
    await server?.stop();
  });

  it('a key is shown once, and is revoked', async () => {
    const { id } = await server.createAccount();
    await using console = await openConsole(server, { person: operator, at: `#/operator/accounts/${id}?tab=keys` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog.getByLabel(/^Name/).fill('ci');
    await dialog.getByLabel('A day', { exact: true }).fill('3');
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'New key' }).click();
    const key = await page.getByText(/^sk-fg-\w{20,}$/).textContent();
    assert.equal((await listModels(key!)).status, 200);
    const stored = (await server.admin('GET', `/accounts/${id}/keys`)).body.data;
    assert.equal(stored.find((each: { name: string }) => each.name === 'ci').dailySpendCapYuan, '3');
    await page.reload();
    const row = page.getByRole('row', { name: /ci/ });
    await row.getByText('¥3.00 a day').waitFor();
    await chooseAction(row, 'Revoke');
    assert.equal(await page.getByText(key!).count(), 0);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('revoked').waitFor();
    assert.equal((await listModels(key!)).status, 401);
  });

  it('a replacement key keeps the expiry, and its dialog closes only by its button', async () => {
    const { id } = await server.createAccount();
    const expiresAt = new Date(Date.now() + 90 * 86_400_000).toISOString();
    await server.admin('POST', `/accounts/${id}/keys`, { name: 'nightly', expiresAt });
    await using console = await openConsole(server, { person: operator, at: `#/operator/accounts/${id}?tab=keys` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await chooseAction(page.getByRole('row', { name: /nightly/ }), 'Replace');
    await dialog.getByRole('button', { name: 'Replace' }).click();
    const key = await dialog.getByText(/^sk-fg-\w{20,}$/).textContent();
    await page.keyboard.press('Escape');
    await dialog.getByText(key!).waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    const keys = (await server.admin('GET', `/accounts/${id}/keys`)).body.data;
    const made = keys.find(({ prefix }: { prefix: string }) => key!.startsWith(prefix.replace(/\W+$/, '')));
    assert.equal(made.expiresAt, expiresAt);
  });

  it('a plan is granted and cancelled', async () => {
    const { id } = await server.createAccount();
    await using console = await openConsole(server, { person: operator, at: `#/operator/accounts/${id}?tab=plan` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByText('No active plan').waitFor();
    await page.getByRole('button', { name: 'Grant a plan' }).click();
    await dialog.getByLabel(/^Plan/).selectOption('coder');
    await dialog.getByRole('button', { name: 'Grant a plan' }).click();
    await page.getByRole('heading', { name: 'Coder · usable' }).waitFor();
    await console.assertAccessible();
    await chooseAction(page, 'Cancel the plan');
    await dialog.getByRole('button', { name: 'Cancel the plan' }).click();
    await page.getByText('No active plan').waitFor();
  });

  it('an invitation link is shown once', async () => {
    const { id } = await server.createAccount();
    const at = `#/operator/accounts/${id}?tab=people`;
    await using console = await openConsole(server, { person: operator, at });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Invite a new user' }).click();
    await dialog.getByLabel(/^Name/).fill('Grace');
    await dialog.getByRole('button', { name: 'Invite a new user' }).click();
    await page.getByText(/#\/welcome\?token=/).waitFor();
    await page.getByRole('row', { name: /Grace/ }).waitFor();
    const members = (await server.admin('GET', `/accounts/${id}/members`)).body.data;
    assert.deepEqual(
      members.map((each: { name: string; role: string }) => [each.name, each.role]),
      [['Grace', 'owner']],
    );
    await console.assertAccessible();
  });

  it('voucher codes are shown once, and are cancelled', async () => {
    await using console = await openConsole(server, { person: operator, at: '#/operator/vouchers' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New batch' }).click();
    await dialog.getByLabel(/^Name/).fill('fair');
    await dialog.getByLabel(/^Amount/).fill('5.5');
    await dialog.getByLabel(/^Number of codes/).fill('2');
    await dialog.getByText('¥11.00').waitFor();
    await dialog.getByRole('button', { name: 'New batch' }).click();
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Save as CSV' }).click();
    const csv = await readDownload(await download);
    assert.match(
      csv,
      /^code,amountYuan,planId,expiresAt\r\n([\dA-Z]{5}-){3}[\dA-Z]{5},5\.5,,\r\n([\dA-Z-]{23}),5\.5,,\r\n$/,
    );
    const { id } = await server.createAccount({ balanceYuan: '0' });
    const code = csv.split('\r\n')[1]!.split(',')[0];
    assert.equal((await server.admin('POST', `/accounts/${id}/vouchers`, { code })).status, 201);
    await dialog.getByRole('button', { name: 'I have saved them' }).click();
    await page.reload();
    await page.getByText('1 of 2').waitFor();
    await console.assertAccessible();
    await chooseAction(page, 'Cancel');
    await dialog.getByRole('button', { name: 'Cancel' }).last().click();
    await page.getByText('canceled').waitFor();
  });

  it('an admin token is shown once, and is revoked', async () => {
    await using console = await openConsole(server, { person: operator, at: '#/operator/users?tab=tokens' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New token' }).click();
    await dialog.getByLabel(/^Name/).fill('exporter');
    await dialog.getByRole('button', { name: 'New token' }).click();
    const token = (await page.locator('code').first().textContent())!;
    const ask = () => fetch(`${server.url}/admin/v1/plans`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal((await ask()).status, 200);
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: /exporter/ })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('revoked').waitFor();
    assert.equal((await ask()).status, 401);
  });

  const listModels = (key: string) =>
    fetch(`${server.url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } });
});

async function readDownload(download: { createReadStream(): Promise<NodeJS.ReadableStream> }): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}
