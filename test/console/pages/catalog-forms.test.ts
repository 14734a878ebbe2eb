import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { createSealingKey } from '../../../src/config/sealed-secrets/sealing.ts';
import { type ConsoleOptions, chooseAction, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { chatCompletion, json } from '../../support/provider.ts';
import { until } from '../../support/until.ts';

/** Prices with steps, models of a provider's list, and secrets in the forms of the catalog. */

const CANARY = 'sk-canary-Tn52vRw';
const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const hello = { model: 'acme-large', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };

const TEXT = (providerUrl: string): string => `# Kept.
providers:
  acme:
    protocol: chat
    baseUrl: ${providerUrl}/v1
    apiKey: { value: "\${ACME_KEY}", limits: { requestsPerMinute: 1000 } } # ours
models:
  acme-large:
    operations: [chat]
    price: { input: "4", output: "16" }
    routes: [{ provider: acme, model: large-1 }]
  acme-small:
    tokenFactor: 1.10 # measured
    operations: [chat]
    price:
      input: "1" # of the vendor
      output: "3"
    routes: [{ provider: acme, model: small-1 }]
`;

describe('the forms of the catalog', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let server: TestGateway;
  let operator: TestPerson;

  before(async () => {
    const sealingKey = createSealingKey(randomBytes(32));
    server = await startGateway({
      catalog: 'database',
      revisionLeadMs: 100,
      environment: { ACME_KEY: 'provider-secret-key-1' },
      sealingKeys: () => [sealingKey],
    });
    server.provider.respond = json(200, chatCompletion(USAGE));
    operator = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    const { status, body } = await server.admin('POST', '/catalog/revisions', {
      base: null,
      text: TEXT(server.provider.url),
    });
    assert.equal(status, 201, JSON.stringify(body));
    const account = await server.createAccount();
    await until(async () => (await call(`${server.url}/v1/chat/completions`, account.key, hello)).status === 200);
  });
  after(async () => {
    await server?.stop();
  });

  const open = (options: ConsoleOptions) => openConsole(server, { person: operator, ...options });
  const catalog = async () => (await server.admin('GET', '/catalog')).body;

  /** Checks an open form, and publishes it. */
  async function publish(page: Page, shown: readonly (string | RegExp)[]): Promise<void> {
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Check and review' }).click();
    await dialog.getByRole('list', { name: 'Difference' }).waitFor();
    for (const each of shown) await dialog.getByText(each).first().waitFor();
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  it('change prices by length and by time of day, and show what a call costs while they are typed', async () => {
    await using console = await open({ at: '#/operator/models' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Actions for acme-small' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog.getByRole('status').getByText('Present price: ¥0.013').waitFor();
    await dialog.getByLabel('Output', { exact: true }).fill('4');
    await dialog.getByRole('status').getByText('With this change: ¥0.014').waitFor();
    const adding = dialog.getByLabel('Add a price', { exact: true });
    await adding.first().selectOption({ label: 'Prices by input length' });
    await dialog.getByLabel('Above, in tokens').fill('200000');
    const step = dialog.getByRole('group', { name: 'Prices by input length, 1' });
    assert.equal(await step.getByLabel('Input', { exact: true }).inputValue(), '1');
    await step.getByLabel('Output', { exact: true }).fill('8');
    await adding.first().selectOption({ label: 'a web search' });
    await dialog.getByLabel('A web search').fill('0.05');
    await adding.first().selectOption({ label: 'Prices by time of day' });
    const offPeak = dialog.getByRole('group', { name: 'Off-peak', exact: true });
    await offPeak.getByLabel('Output', { exact: true }).first().fill('2');
    await dialog.getByRole('button', { name: 'Add the cost of route 1' }).click();
    const cost = dialog.getByRole('group', { name: 'Cost of route 1, for your margin' });
    await cost.getByLabel('Input', { exact: true }).fill('0.5');
    await cost.getByLabel('Output', { exact: true }).fill('1.5');
    await dialog.getByRole('button', { name: 'Keep-alive, retries, fallbacks' }).click();
    const failures = dialog.getByRole('group', { name: 'Keep-alive, retries, fallbacks' });
    await failures.getByLabel('Keep-alive comment after a silence of').fill('15s');
    for (const [label, option] of [
      ['Attempt again after', '503'],
      ['Fallbacks', 'acme-large'],
    ] as const) {
      await failures.getByRole('combobox', { name: label }).click();
      await page.getByRole('option', { name: option, exact: true }).click();
    }
    await failures.getByLabel('Prices of a fallback').selectOption({ label: 'of the requested model' });
    await console.assertAccessible();
    await publish(page, ['acme-small: a web search ¥0.05', /^acme-small: input above 200000/]);
    const { text } = await catalog();
    const small = text.slice(text.indexOf('acme-small:'));
    assert.match(small, /^ {4}tokenFactor: 1\.10 # measured$/m);
    assert.match(small, /^ {6}output: "4"$/m);
    assert.match(small, /^ {6}above:\n {8}"200000":\n {10}input: "1"\n {10}output: "8"$/m);
    assert.match(small, /peak:\n {10}hours:\n {12}- 09:00-21:00\n/);
    assert.match(small, /cost: \{ input: "0\.5", output: "1\.5" \}/);
    assert.match(small, /keepAlive:\n {6}before: 15s\n/);
    assert.match(small, /retry:\n {6}on:\n {8}- "?503"?\n/);
    assert.match(small, /fallbacks:\n {6}- acme-large\n/);
    assert.match(small, /fallbackCharge: asked\n/);
    assert.match(small, /offPeak:\n {10}input: "1"\n {10}output: "2"\n/);
  });

  it('change what a provider and a route get of a request, and the model name in responses', async () => {
    await using console = await open({ at: '#/operator/models' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Actions for acme-large' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    assert.equal(await dialog.getByLabel('Maximum values').isVisible(), false);
    await dialog.getByRole('button', { name: 'Requests, responses and limits of route 1' }).click();
    await dialog.getByLabel('Maximum values').fill('max_tokens: 8192\ntop_p: 0.95');
    await dialog.getByLabel('Set fields').fill('temperature');
    await dialog.getByText('Write one field per line').waitFor();
    await dialog.getByLabel('Set fields').fill('seed: 7\nresponse_format: {"type":"text"}');
    await dialog.getByLabel('Model name in responses').first().selectOption('asked');
    await dialog.getByLabel('Max. calls in flight').fill('500');
    await console.assertAccessible();
    await publish(page, ['acme-large: route acme/large-1 calls in flight 500']);
    const { text } = await catalog();
    const large = text.slice(text.indexOf('acme-large:'), text.indexOf('acme-small:'));
    assert.match(large, /showModel: asked/);
    assert.match(large, /limits: \{ concurrentCalls: 500 \}/);
    const account = await server.createAccount();
    const asked = { ...hello, max_tokens: 9_000 };
    await until(
      async () => (await call(`${server.url}/v1/chat/completions`, account.key, asked)).json.model === 'acme-large',
    );
    const sent = JSON.parse(server.provider.requests.at(-1)!.body.toString());
    assert.deepEqual([sent.max_tokens, sent.seed, sent.response_format], [8192, 7, { type: 'text' }]);
  });

  it('add several models from the list of a provider in one revision', async () => {
    const answer = server.provider.respond;
    const listed = { data: [{ id: 'small-1' }, { id: 'tiny', context_window: 8192 }, { id: 'vendor/large-1' }] };
    server.provider.respond = (request, response) =>
      (request.method === 'GET' ? json(200, listed) : answer)(request, response);
    await using console = await open({ at: '#/operator/models' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add models of a provider' }).click();
    assert.ok(await dialog.getByRole('checkbox', { name: 'small-1' }).isDisabled());
    await dialog.getByRole('checkbox', { name: 'tiny' }).check();
    await dialog.getByRole('checkbox', { name: 'vendor/large-1' }).check();
    await dialog.getByText('2 of 3 chosen').waitFor();
    await dialog.getByLabel('Input of tiny', { exact: true }).fill('0.1');
    await dialog.getByLabel('Output of tiny', { exact: true }).fill('0.2');
    // The catalog has the prices of the same model under another name.
    assert.equal(await dialog.getByLabel('Output of vendor/large-1', { exact: true }).inputValue(), '16');
    await console.assertAccessible();
    await publish(page, ['tiny: model', 'vendor/large-1: model']);
    const { text } = await catalog();
    assert.match(
      text,
      /tiny:\n {4}contextLength: "8192"\n {4}operations:\n {6}- chat\n {4}price:\n {6}input: "0\.1"\n/,
    );
    await page.getByRole('cell', { name: 'acme/tiny' }).waitFor();
    server.provider.respond = json(500, { error: { message: 'No list today.' } });
    await page.reload();
    await page.getByRole('button', { name: 'Add models of a provider' }).click();
    await dialog.getByText('No list today.').waitFor();
    await console.assertAccessible();
    server.provider.respond = answer;
  });

  it('set how requests are translated; the page of routes shows it, and looks for the dialect', async () => {
    await using console = await open({ at: '#/operator/providers' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await chooseAction(page, 'Edit');
    await dialog.getByRole('button', { name: 'Translation…' }).click();
    await dialog.getByLabel('Asks for reasoning with').selectOption('thinking');
    await dialog.getByLabel('Earlier reasoning in').selectOption('reasoning_content');
    await console.assertAccessible();
    await publish(page, [/^acme: dialect/]);
    await page.goto(`${server.url}/console#/operator/models`);
    await page.getByRole('button', { name: 'Actions for acme-large' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const choose = async (field: string, option: string): Promise<void> => {
      await dialog.getByRole('combobox', { name: field }).click();
      await page.getByRole('option', { name: option, exact: true }).click();
      await page.keyboard.press('Tab');
    };
    await choose('Operations', 'messages');
    const route = dialog.getByRole('group', { name: 'Route 1' });
    await route.getByRole('button', { name: 'Translation…' }).click();
    await choose('Translates', 'messages');
    await console.assertAccessible();
    await publish(page, [/^acme-large: route .*translated operations/]);
    const { text } = await catalog();
    assert.match(text, /dialect:\n {6}reasoning: thinking\n {6}replay: reasoning_content\n/);
    assert.match(text, /model: large-1, .*translate: \[ ?messages ?\]/);

    await page.goto(`${server.url}/console#/operator/routes`);
    await page.getByText('translates messages').waitFor();
    await page.getByRole('button', { name: 'Find the dialect of acme' }).click();
    await dialog.getByRole('button', { name: 'Send the calls' }).click();
    await dialog.getByText('The model did not call the tool.').waitFor();
    await dialog.getByText('No dialect was found').waitFor();
    await console.assertAccessible();
  });

  it('fit a phone in Chinese', async () => {
    await using console = await open({ at: '#/operator/models', language: 'zh', widthPx: 390, heightPx: 840 });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const fits = async () => {
      await console.assertAccessible();
      const overhangPx = await dialog.evaluate((each) => each.scrollWidth - each.clientWidth);
      assert.ok(overhangPx <= 0, `the form is ${overhangPx} px too wide`);
    };
    await page.getByRole('button', { name: 'acme-small' }).click();
    await page.getByRole('menuitem', { name: '编辑' }).click();
    await dialog.getByRole('status').getByText('目前价格').waitFor();
    await dialog.getByRole('button', { name: '协议转换…' }).click();
    await dialog.getByLabel('返还先前推理的字段').waitFor();
    await dialog.getByRole('group', { name: '按输入长度的价格，第 1 项' }).first().waitFor();
    await fits();
    await dialog.getByRole('button', { name: '取消' }).click();
    await page.getByRole('button', { name: '从供应商添加模型' }).click();
    await dialog.getByText('响应不是模型列表。').waitFor();
    await fits();
    await page.goto(`${server.url}/console#/operator/routes`);
    await page.getByRole('list', { name: '限额' }).getByText('每分钟请求数：').waitFor();
    await console.assertAccessible();
    const overhangPx = await page.locator('body').evaluate((each) => each.scrollWidth - each.clientWidth);
    assert.ok(overhangPx <= 0, `the page of routes is ${overhangPx} px too wide`);
  });

  it('seal a new secret in the form of a provider, whose value is in no page or response', async () => {
    await using console = await open({ at: '#/operator/providers' });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const received: string[] = [];
    page.on('response', async (response) => {
      if (response.url().includes('/admin/')) received.push(await response.text().catch(() => ''));
    });
    await chooseAction(page, 'Edit');
    await dialog.getByText('Last used:').waitFor();
    await dialog.getByLabel('Kind of credential 1').selectOption({ label: 'Sealed secret' });
    await dialog.getByLabel('Credential 1', { exact: true }).selectOption({ label: 'New secret…' });
    await dialog.getByLabel('Name of the secret').fill('acme-2');
    await dialog.getByLabel('Credential', { exact: true }).fill(CANARY);
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Save the secret' }).click();
    await dialog.getByLabel('Name of the secret').waitFor({ state: 'detached' });
    assert.equal(await dialog.getByLabel('Credential 1', { exact: true }).inputValue(), 'acme-2');
    await dialog.getByText('It has limits of its own').waitFor();
    await dialog.getByRole('button', { name: 'Requests, responses and limits' }).click();
    await dialog.getByLabel('Max. requests per minute').fill('6000');
    await dialog.getByLabel('Rate limits of the vendor').selectOption('follow');
    await console.assertAccessible();
    await publish(page, [/^acme: credential/, 'acme: requests per minute 6000']);
    const { text } = await catalog();
    assert.match(text, /apiKey: \{ limits: \{ requestsPerMinute: 1000 \}, secret: acme-2 \} # ours\n/);
    assert.match(text, /^ {4}limits:\n {6}requestsPerMinute: 6000\n {4}vendorLimits: follow$/m);
    const { body } = await server.admin('GET', '/secrets');
    assert.deepEqual(
      body.data.map(({ name, status }: { name: string; status: string }) => [name, status]),
      [['acme-2', 'current_key']],
    );
    await page.getByRole('button', { name: 'Actions for acme' }).waitFor();
    await page.goto(`${server.url}/console#/operator/routes`);
    const limits = page.getByRole('region', { name: 'Limits' });
    for (const used of ['0 of 6,000', '0 of 1,000', '0 of 500']) await limits.getByText(used).waitFor();
    assert.equal(await limits.getByRole('progressbar').count(), 3);
    await console.assertAccessible();
    assert.ok(received.length > 0);
    assert.ok(![...received, await page.content()].some((text) => text.includes(CANARY)));
  });
});
