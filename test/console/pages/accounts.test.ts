import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { plansText } from '../../conformance/plans.ts';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

describe('the account pages of operators', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let operator: TestPerson;
  let auditor: TestPerson;

  before(async () => {
    server = await startGateway({ plans: plansText({ coder: { name: 'Coder' } }) });
    operator = await createPerson(server, { name: 'Olga', operatorRole: 'operator' });
    auditor = await createPerson(server, { name: 'Aude', operatorRole: 'auditor' });
  });
  after(async () => {
    await server?.stop();
  });

  const balanceOf = async (id: string) => (await server.admin('GET', `/accounts/${id}`)).body.balanceYuan;

  it('create an account and find it by name', async () => {
    await using console = await openConsole(server, { person: operator, at: '#/operator/accounts' });
    const { page } = console;
    await page.getByRole('button', { name: 'New account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Name/).fill('Orchard');
    await dialog.getByLabel('First top-up').fill('12.5');
    await dialog.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('heading', { level: 1, name: 'Orchard' }).waitFor();
    await console.assertAccessible();
    await console.go('#/operator/accounts?search=orch');
    await page.getByRole('link', { name: 'Orchard' }).waitFor();
    const { body } = await server.admin('GET', '/accounts?search=orch');
    assert.deepEqual(
      body.data.map((each: { name: string; balanceYuan: string }) => [each.name, each.balanceYuan]),
      [['Orchard', '12.5']],
    );
    await console.assertAccessible();
  });

  it('show the summary if the address names an unknown tab', async () => {
    const { id } = await server.createAccount();
    for (const tab of ['toString', '__proto__', 'no such tab']) {
      await using console = await openConsole(server, {
        person: auditor,
        at: `#/operator/accounts/${id}?tab=${tab}`,
      });
      await console.page.getByRole('tab', { name: 'Summary', selected: true }).waitFor();
    }
  });

  it('show the resulting balance before a top-up, and add exactly that amount', async () => {
    const { id } = await server.createAccount({ balanceYuan: '0.1' });
    await using console = await openConsole(server, { person: operator, at: `#/operator/accounts/${id}?tab=money` });
    const { page } = console;
    await page.getByRole('button', { name: 'Top up' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Amount/).fill('0.200000001');
    await dialog.getByText('¥0.300000001').waitFor();
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Top up ¥0.200000001' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('cell', { name: '¥0.300000001' }).waitFor();
    assert.equal(await balanceOf(id), '0.300000001');
    await page.getByRole('button', { name: 'Adjust' }).click();
    await dialog.getByLabel(/^Amount/).fill('-0.1');
    await dialog.getByLabel(/^Memo/).fill('typed twice');
    await dialog.getByRole('button', { name: 'Adjust by −¥0.10' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('cell', { name: 'typed twice' }).waitFor();
    assert.equal(await balanceOf(id), '0.200000001');
  });

  it('suspend with a reason, and reactivate', async () => {
    const { id } = await server.createAccount();
    await using console = await openConsole(server, { person: operator, at: `#/operator/accounts/${id}` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Suspend' }).click();
    await dialog.getByLabel(/^Reason/).fill('chargeback');
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('chargeback').waitFor();
    assert.equal((await server.admin('GET', `/accounts/${id}`)).body.status, 'suspended');
    await page.getByRole('button', { name: 'Reactivate' }).click();
    await dialog.getByRole('button', { name: 'Reactivate' }).click();
    await page.getByRole('button', { name: 'Suspend' }).waitFor();
    assert.equal((await server.admin('GET', `/accounts/${id}`)).body.status, 'active');
  });

  it('show auditors every page without buttons that change something', async () => {
    const { id } = await server.createAccount();
    await server.admin('POST', `/accounts/${id}/subscriptions`, { planId: 'coder' });
    const tabs = ['summary', 'money', 'keys', 'plan', 'people', 'statement'];
    const places = [
      '#/operator/accounts',
      ...tabs.map((tab) => `#/operator/accounts/${id}?tab=${tab}`),
      '#/operator/vouchers',
      '#/operator/invoices',
      '#/operator/users',
      '#/operator/users?tab=tokens',
      '#/operator/plans',
    ];
    for (const at of places) {
      await using console = await openConsole(server, { person: auditor, at });
      await console.page.locator('main h1').waitFor();
      await console.page.getByText('Loading…').first().waitFor({ state: 'detached' });
      assert.deepEqual(await changingButtons(console.page), [], at);
    }
  });
});

/** Buttons that change something: without tabs, amounts, and buttons that only show or save. */
async function changingButtons(page: Page): Promise<string[]> {
  const names = await page.locator('main button:not([role=tab]):not(.revealed)').allInnerTexts();
  return names.filter(
    (name) => !['', 'CSV', 'Print or save as PDF', 'Redemptions', 'Show more', 'All accounts'].includes(name.trim()),
  );
}
