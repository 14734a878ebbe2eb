import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConsole, saveForm } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { sql } from '../../support/sql.ts';
import { until } from '../../support/until.ts';

/** Who made a call, on the pages of accounts and operators (docs/callers.md). */

describe('who made a call, in the console', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  let owner: TestPerson;
  let operator: TestPerson;

  before(async () => {
    g = await startGateway({ usageIntervalMs: 5 });
    account = await g.createAccount();
    owner = await createPerson(g, { name: 'Ada', memberships: [{ accountId: account.id, role: 'owner' }] });
    operator = await createPerson(g, { name: 'Op', operatorRole: 'operator' });
  });
  after(() => g?.stop());

  async function send(user: string, tags: string): Promise<string> {
    const body = { model: 'test-chat', messages: [], user };
    const headers = { 'x-faregate-tags': tags, 'user-agent': 'tester/1.0 (a computer)' };
    const response = await call(`${g.url}/v1/chat/completions`, account.key, body, { headers });
    assert.equal(response.status, 200);
    return String(response.headers['x-faregate-call-id']);
  }

  it('an owner chooses what is recorded, filters calls, and groups usage by it', async () => {
    await using console = await openConsole(g, { person: owner, at: '#/settings' });
    const { page } = console;
    const endUser = page.getByRole('switch', { name: 'End user' });
    const form = page.locator('form').filter({ has: endUser });
    await endUser.click();
    await page.getByRole('switch', { name: 'Program' }).click();
    await saveForm(page, form);
    await console.assertAccessible();
    const { body } = await g.admin('GET', `/accounts/${account.id}`);
    assert.deepEqual(body.recording, { clientAddress: false, program: true, endUser: true });

    const ofAnn = await send('ann', 'red, batch');
    await send('bob', 'batch');
    await console.go('#/calls');
    const rows = page.getByRole('table').locator('tbody tr');
    await until(async () => (await rows.count()) === 2);
    await page.getByLabel('Tag', { exact: true }).fill('red');
    await page.getByLabel('Tag', { exact: true }).press('Enter');
    await until(async () => (await rows.count()) === 1);
    await console.assertAccessible();
    await console.go(`#/calls/${ofAnn}`);
    for (const shown of ['ann', 'red, batch', 'tester/1.0']) await page.getByText(shown, { exact: true }).waitFor();
    assert.equal(await page.getByText('Client address').count(), 0);
    await console.assertAccessible();

    await until(
      async () => (await sql<{ n: bigint }>(g.database, 'select count(*) as n from usage_queue'))[0]!.n === 0n,
    );
    await console.go('#/usage?by=tag');
    const figures = page.getByLabel('Figures').getByRole('table');
    await figures.getByRole('row', { name: /^red 1 / }).waitFor();
    await figures.getByRole('row', { name: /^batch 2 / }).waitFor();
    await console.go('#/usage?by=endUser');
    await figures.getByRole('row', { name: /^bob 1 / }).waitFor();
  });

  it('an operator does the same for every account', async () => {
    await send('eve', 'night');
    await using console = await openConsole(g, { person: operator, at: `#/operator/accounts/${account.id}` });
    const { page } = console;
    await page.getByText('End user, Program', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Edit what is recorded about callers' }).click();
    await page.getByRole('dialog').getByRole('switch', { name: 'Client address' }).click();
    await console.assertAccessible();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('End user, Program, Client address', { exact: true }).waitFor();
    await send('eve', 'day');
    await console.go('#/operator/calls?endUser=eve&clientAddress=127.0.0.1');
    const rows = page.getByRole('table').locator('tbody tr');
    await until(async () => (await rows.count()) === 1);
    await console.assertAccessible();
    await console.go('#/operator/usage?by=program');
    await page.getByRole('row', { name: /^tester\/1\.0 / }).waitFor();
  });
});
