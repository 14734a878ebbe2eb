import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type ConsoleOptions, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { chatCompletion, json } from '../../support/provider.ts';
import { until } from '../../support/until.ts';

/** Margins on the pages of operators. A call gains 37.2 % at the list price, and loses 25.6 % at the price of the group. */

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const GAIN = '37.2%';
const LOSS = '−25.6%';

describe('margins on the pages of operators', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let server: TestGateway;
  let operator: TestPerson;

  before(async () => {
    server = await startGateway({
      catalog: 'file',
      usageIntervalMs: 5,
      models: `
  gaining:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: at-cost, cost: { input: "2", output: "7" } }]
`,
      groups: `groups: { resellers: { name: Resellers, priceFactorBasisPoints: 5000 } }`,
    });
    server.provider.respond = json(200, chatCompletion(USAGE));
    operator = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    const reseller = await server.createAccount();
    await server.admin('PATCH', `/accounts/${reseller.id}`, { groupId: 'resellers' });
    await chat(reseller, 'gaining');
    await until(async () => (await sums('')).at(0)?.calls === 1);
  });
  after(async () => {
    await server?.stop();
  });

  const open = (options: ConsoleOptions) => openConsole(server, { person: operator, ...options });
  const sums = async (query: string) => (await server.admin('GET', `/usage?${query}`)).body.data;
  async function chat({ key }: TestAccount, model: string): Promise<void> {
    const sent = { model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
    assert.equal((await call(`${server.url}/v1/chat/completions`, key, sent)).status, 200);
  }
  async function isRed(page: Page): Promise<boolean> {
    const color = await page.evaluate<string>(`getComputedStyle(document.querySelector('.figure.loss')).color`);
    const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number);
    return red > 1.5 * Math.max(green, blue);
  }

  it('show a loss with a minus sign and in red, without scrolling, in both languages', async () => {
    const places = [
      ['#/operator', 'Margin today', '今日毛利'],
      ['#/operator/usage', 'Margin %', '毛利率'],
      ['#/operator/usage?by=group', 'resellers', 'resellers'],
      ['#/operator/usage?by=route', 'gaining · chatty', 'gaining · chatty'],
      ['#/operator/models', 'Margin, 30 days', '30 天毛利率'],
      ['#/operator/groups', 'Margin, 30 days', '30 天毛利率'],
      ['#/operator/providers', 'Margin today', '今日毛利率'],
      ['#/operator/routes', 'Margin %', '毛利率'],
    ] as const;
    for (const [language, theme, at] of [
      ['en', 'light', 1],
      ['zh', 'dark', 2],
    ] as const) {
      await using console = await open({ at: places[0][0], language, theme });
      const { page } = console;
      for (const place of places) {
        await console.go(place[0]);
        await page.getByText(place[at], { exact: true }).first().waitFor();
        const figure = page.locator('.figure.loss', { hasText: LOSS }).first();
        await figure.waitFor();
        assert.ok(await isRed(page), place[0]);
        const { x, width } = (await figure.boundingBox())!;
        assert.ok(x >= 0 && x + width <= 1280, `${place[0]} needs scrolling: ${x}`);
        await console.assertAccessible();
      }
    }
  });

  it('are shown on a phone', async () => {
    await using console = await open({ at: '#/operator/usage?by=group', widthPx: 390 });
    await console.page.locator('.figure.loss', { hasText: LOSS }).first().waitFor();
    await console.assertAccessible();
  });

  it('say that a cost is unknown, and to which charges a share applies', async () => {
    const account = await server.createAccount();
    await chat(account, 'gaining');
    await chat(account, 'test-chat');
    await until(async () => (await sums(`accountId=${account.id}`)).at(0)?.calls === 2);
    await using console = await open({ at: '#/operator/usage' });
    const { page } = console;
    const table = page.getByRole('region', { name: 'Sums' });
    await table
      .getByRole('row', { name: /^test-chat/ })
      .getByText('cost unknown')
      .waitFor();
    await console.go(`#/operator/usage?by=account&accountId=${account.id}`);
    const row = table.getByRole('row').nth(1);
    await row.getByText(GAIN).waitFor();
    await row.getByText(/^of ¥0\.0043; other costs are unknown$/).waitFor();
    // Sorted by margin: the known one first.
    await console.go('#/operator/models');
    await page.getByRole('button', { name: 'Margin, 30 days' }).click();
    await page.getByRole('region', { name: 'Models' }).getByRole('row').nth(1).getByText('gaining').first().waitFor();
  });

  it('change with the group of an account, which its page shows', async () => {
    const { id } = await server.createAccount();
    await using console = await open({ at: `#/operator/accounts/${id}` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Edit caps, price and group' }).click();
    await dialog.getByRole('combobox', { name: 'Group' }).selectOption('resellers');
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('resellers', { exact: true }).waitFor();
    assert.equal((await server.admin('GET', `/accounts/${id}`)).body.groupId, 'resellers');
  });
});
