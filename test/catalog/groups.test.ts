import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parseYuan } from '../../src/lib/yuan.ts';
import { call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { send, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { recomputedCharge } from '../support/recomputed-charge.ts';
import { until } from '../support/until.ts';

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
/** The price per token of the test models: input 3000, output 13000. */
const LIST_NANO = 1_000n * 3_000n + 100n * 13_000n;
/** Input 2000, output 7000. */
const GROUP_NANO = 1_000n * 2_000n + 100n * 7_000n;
const LATER_NANO = 1_000n * 5_000n + 100n * 7_000n;

const groupsAt = (laterFrom: string) => `
groups:
  resellers:
    name: Resellers
    priceFactorBasisPoints: 8000
    models: [test-chat, test-two, test-messages]
    prices: { test-chat: { input: "2", output: "7", later: [{ from: "${laterFrom}", input: "5", output: "7" }] } }
    limits: { requestsPerMinute: 1000, dailySpendCapYuan: "9" }
  own-vendor: { name: Own vendor, providers: [spare] }
`;

const groupsOfOneProvider = (laterFrom: string) =>
  groupsAt(laterFrom).replace('test-two, ', '').replace(', providers: [spare]', '');

describe('groups of accounts', { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let spare: ScriptedProvider;
  let g: TestGateway;
  /** Another node of the same database. */
  let other: TestGateway;

  before(async () => {
    spare = await startProvider();
    stored = await createTestDatabase();
    const options = {
      stored,
      usageIntervalMs: 5,
      providers: `  spare: { protocol: chat, baseUrl: ${spare.url}/v1, apiKey: provider-secret-key-3 }`,
      models: `
  test-two:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: at-chatty }, { provider: spare, model: at-spare, priority: 9 }]
`,
      groups: groupsAt('2999-01-01'),
    };
    g = await startGateway({ ...options, database: stored.openAnother() });
    other = await startGateway({ ...options, database: stored.openAnother() });
    for (const provider of [g.provider, other.provider, spare]) provider.respond = json(200, chatCompletion(USAGE));
  });
  after(async () => {
    await g?.stop();
    await other?.stop();
    await spare?.close();
    await stored?.remove();
  });

  const bodyOf = (model: string) => ({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] });
  const callModel = ({ key }: Pick<TestAccount, 'key'>, model = 'test-chat', node = g) =>
    call(`${node.url}/v1/chat/completions`, key, bodyOf(model));

  async function change(account: TestAccount, body: object): Promise<void> {
    const { status, body: changed } = await g.admin('PATCH', `/accounts/${account.id}`, body);
    assert.equal(status, 200, JSON.stringify(changed));
    for (const [name, value] of Object.entries(body)) assert.deepEqual(changed[name], value);
  }

  async function accountWith(body: object): Promise<TestAccount> {
    const account = await g.createAccount();
    await change(account, body);
    return account;
  }

  /** A request to the account API with a key of the account. */
  async function ask(account: TestAccount, path: string) {
    const scopes = ['calls', 'account'];
    const made = await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'reader', scopes });
    const { status, text } = await send(`${g.url}/account/v1${path}`, 'GET', undefined, {
      authorization: `Bearer ${made.body.key}`,
    });
    assert.equal(status, 200, text);
    return JSON.parse(text);
  }

  /** Asserts the charge of a call, and that its record and the account API explain it. */
  async function assertCharged(account: TestAccount, model: string, listNano: bigint, basisPoints: number) {
    const { balanceNano } = await account.money();
    const response = await callModel(account, model);
    assert.equal(response.status, 200, response.text);
    const nano = (listNano * BigInt(basisPoints)) / 10_000n;
    assert.deepEqual(await account.money(), { balanceNano: balanceNano - nano, heldNano: 0n });
    const record = await account.lastCall();
    assert.equal(record.priceFactorBasisPoints, basisPoints);
    assert.equal(parseYuan(record.chargeYuan), nano);
    assert.equal(recomputedCharge(record), nano);
    const { data, priceFactorBasisPoints } = await ask(account, '/models');
    assert.equal(priceFactorBasisPoints, basisPoints);
    const { price } = data.find(({ id }: { id: string }) => id === model);
    assert.deepEqual(price, record.price);
    assert.equal((await ask(account, '/account')).priceFactorBasisPoints, basisPoints);
  }

  it('have a price list by model and a price factor for all models', async () => {
    const account = await accountWith({ groupId: 'resellers' });
    await assertCharged(account, 'test-chat', GROUP_NANO, 8_000);
    await assertCharged(account, 'test-two', LIST_NANO, 8_000);
    await assertCharged(await g.createAccount(), 'test-chat', LIST_NANO, 10_000);
  });

  it('do not change the price factor of an account that has its own', async () => {
    const account = await accountWith({ groupId: 'resellers', priceFactorBasisPoints: 12_500 });
    await assertCharged(account, 'test-chat', GROUP_NANO, 12_500);
  });

  it('show what they charge in the statements of their accounts', async () => {
    const account = await accountWith({ groupId: 'resellers' });
    assert.equal((await callModel(account)).status, 200);
    const nano = (GROUP_NANO * 8n) / 10n;
    const month = new Date().toLocaleDateString('sv-SE', { timeZone: 'Asia/Shanghai' }).slice(0, 7);
    await until(async () => (await ask(account, `/statement?month=${month}`)).models.length > 0);
    const { kinds, models } = await ask(account, `/statement?month=${month}`);
    const { amountYuan } = kinds.find(({ kind }: { kind: string }) => kind === 'charge');
    assert.equal(parseYuan(amountYuan), -nano);
    assert.deepEqual(
      models.map(({ model, netChargeYuan }: Record<string, string>) => [model, parseYuan(netChargeYuan!)]),
      [['test-chat', nano]],
    );
  });

  it('limit the models of their accounts, in calls, estimates, lists and details', async () => {
    const account = await accountWith({ groupId: 'resellers' });
    const refused = await callModel(account, 'test-both');
    assert.equal(refused.status, 403);
    assert.deepEqual([refused.json.error.code, refused.json.error.param], ['account_model_not_allowed', 'model']);
    assert.equal(
      refused.json.error.message,
      'The group "Resellers" of this account may not use the model "test-both". Allowed models: test-chat, test-two, test-messages.',
    );
    const estimate = async (model: string) => {
      const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
      return (await call(`${g.url}/v1/messages/count_tokens`, account.key, body)).status;
    };
    assert.deepEqual([await estimate('test-both'), await estimate('test-messages')], [403, 200]);
    assert.deepEqual(await listed(account), ['test-chat', 'test-messages', 'test-two']);
    assert.deepEqual([await detail(account, 'test-both'), await detail(account, 'test-two')], [404, 200]);
    const own = (await ask(account, '/models')).data.map(({ id }: { id: string }) => id);
    assert.deepEqual(own.toSorted(), ['test-chat', 'test-messages', 'test-two']);
  });

  async function get({ key }: TestAccount, path: string) {
    const { status, text } = await send(g.url + path, 'GET', undefined, { authorization: `Bearer ${key}` });
    return { status, body: JSON.parse(text) };
  }
  const listed = async (account: TestAccount): Promise<string[]> => {
    const { body } = await get(account, '/v1/models');
    const ids = body.data.filter((entry: object) => !('canonical_id' in entry)).map(({ id }: { id: string }) => id);
    return ids.toSorted();
  };
  const detail = async (account: TestAccount, model: string) => (await get(account, `/v1/models/${model}`)).status;

  it('have providers of their own, and offer only the models that these serve', async () => {
    const account = await accountWith({ groupId: 'own-vendor' });
    const [before, elsewhere] = [spare.requests.length, g.provider.requests.length];
    assert.equal((await callModel(account, 'test-two')).status, 200);
    assert.deepEqual([spare.requests.length, g.provider.requests.length], [before + 1, elsewhere]);
    assert.deepEqual((await account.lastCall()).route, { provider: 'spare', model: 'at-spare' });
    assert.deepEqual(await listed(account), ['test-two']);
    assert.equal((await callModel(account, 'test-chat')).status, 403);
    const ungrouped = await g.createAccount();
    assert.equal((await callModel(ungrouped, 'test-two')).status, 200);
    assert.equal((await ungrouped.lastCall()).route.provider, 'chatty');
  });

  it('have limits for accounts without limits of their own', async () => {
    const account = await accountWith({ groupId: 'resellers' });
    assert.equal((await callModel(account)).headers['x-ratelimit-limit-requests'], '1000');
    assert.equal((await ask(account, '/account')).dailySpendCapInForceYuan, '9');
    assert.equal((await ask(account, '/limits')).requestsPerMinute, 1_000);
    await change(account, { requestsPerMinute: 5 });
    assert.equal((await callModel(account)).headers['x-ratelimit-limit-requests'], '5');
    await change(account, { dailySpendCapYuan: '0.001' });
    assert.equal((await callModel(account)).json.error.code, 'balance_daily_limit_exceeded');
    await change(account, { requestsPerMinute: null, dailySpendCapYuan: null });
    assert.equal((await callModel(account)).status, 200);
  });

  it('take effect on every node within a second when an account moves', async () => {
    const account = await g.createAccount();
    assert.equal((await callModel(account, 'test-both', other)).status, 200);
    const steps = [
      [{ groupId: 'resellers' }, 403],
      [{ groupId: null }, 200],
      [{ allowedModels: ['test-chat'] }, 403],
      [{ allowedModels: null }, 200],
    ] as const;
    for (const [body, status] of steps) {
      await change(account, body);
      const movedAtMs = performance.now();
      await until(async () => (await callModel(account, 'test-both', other)).status === status);
      assert.ok(performance.now() - movedAtMs < 1_000, JSON.stringify(body));
      assert.equal((await callModel(account, 'test-both')).status, status);
    }
  });

  it('have prices from a later instant on', async () => {
    const fromMs = Date.now() + 2_000;
    const apart = await startGateway({ groups: groupsOfOneProvider(new Date(fromMs).toISOString()) });
    try {
      apart.provider.respond = json(200, chatCompletion(USAGE));
      const moved = await apart.createAccount();
      await apart.admin('PATCH', `/accounts/${moved.id}`, { groupId: 'resellers' });
      const charge = async (): Promise<bigint> => {
        assert.equal((await callModel(moved, 'test-chat', apart)).status, 200);
        return parseYuan((await moved.lastCall()).chargeYuan)!;
      };
      const atFactor = (nano: bigint) => (nano * 8n) / 10n;
      const early = await charge();
      if (Date.now() < fromMs) assert.equal(early, atFactor(GROUP_NANO));
      await delay(Math.max(fromMs + 50 - Date.now(), 0));
      assert.equal(await charge(), atFactor(LATER_NANO));
    } finally {
      await apart.stop();
    }
  });

  it('are listed with the number of their accounts, also those that only accounts refer to', async () => {
    const [first, second] = [
      await accountWith({ groupId: 'own-vendor' }),
      await accountWith({ groupId: 'own-vendor' }),
    ];
    const inGroup = async (group: string): Promise<string[]> => {
      const { body } = await g.admin('GET', `/accounts?group=${group}&limit=2`);
      return body.data.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await inGroup('own-vendor'), [second.id, first.id]);
    const { data } = (await g.admin('GET', '/groups')).body;
    assert.deepEqual(
      data.map(({ id, isConfigured }: Record<string, unknown>) => [id, isConfigured]),
      [
        ['resellers', true],
        ['own-vendor', true],
      ],
    );
    const [resellers, ownVendor] = data;
    assert.ok(ownVendor.accounts >= 2 && !ownVendor.hasMoreAccounts);
    assert.deepEqual(
      [resellers.pricedModels, resellers.priceFactorBasisPoints, resellers.dailySpendCapYuan],
      [['test-chat'], 8_000, '9'],
    );
  });

  it('refuse the calls of an account whose group is no longer configured', async () => {
    const account = await accountWith({ groupId: 'own-vendor' });
    assert.equal((await callModel(account, 'test-two')).status, 200);
    const lone = await startGateway({ stored, database: stored.openAnother() });
    try {
      const refused = await callModel(account, 'test-chat', lone);
      assert.equal(refused.status, 403);
      assert.match(refused.json.error.message, /^The group "own-vendor" of this account is not configured/);
      const { data } = (await lone.admin('GET', '/groups')).body;
      const found = data.find(({ id }: { id: string }) => id === 'own-vendor');
      assert.deepEqual([found.isConfigured, found.models], [false, []]);
    } finally {
      await lone.stop();
    }
  });
});

