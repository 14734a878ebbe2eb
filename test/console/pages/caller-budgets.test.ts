import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

/** Budgets of end users and tags, on the pages of accounts and operators (docs/limits.md). */

describe('budgets of end users and tags, in the console', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  let owner: TestPerson;
  let operator: TestPerson;

  before(async () => {
    g = await startGateway({ usageIntervalMs: 5 });
    account = await g.createAccount();
    await g.admin('PATCH', `/accounts/${account.id}`, { recording: { endUser: true } });
    owner = await createPerson(g, { name: 'Ada', memberships: [{ accountId: account.id, role: 'owner' }] });
    operator = await createPerson(g, { name: 'Op', operatorRole: 'operator' });
  });
  after(() => g?.stop());

  async function send(user: string, tags: string): Promise<void> {
    const body = { model: 'test-chat', messages: [], user };
    const headers = { 'x-faregate-tags': tags };
    const response = await call(`${g.url}/v1/chat/completions`, account.key, body, { headers });
    assert.equal(response.status, 200);
  }

  it('an owner sets budgets of end users and tags, and sees what is used and left', async () => {
    await using console = await openConsole(g, { person: owner, at: '#/settings' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    async function set(kind: string, name: string, daily: string): Promise<void> {
      await page.getByRole('button', { name: 'Set a budget' }).click();
      await dialog.getByLabel('For', { exact: true }).selectOption({ label: kind });
      await dialog.getByLabel('Name').fill(name);
      await dialog.getByLabel('A day').fill(daily);
      await console.assertAccessible();
      await dialog.getByRole('button', { name: 'Set a budget' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
    await set('End users', '', '5');
    await set('Tags', 'red', '0.0001');
    await send('ann', 'red');
    await console.go('#/');
    await page.getByText('Tag red: ', { exact: false }).waitFor();
    await console.go('#/settings');
    // The list of a few seconds ago is shown again without a request.
    await page.reload();
    const table = page.getByLabel('Budgets of end users and tags').getByRole('table');
    for (const name of [
      /^Every end user .*¥5[.0]* a day.*¥0[.0]* a day.*¥5[.0]* a day/,
      /^Tag red.*¥0\.0001 a day.*¥0\.000\d+ a day.*¥0[.0]* a day/,
      /^End user ann.*by default.*¥5[.0]* a day.*¥0\.000\d+ a day.*¥(?:5[.0]*|4\.99\d*) a day/,
    ]) {
      await table.getByRole('row', { name }).waitFor();
    }
    await console.assertAccessible();

    await using ofOperator = await openConsole(g, { person: operator, at: `#/operator/accounts/${account.id}` });
    const rows = ofOperator.page.getByLabel('Budgets of end users and tags').getByRole('table');
    await rows
      .getByRole('row', { name: /^Tag red/ })
      .getByRole('button', { name: 'Change' })
      .click();
    const change = ofOperator.page.getByRole('dialog');
    await change.getByLabel('A day').fill('');
    await change.getByRole('button', { name: 'Set a budget' }).click();
    await rows.getByRole('row', { name: /^Tag red/ }).waitFor({ state: 'detached' });
    await ofOperator.assertAccessible();
  });
});
