import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { formatOf } from '../../../console/src/text/written.ts';
import { openConsole, saveForm } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { until } from '../../support/until.ts';

/** Prices, keys, balance and refunds of an account. */

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe('the figures of an account', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let account: TestAccount;
  let owner: TestPerson;
  before(async () => {
    server = await startGateway({ usageIntervalMs: 10 });
    account = await server.createAccount();
    owner = await createPerson(server, { memberships: [{ accountId: account.id, role: 'owner' }] });
  });
  after(async () => {
    await server?.stop();
  });

  const chat = async (key: string) => {
    assert.equal((await call(`${server.url}/v1/chat/completions`, key, hello)).status, 200);
  };

  it('include its own prices, with the list prices if they differ', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/models' });
    const { page } = console;
    const input = page.getByRole('region', { name: 'test-chat', exact: true }).getByRole('row', { name: /^Input/ });
    await input.getByText('¥3.00', { exact: true }).waitFor();
    assert.equal(await page.getByText('list ¥').count(), 0);
    await server.admin('PATCH', `/accounts/${account.id}`, { priceFactorBasisPoints: 8888 });
    await page.reload();
    await input.getByText(/^¥2[.]6664/).waitFor();
    await input.getByText('list ¥3.00', { exact: true }).waitFor();
    await page.getByText('pays 88.88% of the list price').waitFor();
    await console.assertAccessible();
    await server.admin('PATCH', `/accounts/${account.id}`, { priceFactorBasisPoints: 10_000 });
  });

  it('are separate for two keys of the same name', async () => {
    const twins = [];
    for (let i = 0; i < 2; i++) {
      const { body } = await server.admin('POST', `/accounts/${account.id}/keys`, { name: 'twin' });
      twins.push(body);
      await chat(body.key);
    }
    await account.endedCall(2);
    await until(async () => (await server.admin('GET', `/usage?accountId=${account.id}`)).body.data[0]?.calls === 2);
    await using console = await openConsole(server, { person: owner, at: '#/usage?by=key' });
    const table = console.page.getByRole('region', { name: 'Figures' });
    for (const { prefix } of twins) {
      const row = table.getByRole('row', { name: `twin · ${prefix}` });
      await row.getByRole('cell', { name: '1', exact: true }).waitFor();
    }
  });

  it('are filtered by a key from its menu, and by typed days', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/keys' });
    const { page } = console;
    await page.getByRole('button', { name: 'Actions for twin' }).first().click();
    await page.getByRole('menuitem', { name: 'Its usage' }).click();
    await page.getByText('Key twin').waitFor();
    const total = page.getByRole('region', { name: 'Figures' }).getByRole('row', { name: 'test-chat' });
    await total.getByRole('cell', { name: '1', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show all keys' }).click();
    await total.getByRole('cell', { name: '2', exact: true }).waitFor();
    await page.getByLabel('From').pressSequentially('01152026');
    await page.waitForURL(/from=2026-01-15/);
    await console.assertAccessible();
  });

  it('are not shown under the labels of a pending selection', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/usage' });
    const { page } = console;
    const table = page.getByRole('region', { name: 'Figures' });
    await table.getByText('test-chat').waitFor();
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route(/groupBy=day%2Ckey/, async (route) => {
      await promise;
      await route.continue();
    });
    await page.getByRole('combobox', { name: 'By' }).click();
    await page.getByRole('option', { name: 'Key' }).click();
    await page.locator('main .mantine-Loader-root').waitFor();
    assert.equal(await table.count(), 0);
    resolve();
    await table.getByText('twin').first().waitFor();
  });

  it('are rounded half even, and exact on tap, hover and focus', async () => {
    // A charge with more digits than lists show.
    await server.admin('PATCH', `/accounts/${account.id}`, { priceFactorBasisPoints: 8888 });
    await chat(account.key);
    await server.admin('PATCH', `/accounts/${account.id}`, { priceFactorBasisPoints: 10_000 });
    const { chargeYuan } = await account.endedCall(3);
    const exact = `¥${chargeYuan}`;
    const short = formatOf('en-GB', 'UTC').yuan(chargeYuan, true);
    assert.notEqual(short, exact);
    for (const widthPx of [1280, 390]) {
      await using console = await openConsole(server, { person: owner, at: '#/calls', widthPx });
      const { page } = console;
      const amount = page.getByRole('button', { name: short, exact: true });
      const whole = page.getByRole('tooltip', { name: exact });
      await amount.click();
      await whole.waitFor();
      await page.keyboard.press('Escape');
      await whole.waitFor({ state: 'hidden' });
      await page.mouse.move(0, 0);
      await amount.hover();
      await whole.waitFor();
      await page.mouse.move(0, 0);
      await whole.waitFor({ state: 'hidden' });
      await console.assertAccessible();
    }
  });

  it('include the ledger filtered by kind, and its CSV', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/ledger' });
    const { page } = console;
    await page.getByRole('combobox', { name: 'Kind' }).selectOption({ label: 'Top-up' });
    const rows = page.getByRole('region', { name: 'Ledger' }).getByRole('row');
    await page.waitForURL(/kind=top_up/);
    await rows.nth(1).getByText('¥100.00').first().waitFor();
    assert.equal(await rows.count(), 2);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const saved = readFileSync(await (await download).path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    assert.deepEqual(
      saved.map((line) => line.split(',').slice(1, 4).join()),
      ['kind,amountYuan,balanceAfterYuan', 'top_up,100,100'],
    );
    await console.assertAccessible();
  });

  it('include refunds, with amount and time on the page of the call', async () => {
    await chat(account.key);
    const { id } = await account.endedCall(4);
    for (const [amountYuan, memo] of [
      ['0.00001', 'said to nobody'],
      ['0.000002', null],
    ]) {
      const { status } = await server.admin('POST', `/calls/${id}/refunds`, { amountYuan, memo });
      assert.equal(status, 201);
    }
    await using console = await openConsole(server, { person: owner, at: `#/calls/${id}` });
    const { page } = console;
    await page.getByText('Refunded ¥0.00001', { exact: true }).waitFor();
    await page.getByText('Refunded ¥0.000002', { exact: true }).waitFor();
    await page
      .getByRole('row', { name: /^Refunded/ })
      .getByText('¥0.000012')
      .waitFor();
    assert.equal(await page.getByText('said to nobody').count(), 0);
    await console.assertAccessible();
    await console.go('#/ledger?tab=statement');
    const entries = page.getByRole('region', { name: 'Entries beside charges' });
    await entries.getByText('¥0.000002', { exact: true }).waitFor();
    await entries.getByRole('row', { name: /Top-up/ }).waitFor();
    await console.assertAccessible();
  });

  it('mark the balance as low below the configured threshold', async () => {
    await using console = await openConsole(server, { person: owner });
    const { page } = console;
    await page.getByText('Spent today').waitFor();
    assert.equal(await page.getByText('The balance is low').count(), 0);
    await console.go('#/settings');
    await page.getByLabel('Threshold').fill('100');
    const form = page.locator('form').filter({ has: page.getByLabel('Threshold') });
    await saveForm(page, form);
    await console.go('#/');
    await page.getByText('It is below the threshold of ¥100.00').waitFor();
    await console.assertAccessible();
  });

  it('have a complete legend on desktop and phone, where filters are collapsed', async () => {
    const groups = async () => (await server.admin('GET', `/usage?accountId=${account.id}&groupBy=model`)).body.data;
    assert.equal(
      (await call(`${server.url}/v1/chat/completions`, account.key, { ...hello, model: 'test-both' })).status,
      200,
    );
    await until(async () => (await groups()).length === 2);
    for (const widthPx of [1440, 390]) {
      await using console = await openConsole(server, { person: owner, widthPx });
      const { page } = console;
      const card = page.locator('section', { has: page.getByRole('heading', { name: 'Charge by day' }) });
      const legend = card.locator('.mantine-ChartLegend-legend');
      await legend.waitFor();
      const [inner, outer] = [await legend.boundingBox(), await card.boundingBox()];
      assert.ok(inner!.y + inner!.height <= outer!.y + outer!.height);
      if (widthPx === 1440) assert.ok(outer!.y + outer!.height <= 900);
      await console.go('#/calls?status=succeeded');
      const filters = page.getByRole('button', { name: 'Filters: 1 in force' });
      const status = page.getByRole('combobox', { name: 'Status' });
      if (widthPx === 390) {
        await filters.waitFor();
        assert.equal(await status.count(), 0);
        await filters.click();
      }
      await status.waitFor();
    }
  });
});