describe('the models of an account', { timeout: 60_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({
      groups: groupsOfOneProvider('2999-01-01'),
    });
    g.provider.respond = json(200, chatCompletion(USAGE));
  });
  after(() => g?.stop());

  it('can be limited, under any of their names, whatever the key may use', async () => {
    const account = await g.createAccount();
    const { body } = await g.admin('PATCH', `/accounts/${account.id}`, { allowedModels: ['test-chat-latest'] });
    assert.deepEqual(body.allowedModels, ['test-chat']);
    const status = async (model: string) => {
      const sent = { model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] };
      return call(`${g.url}/v1/chat/completions`, account.key, sent);
    };
    assert.equal((await status('test-chat-latest')).status, 200);
    const refused = await status('test-both');
    assert.deepEqual([refused.status, refused.json.error.code], [403, 'account_model_not_allowed']);
    assert.equal(
      refused.json.error.message,
      'This account may not use the model "test-both". Allowed models: test-chat.',
    );
  });

  it('and its group must exist', async () => {
    const { id } = await g.createAccount();
    const patch = async (sent: object) => (await g.admin('PATCH', `/accounts/${id}`, sent)).body.error;
    const group = await patch({ groupId: 'reseller' });
    assert.deepEqual(
      [group.code, group.param, group.message],
      ['invalid_request_error', 'groupId', 'groupId: There is no group "reseller". Did you mean "resellers"?'],
    );
    const created = await g.admin('POST', '/accounts', { name: 'alice', groupId: 'reseller' });
    assert.deepEqual([created.status, created.body.error.param], [400, 'groupId']);
    assert.equal((await patch({ allowedModels: ['nothing'] })).param, 'allowedModels');
    assert.equal((await patch({ allowedModels: [] })).param, 'allowedModels');
    const { body } = await g.admin('GET', '/accounts?group=resellers&search=x');
    assert.equal(body.error.param, 'name');
  });
});
