import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { plansText } from '../../conformance/plans.ts';
import { type ConsoleOptions, chooseAction, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/until.ts';

/** The tasks of `docs/operations` that no other test does by the console alone (`test/docs/operations-in-console.test.ts`). */
describe('operators', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let server: TestGateway;
  let operator: TestPerson;
  let account: TestAccount;

  before(async () => {
    server = await startGateway({
      plans: plansText({ coder: { name: 'Coder' } }),
      noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }',
      usageIntervalMs: 10,
    });
    operator = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    account = await server.createAccount();
  });
  after(async () => {
    await server?.stop();
  });

  const open = (options: ConsoleOptions) => openConsole(server, { person: operator, ...options });
  const ofAccount = (tab: string): string => `#/operator/accounts/${account.id}?tab=${tab}`;
  const read = async (path: string) => (await server.admin('GET', path)).body;

  it('rename a key', async () => {
    await using console = await open({ at: ofAccount('keys') });
    const { page } = console;
    await chooseAction(page, 'Rename');
    await page.getByRole('dialog').getByLabel(/^Name/).fill('build server');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('row', { name: /build server/ }).waitFor();
  });

  it('renew a plan', async () => {
    await server.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'coder' });
    const subscription = async () => (await read(`/accounts/${account.id}/subscriptions`)).data[0];
    const { endsAt } = await subscription();
    await using console = await open({ at: ofAccount('plan') });
    const { page } = console;
    await chooseAction(page, 'Renew');
    await page.getByRole('dialog').getByRole('button', { name: 'Renew' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.ok((await subscription()).endsAt > endsAt);
  });

  it('notify of a low balance, at an endpoint of operators', async (test) => {
    const receiver = await startReceiver();
    test.after(() => receiver.close());
    await using console = await open({ at: ofAccount('summary') });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Edit low balance' }).click();
    await dialog.getByLabel(/^Low balance/).fill('12.5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('below ¥12.50').waitFor();
    await console.go('#/operator/notices');
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await dialog.getByLabel('Address').fill(receiver.url);
    await dialog.getByRole('button', { name: 'Add an endpoint' }).click();
    await dialog.getByText(/^whsec_/).waitFor();
  });

  it('show who redeemed the vouchers of a batch', async () => {
    const batch = { name: 'fair', count: 2, amountYuan: '5' };
    const made = await server.admin('POST', '/vouchers', batch, { 'idempotency-key': 'fair' });
    await server.admin('POST', `/accounts/${account.id}/vouchers`, { code: made.body.codes[0] });
    await using console = await open({ at: '#/operator/vouchers' });
    const { page } = console;
    await chooseAction(page, 'Redemptions');
    const redemption = page
      .getByRole('dialog')
      .getByRole('row')
      .filter({ hasText: made.body.codes[0].slice(-4) });
    await redemption.getByRole('link').waitFor();
    await console.assertAccessible();
  });

  it('find who spent most, and limit the key', async () => {
    const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
    assert.equal((await call(`${server.url}/v1/chat/completions`, account.key, hello)).status, 200);
    await until(async () => (await read('/usage?groupBy=account')).data.length === 1);
    await using console = await open({ at: '#/operator/usage?by=account' });
    const { page } = console;
    await page.getByRole('region', { name: 'Sums' }).getByRole('link').first().click();
    await page.getByRole('tab', { name: 'API keys' }).click();
    await chooseAction(page, 'Change limits');
    await page.getByRole('dialog').getByLabel('A day', { exact: true }).fill('5');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('¥5.00 a day').waitFor();
  });

  it('show the statement of an account', async () => {
    await using console = await open({ at: ofAccount('statement') });
    const { page } = console;
    await page.getByText('Closing balance').waitFor();
    await page.getByRole('button', { name: 'Print' }).waitFor();
    await console.assertAccessible();
  });

  it('show the configuration, and the calls of all nodes', async () => {
    await using console = await open({ at: '#/operator/config' });
    const { page } = console;
    await page.getByRole('searchbox', { name: 'Search' }).fill('retention');
    await page.getByText(/^ *retention:/).waitFor();
    await console.go('#/operator');
    await page.getByText('Calls in flight').first().waitFor();
  });
});
