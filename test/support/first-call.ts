import assert from 'node:assert/strict';
import type { OpenConsole } from './browser.ts';
import { call } from './client.ts';
import type { TestGateway } from './gateway.ts';
import { type Device, PractisedPerson } from './practised-person.ts';
import { chatCompletion, json } from './provider.ts';
import { until } from './until.ts';

/** The way of an operator from an installation without a catalog to a charged call, in the console alone. */

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

/** Options of a gateway without a catalog. */
export const NO_CATALOG = {
  catalog: 'database',
  revisionLeadMs: 100,
  environment: { DEEPSEEK_API_KEY: 'provider-secret-key-1' },
} as const;

const WORDS = {
  en: {
    menu: 'Menu',
    addProvider: 'Add a provider',
    preset: 'Preset',
    address: 'Address',
    models: 'Models',
    addModel: 'Add a model',
    name: /^Name/,
    input: 'Input',
    output: 'Output',
    providerModel: 'Model name at the provider',
    actions: (name: string) => `Actions for ${name}`,
    copy: 'Copy',
    later: 'Prices from a date',
    from: /^From/,
    plans: 'Plans',
    addPlan: 'Add a plan',
    planCounts: ['Calls in five hours', 'Calls in a week', 'Concurrency', 'Tokens in a period', 'Days in a period'],
    inputLimit: 'Max. input',
    outputLimit: 'Max. output',
    groups: 'Groups',
    addGroup: 'Add a group',
    addPrices: 'Add prices of a model',
    accounts: 'Accounts',
    newAccount: 'New account',
    firstTopUp: 'First top-up',
    group: 'Group',
    keys: 'API keys',
    newKey: 'New key',
    done: 'Done',
    calls: 'All calls',
    review: 'Check and review',
    publish: 'Publish',
    chargedAt: 'acme-large: output ¥16 → ¥14 from 2099-12-01',
  },
  zh: {
    menu: '菜单',
    addProvider: '添加供应商',
    preset: '预设',
    address: '地址',
    models: '模型',
    addModel: '添加模型',
    name: /^名称/,
    input: '输入',
    output: '输出',
    providerModel: '供应商端模型名称',
    actions: (name: string) => `${name} 的操作`,
    copy: '复制',
    later: '定时生效的价格',
    from: /^起始日期/,
    plans: '套餐',
    addPlan: '添加套餐',
    planCounts: ['每 5 小时调用次数', '每周调用次数', '并发', '每周期 token', '周期天数'],
    inputLimit: '最大输入',
    outputLimit: '最大输出',
    groups: '分组',
    addGroup: '添加分组',
    addPrices: '添加模型的价格',
    accounts: '账户',
    newAccount: '创建账户',
    firstTopUp: '首次充值',
    group: '分组',
    keys: 'API 密钥',
    newKey: '创建密钥',
    done: '完成',
    calls: '全部调用',
    review: '检查并核对',
    publish: '发布',
    chargedAt: 'acme-large：输出 ¥16 → ¥14 自 2099-12-01 起',
  },
};

/**
 * Adds a provider, models, a plan, a group, an account and a key, and makes a call. The console is open at `#/operator`, as an operator.
 * Returns the key and the person, whose time was counted.
 */
export async function makeFirstCall(
  server: TestGateway,
  console: OpenConsole,
  language: keyof typeof WORDS,
  device: Device,
): Promise<{ readonly key: string; readonly person: PractisedPerson }> {
  server.provider.respond = json(200, chatCompletion(USAGE));
  const { page } = console;
  const words = WORDS[language];
  const person = new PractisedPerson(page, device, words.menu);
  const dialog = page.getByRole('dialog');
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const inDialog = (name: string) => dialog.getByRole('button', { name, exact: true });
  const field = (name: string | RegExp) => dialog.getByLabel(name, { exact: typeof name === 'string' });
  const id = dialog.getByLabel('ID', { exact: false }).first();
  /** Required fields have an asterisk in their label. */
  const required = (name: string) => dialog.getByLabel(name).first();
  const publish = async (...shown: string[]) => {
    await person.command(inDialog(words.review));
    for (const each of shown) await dialog.getByText(each).first().waitFor();
    await person.command(inDialog(words.publish));
    await dialog.waitFor({ state: 'hidden' });
  };

  // A provider from a preset. Only its address differs from that of the vendor.
  await console.assertAccessible();
  await person.command(page.getByRole('link', { name: words.addProvider, exact: true }));
  await person.choose(field(words.preset), { label: 'DeepSeek · chat' });
  await required(words.address).fill(`${server.provider.url}/v1`);
  await publish();

  // Two models, and a price from a date.
  await person.menu(words.models);
  await person.command(button(words.addModel));
  await person.type([field(words.name).first(), 'acme-large']);
  await person.type([field(words.input), '4'], [field(words.output), '16']);
  await person.type([required(words.providerModel), 'large-1']);
  await publish('¥0.056');
  await person.command(button(words.actions('acme-large')));
  await person.command(page.getByRole('menuitem', { name: words.copy, exact: true }));
  await person.type([field(words.name).first(), 'acme-small']);
  await person.type([field(words.input), '1'], [field(words.output), '2']);
  await person.type([required(words.providerModel), 'small-1']);
  await publish('¥0.012');
  await person.command(button(words.actions('acme-large')));
  await person.command(page.getByRole('menuitem', { name: words.later, exact: true }));
  await person.type([field(words.from), '2099-12-01']);
  await person.type([field(words.output), '14']);
  await publish(words.chargedAt);

  await person.menu(words.plans);
  await person.command(button(words.addPlan));
  await person.type([id, 'pro'], [field(words.name).last(), 'Pro']);
  await person.option(dialog.getByRole('combobox', { name: words.models }), 'acme-small');
  const counts = ['100', '1000', '2', '1000000', '30'];
  await person.type(
    ...words.planCounts.map((name, index) => [required(name), counts[index]!] as const),
    // The price of a period, which may stay empty, is between them.
    [required(words.inputLimit), '4MiB'],
    [required(words.outputLimit), '1000'],
  );
  await publish();

  await person.menu(words.groups);
  await person.command(button(words.addGroup));
  await person.type([id, 'gold'], [field(words.name).last(), 'Gold']);
  await person.choose(field(words.addPrices), 'acme-large');
  await person.type([field(words.input), '3'], [field(words.output), '12']);
  await publish();

  await person.menu(words.accounts);
  await person.command(button(words.newAccount));
  await person.type([field(words.name).first(), 'alice']);
  await person.type([field(words.firstTopUp), '10']);
  await page.locator('option[value=gold]').waitFor({ state: 'attached' });
  await person.choose(field(words.group), 'gold');
  await person.command(inDialog(words.newAccount));
  await person.command(page.getByRole('tab', { name: words.keys, exact: true }));
  await person.command(button(words.newKey));
  await person.command(inDialog(words.newKey));
  const key = (await page.getByText(/^sk-fg-\w{20,}$/).textContent())!;
  await person.command(dialog.getByRole('button', { name: words.copy, exact: true }));
  await person.command(inDialog(words.done));

  const hello = { model: 'acme-large', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await call(`${server.url}/v1/chat/completions`, key, hello);
  assert.equal(answer.status, 200, answer.text);
  // 1,000 tokens at ¥3 and 100 tokens at ¥12 per million, the prices of the group.
  await until(async () => (await server.admin('GET', '/calls')).body.data[0]?.chargeYuan === '0.0042');
  await person.menu(words.calls);
  await page.getByText('¥0.0042').locator('visible=true').first().waitFor();
  await console.assertAccessible();
  return { key, person };
}
