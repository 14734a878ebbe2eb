import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type ConsoleOptions, chooseAction, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { chatCompletion, json } from '../../support/provider.ts';
import { until } from '../../support/until.ts';

/** The pages of the catalog, with the catalog in the database. */

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const hello = { model: 'acme-large', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };

describe('the pages of the catalog', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let server: TestGateway;
  let operator: TestPerson;
  let auditor: TestPerson;

  before(async () => {
    server = await startGateway({
      catalog: 'database',
      revisionLeadMs: 100,
      environment: { ACME_KEY: 'provider-secret-key-1' },
    });
    server.provider.respond = json(200, chatCompletion(USAGE));
    operator = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    auditor = await createPerson(server, { name: 'Audrey', operatorRole: 'auditor' });
  });
  after(async () => {
    await server?.stop();
  });

  const open = (options: ConsoleOptions) => openConsole(server, { person: operator, ...options });
  const catalog = async () => (await server.admin('GET', '/catalog')).body;

  /** Checks an open form, and publishes it. */
  async function publish(page: Page, reason: string, shown: readonly (string | RegExp)[]): Promise<void> {
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Check and review' }).click();
    await dialog.getByRole('list', { name: 'Difference' }).waitFor();
    for (const each of shown) await dialog.getByText(each).first().waitFor();
    await dialog.getByLabel('Reason', { exact: true }).fill(reason);
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  it('lead from an empty catalog to two models with a price from a date', async () => {
    await using console = await open({ at: '#/operator/catalog' });
    const { page } = console;
    await page.getByText('No revision yet').first().waitFor();
    await console.assertAccessible();

    await console.go('#/operator/providers');
    await page.getByRole('button', { name: 'Add a provider' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Preset').selectOption({ label: 'DeepSeek · chat' });
    assert.equal(await dialog.getByLabel('Address').inputValue(), 'https://api.deepseek.com');
    await dialog.getByLabel('Name').fill('acme');
    await dialog.getByLabel('Address').fill(`${server.provider.url}/v1`);
    await dialog.getByLabel('Credential 1', { exact: true }).fill('ACME_KEY');
    await console.assertAccessible();
    await publish(page, 'our vendor', ['acme: provider']);
    await page.getByRole('cell', { name: 'acme', exact: true }).waitFor();

    await console.go('#/operator/models');
    await page.getByRole('button', { name: 'Add a model' }).click();
    await dialog.getByLabel('Name', { exact: false }).first().fill('acme-large');
    await dialog.getByLabel('Display name').fill('Acme Large');
    await dialog.getByLabel('Context length').fill('128k');
    await dialog.getByLabel('Input', { exact: true }).fill('4');
    await dialog.getByLabel('Output', { exact: true }).fill('16');
    await dialog.getByRole('combobox', { name: 'Provider' }).selectOption('acme');
    await dialog.getByLabel('Model name at the provider').fill('large-1');
    await console.assertAccessible();
    await publish(page, 'first model', ['acme-large: model', '¥0.056']);
    await page.getByRole('cell', { name: 'acme/large-1' }).waitFor();

    await page.getByRole('button', { name: 'Actions for acme-large' }).click();
    await page.getByRole('menuitem', { name: 'Copy' }).click();
    await dialog.getByLabel('Name', { exact: false }).first().fill('acme-small');
    assert.equal(await dialog.getByLabel('Output', { exact: true }).inputValue(), '16');
    await dialog.getByLabel('Input', { exact: true }).fill('1');
    await dialog.getByLabel('Output', { exact: true }).fill('2');
    await dialog.getByLabel('Model name at the provider').fill('small-1');
    await publish(page, 'a smaller one', ['acme-small: model', '¥0.012']);

    await page.getByRole('button', { name: 'Actions for acme-large' }).click();
    await page.getByRole('menuitem', { name: 'Prices from a date' }).click();
    await dialog.getByLabel(/^From/).fill('2099-12-01');
    await dialog.getByLabel('Output', { exact: true }).fill('14');
    await console.assertAccessible();
    await publish(page, 'cheaper', ['acme-large: output ¥16 → ¥14 from 2099-12-01', '¥0.056', '¥0.054']);
    await page.getByText('from 2099-12-01: ¥4.00 / ¥14.00').waitFor();
    await console.assertAccessible();

    const { text } = await catalog();
    assert.equal(text, expectedText(server.provider.url));
    const account = await server.createAccount();
    await until(async () => (await call(`${server.url}/v1/chat/completions`, account.key, hello)).status === 200);

    // The header sorts: the cheaper model first.
    await page.getByRole('button', { name: 'Output', exact: true }).click();
    const names = page.getByRole('region', { name: 'Models' }).getByRole('row');
    await names.nth(1).getByText('acme-small').waitFor();
  });

  it('show the history with differences, roll back, and schedule and cancel a revision', async () => {
    await using console = await open({ at: '#/operator/catalog' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const { base, text } = await catalog();
    await page.getByRole('cell', { name: 'cheaper', exact: true }).waitFor();
    await page.getByRole('button', { name: `Show revision ${base}`, exact: true }).click();
    await dialog.getByText('acme-large: output ¥16 → ¥14 from 2099-12-01').waitFor();
    await console.assertAccessible();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `Show revision ${base - 1}`, exact: true }).click();
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await dialog.last().getByLabel('Reason').fill('not yet');
    await dialog.last().getByRole('button', { name: 'Roll back' }).click();
    await dialog.first().waitFor({ state: 'hidden' });
    await page.getByRole('cell', { name: 'not yet', exact: true }).waitFor();
    assert.ok(!(await catalog()).text.includes('2099'));

    await page.getByRole('tab', { name: 'Text' }).click();
    const area = page.getByRole('textbox', { name: 'Text of the catalog' });
    await pasteOver(area, text.replace('protocol: chat', 'protocol: chatty'));
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByRole('button', { name: 'Line 3' }).click();
    // Typing replaces the selected line.
    await page.keyboard.type('    protocol: messages');
    assert.ok((await area.innerText()).includes('  acme:\n    protocol: messages\n    baseUrl:'));
    await pasteOver(area, text);
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('acme-large: output ¥16 → ¥14 from 2099-12-01').waitFor();
    await page.getByText('At an instant').click();
    await page.getByLabel(/^Instant/).fill('2099-06-01T08:00');
    await console.assertAccessible();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText(`Revision ${base + 2} takes effect later`).waitFor();
    await page.getByRole('tab', { name: 'Status and history' }).click();
    await page.getByRole('button', { name: 'Cancel revision' }).click();
    await dialog.getByRole('button', { name: 'Cancel revision' }).click();
    await page.getByText(`Revision ${base + 2} takes effect later`).waitFor({ state: 'detached' });
    assert.equal((await catalog()).base, base + 1);
  });

  it('propose members and names in the text as somebody types, and mark problems at their lines', async () => {
    await using console = await open({ at: '#/operator/catalog?tab=text' });
    const { page } = console;
    const area = page.getByRole('textbox', { name: 'Text of the catalog' });
    const proposal = (name: string) => page.getByRole('option', { name, exact: true });
    await area.click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.type('gro');
    await proposal('groups').waitFor();
    await console.assertAccessible();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.keyboard.type('gold:');
    await page.keyboard.press('Enter');
    await page.keyboard.type('prov');
    // The editor ignores Enter for 75 ms after proposals open, so that somebody who types on accepts none by accident.
    await proposal('providers').click();
    await page.keyboard.type('[a');
    await proposal('acme').click();
    assert.match(await area.innerText(), /\ngroups:\n {2}gold:\n {4}providers: \[acme\]/);
    // The name is missing.
    await page.locator('.cm-lint-marker-error').waitFor();
    await console.assertAccessible();
    // Tab leaves the editor.
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Discard my changes' }).click();
    assert.equal((await area.innerText()).trim(), (await catalog()).text.trim());
    await page.locator('.cm-lint-marker-error').waitFor({ state: 'detached' });
  });

  it('show what somebody else has changed, and check the form against that', async () => {
    await using console = await open({ at: '#/operator/models' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Actions for acme-large' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog.getByLabel('Input', { exact: true }).fill('5');
    const { base } = await catalog();
    const edits = [{ path: ['models', 'acme-small', 'price', 'output'], value: '3' }];
    assert.equal((await server.admin('POST', '/catalog/revisions', { base, edits })).status, 201);
    await dialog.getByRole('button', { name: 'Check and review' }).click();
    await dialog.getByText('acme-large: input ¥4 → ¥5').waitFor();
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.getByRole('alert').getByText('acme-small: output ¥2 → ¥3').waitFor();
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Check mine against the newest revision' }).click();
    await dialog.getByRole('alert').waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.waitFor({ state: 'hidden' });
    const { text } = await catalog();
    assert.match(text, /input: "5"/);
    assert.match(text, /output: "3"/);
  });

  it('add a plan and a group, in Chinese', async () => {
    await using console = await open({ at: '#/operator/plans', language: 'zh' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const publishZh = async () => {
      await dialog.getByRole('button', { name: '检查并核对' }).click();
      await dialog.getByRole('button', { name: '发布' }).click();
      await dialog.waitFor({ state: 'hidden' });
    };
    await page.getByRole('button', { name: '添加套餐' }).click();
    await dialog.getByLabel('ID').fill('pro');
    await dialog.getByLabel('名称').fill('Pro');
    await dialog.getByRole('combobox', { name: '模型' }).click();
    await page.getByRole('option', { name: 'acme-small' }).click();
    for (const [label, value] of [
      ['每 5 小时调用次数', '100'],
      ['每周调用次数', '1000'],
      ['并发', '2'],
      ['每周期 token', '1000000'],
      ['周期天数', '30'],
      ['最大输入', '4MiB'],
      ['最大输出', '1000'],
    ] as const) {
      await dialog.getByLabel(label).fill(value);
    }
    await console.assertAccessible();
    await publishZh();
    await page.getByRole('heading', { name: 'Pro' }).waitFor();
    await console.go('#/operator/groups');
    await page.getByRole('button', { name: '添加分组' }).click();
    await dialog.getByLabel('ID').fill('gold');
    await dialog.getByLabel('名称').fill('Gold');
    await dialog.getByLabel('价格系数').fill('80');
    await dialog.getByRole('combobox', { name: '备用模型' }).click();
    await page.getByRole('listbox').getByRole('option', { name: 'acme-small' }).click();
    await dialog.getByLabel('备用模型的价格').selectOption({ label: '按请求的模型' });
    await dialog.getByLabel('添加模型的价格').selectOption('acme-small');
    await dialog.getByLabel('输入', { exact: true }).fill('0.5');
    await console.assertAccessible();
    await publishZh();
    await page.getByRole('cell', { name: '80%' }).waitFor();
    const { text } = await catalog();
    assert.match(
      text,
      /gold:\n {4}name: Gold\n {4}priceFactorBasisPoints: 8000\n {4}fallbacks:\n {6}- acme-small\n {4}fallbackCharge: asked\n {4}prices:\n {6}acme-small:\n {8}input: "0\.5"/,
    );
  });

  it('fit a phone, in both languages, and offer auditors nothing to change', async () => {
    for (const language of ['en', 'zh'] as const) {
      await using console = await open({ at: '#/operator/catalog?tab=text', language, widthPx: 390, heightPx: 840 });
      const { page } = console;
      await console.assertAccessible();
      for (const place of ['catalog', 'providers', 'plans', 'groups', 'models']) {
        await console.go(`#/operator/${place}`);
        await page
          .getByText(place === 'catalog' ? 'cheaper' : 'acme')
          .locator('visible=true')
          .first()
          .waitFor();
        await console.assertAccessible();
      }
      await page.getByRole('button', { name: /^(?:Add a model|添加模型)$/ }).click();
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^(?:Check and review|检查并核对)$/ })
        .waitFor();
      await console.assertAccessible();
      const overhangPx = await page.getByRole('dialog').evaluate((each) => each.scrollWidth - each.clientWidth);
      assert.ok(overhangPx <= 0, `the form is ${overhangPx} px too wide`);
    }
    await using console = await open({ person: auditor, at: '#/operator/models' });
    const { page } = console;
    await page.getByRole('cell', { name: 'acme/small-1' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Add|Actions/ }).count(), 0);
    await console.go('#/operator/catalog?tab=text');
    await page.getByRole('textbox', { name: 'Text of the catalog' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Check|Discard/ }).count(), 0);
  });

  it('remove what nothing else needs, and say what needs it', async () => {
    await using console = await open({ at: '#/operator/models' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Actions for acme-small' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await dialog.getByRole('alert').getByText('plans.pro.models').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Publish' }).count(), 0);
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await console.go('#/operator/plans');
    await page.getByRole('button', { name: 'Edit plan pro' }).click();
    await dialog.getByLabel('Calls in a week').fill('2000');
    await publish(page, 'more calls', ['pro: calls in a week 1000 → 2000']);
    await console.go('#/operator/groups');
    await chooseAction(page, 'Remove');
    await dialog.getByText('gold: group').waitFor();
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('No groups').waitFor();
    await console.go('#/operator/providers');
    await chooseAction(page, 'Edit');
    await dialog.getByRole('button', { name: 'Add a credential' }).click();
    await dialog.getByLabel('Credential 2', { exact: true }).fill('ACME_KEY');
    await publish(page, 'two keys', [/^acme: credentials?/]);
    assert.match((await catalog()).text, /apiKeys:\n {6}- \$\{ACME_KEY\}\n {6}- \$\{ACME_KEY\}/);
  });
});

describe('the pages of a catalog in a file', { skip: withoutBrowser, timeout: 120_000 }, () => {
  it('show it, and say how to move it', async () => {
    await using server = await startGateway({ catalog: 'file' });
    const person = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    await using console = await openConsole(server, { person, at: '#/operator/models' });
    const { page } = console;
    await page.getByText('faregate catalog use database').waitFor();
    await page.getByText('test-chat', { exact: true }).first().waitFor();
    assert.equal(await page.getByRole('button', { name: /Add|Actions/ }).count(), 0);
    await console.assertAccessible();
  });
});

/**
 * Replaces the text of the editor by pasting, which the editor handles itself. After Playwright's `fill`, the browser may merge the lines
 * that it replaces, and write styles into them that the page's policy refuses.
 */
async function pasteOver(editor: Locator, text: string): Promise<void> {
  await editor.click();
  await editor.press('ControlOrMeta+A');
  await editor.page().evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(text)});
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }`);
}

function expectedText(providerUrl: string): string {
  return `providers:
  acme:
    protocol: chat
    baseUrl: ${providerUrl}/v1
    apiKey: \${ACME_KEY}
    dialect:
      reasoning: thinking
      replay: reasoning_content
models:
  acme-large:
    displayName: Acme Large
    contextLength: 128k
    operations:
      - chat
    price:
      input: "4"
      output: "16"
      later:
        - from: 2099-12-01
          input: "4"
          output: "14"
    routes:
      - provider: acme
        model: large-1
  acme-small:
    contextLength: 128k
    operations:
      - chat
    price:
      input: "1"
      output: "2"
    routes:
      - provider: acme
        model: small-1
`;
}
