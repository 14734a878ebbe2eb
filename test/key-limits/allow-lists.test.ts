import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { REFUSALS_PER_SECOND } from '../../src/http/refusal-throttle.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { families, requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatResponse, json } from '../support/provider.ts';
import { until } from '../support/until.ts';

/** The models that a key may use, and the networks that it may be used from. */

const MODELS = `
  renamed:
    aliases: [renamed-latest]
    operations: [messages]
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: upstream-messages }]
  executor:
    operations: [messages]
    innerModels: { vendor-dear: dear }
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: vendor-cheap }]
  dear:
    operations: [messages]
    price: { input: "100", output: "1000" }
    routes: [{ provider: messy, model: vendor-dear }]
`;

const CHAT = '/v1/chat/completions';
const LOOK_UP = 'accounts.select-standings';

interface Lists {
  readonly allowedModels?: readonly string[] | null;
  readonly allowedNetworks?: readonly string[] | null;
}

async function limit(g: TestGateway, { keyId }: TestAccount, lists: Lists) {
  const { status, body } = await g.admin('PATCH', `/keys/${keyId}`, lists);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function accountWith(g: TestGateway, lists: Lists, options = {}): Promise<TestAccount> {
  const account = await g.createAccount(options);
  await limit(g, account, lists);
  return account;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
async function get(g: TestGateway, path: string, key: string | null): Promise<{ status: number; body: any }> {
  const response = await fetch(g.url + path, { headers: key === null ? {} : { authorization: `Bearer ${key}` } });
  return { status: response.status, body: await response.json() };
}

function assertDenied(response: ClientResponse, message: RegExp): void {
  assert.equal(response.status, 403, response.text);
  assert.deepEqual(
    [response.headers['x-error-code'], response.headers['x-should-retry']],
    ['permission_denied', 'false'],
  );
  assert.equal(response.json.error.type, 'permission_error');
  assert.match(response.json.error.message, message);
}

describe('the allow-list of models of a key', { timeout: 60_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ models: MODELS });
  });
  after(() => g?.stop());

  async function assertRefused(
    account: TestAccount,
    path: string,
    body: object | Buffer,
    headers = {},
  ): Promise<ClientResponse> {
    const asked = g.provider.requests.length;
    const response = await call(g.url + path, account.key, body, { headers });
    assert.equal(response.status, 403, response.text);
    assert.equal(g.provider.requests.length, asked);
    assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
    return response;
  }

  for (const family of families) {
    it(`lets ${family.name} call the models on it, by any name, and refuses all others with its list`, async () => {
      const [own, alias, refused] =
        family.name === 'chat'
          ? ['test-chat', 'test-chat-latest', 'test-both']
          : ['renamed', 'renamed-latest', 'test-messages'];
      const account = await accountWith(g, { allowedModels: [alias, 'test-rerank'] });
      for (const isStream of [false, true]) {
        const response = await assertRefused(account, family.path, requestOf(isStream, refused));
        assertDenied(
          response,
          new RegExp(`^This API key may not use the model "${refused}"\\. Allowed models: ${own}, test-rerank\\.$`),
        );
      }
      // A model that the address does not have is not found, whatever the key may use.
      const absent = await call(g.url + family.path, account.key, requestOf(false, 'test-nothing'));
      assert.deepEqual([absent.status, absent.headers['x-error-code']], [404, 'model_not_found']);
      g.provider.respond = json(200, family.whole());
      for (const model of [own, alias]) {
        assert.equal((await call(g.url + family.path, account.key, requestOf(false, model))).status, 200, model);
      }
    });
  }

  it('applies to every kind of call, and to estimates', async () => {
    const account = await accountWith(g, { allowedModels: ['test-chat'] });
    const messages = [{ role: 'user', content: 'Hello' }];
    for (const [path, body] of [
      ['/v1/embeddings', { model: 'test-embeddings', input: 'Hello' }],
      ['/v1/rerank', { model: 'test-rerank', query: 'a', documents: ['b'] }],
      ['/v1/responses', { model: 'test-responses', input: 'Hello' }],
      ['/v1/responses/compact', { model: 'test-responses-latest', input: 'Hello' }],
      ['/v1/images/generations', { model: 'gpt-image-2', prompt: 'A gate' }],
      ['/v1/images/generations', { prompt: 'A gate' }],
      ['/v1/messages', { model: 'test-both', max_tokens: 5, messages }],
      ['/v1/responses/input_tokens', { model: 'test-responses', input: 'Hello' }],
      ['/v1/messages/count_tokens', { model: 'test-messages', messages }],
      ['/v1/coding/chat/completions', { model: 'test-both', messages }],
    ] as const) {
      const response = await assertRefused(account, path, body);
      assert.match(response.text, /Allowed models: test-chat\./, path);
    }
    await limit(g, account, { allowedModels: ['test-messages'] });
    const counted = await call(`${g.url}/v1/messages/count_tokens`, account.key, { model: 'test-messages', messages });
    assert.equal(counted.status, 200, counted.text);
  });

  it('applies to models named inside a request, with the field that names them', async () => {
    const tools = [{ type: 'advisor_20260301', name: 'advisor', model: 'vendor-dear' }];
    const body = { ...requestOf(false, 'executor'), tools };
    const account = await accountWith(g, { allowedModels: ['executor'] });
    const response = await assertRefused(account, '/v1/messages', body);
    assertDenied(response, /"dear"\. Allowed models: executor\./);
    await limit(g, account, { allowedModels: ['executor', 'dear'] });
    g.provider.respond = json(200, { type: 'message', usage: { input_tokens: 1, output_tokens: 1 } });
    assert.equal((await call(`${g.url}/v1/messages`, account.key, body)).status, 200);
  });

  it('applies to a model that an earlier response restores', async () => {
    const account = await g.createAccount();
    const usage = { input_tokens: 9, output_tokens: 4, total_tokens: 13 };
    g.provider.respond = json(200, { id: 'resp_allow', object: 'response', status: 'completed', output: [], usage });
    const first = await call(`${g.url}/v1/responses`, account.key, { model: 'test-responses', input: 'x' });
    assert.equal(first.status, 200, first.text);
    await limit(g, account, { allowedModels: ['test-chat'] });
    const asked = g.provider.requests.length;
    const next = { model: null, input: 'x', previous_response_id: 'resp_allow' };
    assertDenied(
      await call(`${g.url}/v1/responses/compact`, account.key, next),
      /"test-responses"\. Allowed models: test-chat/,
    );
    assert.equal(g.provider.requests.length, asked);
  });

  it('limits lists of models, and the public catalog does not change', async () => {
    const account = await accountWith(g, { allowedModels: ['test-both', 'test-chat'] });
    const ids = async (path: string) => (await get(g, path, account.key)).body.data.map(({ id }: { id: string }) => id);
    for (const path of ['/v1/models', '/models', '/v1/v1/models']) {
      assert.deepEqual(await ids(path), ['test-chat', 'test-chat-latest', 'test-both'], path);
    }
    for (const path of ['/altproto/v1/models', '/altproto/models'])
      assert.deepEqual(await ids(path), ['test-both'], path);
    for (const path of ['/v1/coding/models', '/altproto/coding/v1/models', '/v1/coding/altproto/models']) {
      assert.deepEqual(await ids(path), [], path);
    }
    for (const [path, status] of [
      ['/v1/models/test-chat', 200],
      ['/v1/models/test-chat-latest', 200],
      ['/v1/models/test-messages', 404],
      ['/altproto/v1/models/test-both', 200],
      ['/altproto/v1/models/test-messages', 404],
    ] as const) {
      assert.equal((await get(g, path, account.key)).status, status, path);
    }
    const everything = await get(g, '/v1/public/models', null);
    assert.ok(everything.body.models.length > 5);
    assert.deepEqual((await get(g, '/v1/public/models', account.key)).body, everything.body);
  });

  it('may name a model that the configuration loses, without harm', async () => {
    const account = await accountWith(g, { allowedModels: ['dear'] });
    const text = (models: string) => testConfigText(g.provider.url, { models });
    try {
      g.gateway.reload(parseConfig(text(''), 'test.yaml', {}));
      assertDenied(
        await assertRefused(account, CHAT, requestOf(false, 'test-chat')),
        /None of the allowed models is currently available\.$/,
      );
      assert.deepEqual((await get(g, '/v1/models', account.key)).body.data, []);
      // Models that it already has do not prevent a change, and another key cannot get them.
      assert.deepEqual((await limit(g, account, { allowedModels: ['dear', 'test-chat'] })).allowedModels, [
        'dear',
        'test-chat',
      ]);
      const refused = await g.admin('POST', `/accounts/${account.id}/keys`, { allowedModels: ['dear'] });
      assert.equal(refused.status, 400);
      // The model has become an alias of another one.
      g.gateway.reload(
        parseConfig(
          text(
            MODELS.replace('  dear:', '  dearest:\n    aliases: [dear]').replace(
              'vendor-dear: dear',
              'vendor-dear: dearest',
            ),
          ),
          'test.yaml',
          {},
        ),
      );
      g.provider.respond = json(200, families[1]!.whole());
      for (const model of ['dear', 'dearest']) {
        assert.equal((await call(`${g.url}/v1/messages`, account.key, requestOf(false, model))).status, 200);
      }
      assert.equal((await get(g, '/v1/models/dear', account.key)).body.id, 'dearest');
    } finally {
      g.gateway.reload(parseConfig(text(MODELS), 'test.yaml', {}));
    }
  });

  it('accepts only names in the catalog, stores canonical ids, and is removed by null', async () => {
    const account = await g.createAccount();
    const path = `/keys/${account.keyId}`;
    const set = (allowedModels: unknown) => g.admin('PATCH', path, { allowedModels });
    assert.deepEqual((await set(['test-chat-latest', 'test-chat', 'gpt-image-1.5'])).body.allowedModels, [
      'test-chat',
      'gpt-image-2',
    ]);
    for (const [given, message] of [
      [['test-chta'], 'allowedModels: There is no model "test-chta" that may be called. Did you mean "test-chat"?'],
      [['test-chat', 'test-hidden'], /no model "test-hidden" that may be called/],
      [[], 'allowedModels: Specify at least one of the models, or null for no allow-list.'],
      [Array.from({ length: 101 }, () => 'test-chat'), 'allowedModels: At most 100 models.'],
      ['test-chat', 'allowedModels: Expected a list of models, or null for no allow-list.'],
    ] as const) {
      const { status, body } = await set(given);
      assert.deepEqual([status, body.error.param], [400, 'allowedModels']);
      if (typeof message === 'string') assert.equal(body.error.message, message);
      else assert.match(body.error.message, message);
    }
    const { body } = await g.admin('GET', `/accounts/${account.id}/keys`);
    assert.deepEqual(body.data[0].allowedModels, ['test-chat', 'gpt-image-2']);
    // A change of something else keeps the list.
    assert.deepEqual((await g.admin('PATCH', path, { dailyCalls: 9 })).body.allowedModels, [
      'test-chat',
      'gpt-image-2',
    ]);
    assert.equal((await set(null)).body.allowedModels, null);
    const created = await g.admin('POST', `/accounts/${account.id}/keys`, { allowedModels: ['test-chat-latest'] });
    assert.deepEqual([created.status, created.body.allowedModels], [201, ['test-chat']]);
  });

  it('costs calls no statement', async () => {
    const account = await accountWith(g, { allowedModels: ['test-chat'], allowedNetworks: ['127.0.0.1'] });
    g.provider.respond = chatResponse();
    const send = () => call(g.url + CHAT, account.key, requestOf(false, 'test-chat'));
    // Until this node is notified of its own change of the key, and reads it again.
    await until(async () => {
      const before = g.observed.statement(LOOK_UP).asked;
      assert.equal((await send()).status, 200);
      return g.observed.statement(LOOK_UP).asked === before;
    });
    const { asked } = g.observed.statement(LOOK_UP);
    for (let i = 0; i < 3; i++) assert.equal((await send()).status, 200);
    assert.equal(g.observed.statement(LOOK_UP).asked, asked);
  });
});

describe('the allow-list of networks of a key', { timeout: 60_000 }, () => {
  let monotonicMs = 0;
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ monotonicMs: () => monotonicMs, server: 'trustedProxies: [127.0.0.1]' });
    g.provider.respond = chatResponse();
  });
  after(() => g?.stop());
  beforeEach(() => {
    monotonicMs += 10_000;
  });

  const from = (address: string, key: string, path = CHAT): Promise<ClientResponse> =>
    call(g.url + path, key, requestOf(false, 'test-chat'), { headers: { 'x-forwarded-for': address } });
  const balanceFrom = async (address: string, key: string, path: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': address };
    const response = await fetch(g.url + path, { headers });
    await response.text();
    return response.status;
  };

  for (const [networks, inside, outside] of [
    [['10.0.0.0/8'], ['10.1.2.3', '::ffff:10.1.2.3', '10.255.0.1:4711'], ['11.0.0.1', '127.0.0.1', '::1', 'nonsense']],
    [['203.0.113.7'], ['203.0.113.7'], ['203.0.113.8', '::ffff:203.0.113.8']],
    [
      ['::ffff:192.0.2.0/120', '198.51.100.4'],
      ['192.0.2.255', '198.51.100.4'],
      ['192.0.3.0', '198.51.100.5'],
    ],
    [['2001:db8:7::/48'], ['2001:db8:7::1', '[2001:DB8:7:0:0:0:0:2]:443'], ['2001:db8:8::1', '10.0.0.1']],
    [['2001:db8::1'], ['2001:db8::1', '2001:0db8:0:0::0001'], ['2001:db8::2']],
  ] as const) {
    it(`of ${networks.join(' and ')} allows only these addresses, behind a trusted proxy`, async () => {
      const account = await accountWith(g, { allowedNetworks: networks });
      for (const address of inside) assert.equal((await from(address, account.key)).status, 200, address);
      for (const address of outside) {
        const response = await from(address, account.key);
        assertDenied(response, /^This API key may not be used from this IP address\.$/);
      }
      // What a client adds before its address is not believed.
      assert.equal((await from(`${inside[0]}, 11.0.0.1`, account.key)).status, 403);
    });
  }

  it('applies to every address with a key, and to no other', async () => {
    const account = await accountWith(g, { allowedNetworks: ['10.0.0.0/8'] });
    for (const path of [
      '/v1/models',
      '/v1/models/test-chat',
      '/altproto/v1/models',
      '/v1/user/balance',
      '/user/balance',
      '/v1/coding/user/balance',
    ]) {
      assert.equal(await balanceFrom('11.0.0.1', account.key, path), 403, path);
      assert.equal(await balanceFrom('10.0.0.1', account.key, path), 200, path);
    }
    assert.equal((await from('11.0.0.1', account.key, '/v1/messages/count_tokens')).status, 403);
    assert.equal(await balanceFrom('11.0.0.1', account.key, '/v1/public/models'), 200);
  });

  it('is checked before a body is read', async () => {
    const account = await accountWith(g, { allowedNetworks: ['10.0.0.0/8'] });
    const responded = Promise.withResolvers<number>();
    const outgoing = httpRequest(g.url + CHAT, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${account.key}`,
        'content-type': 'application/json',
        'content-length': 1_000_000,
        'x-forwarded-for': '11.0.0.1',
      },
    });
    outgoing.on('response', (response) => responded.resolve(response.statusCode!));
    outgoing.on('error', responded.reject);
    outgoing.flushHeaders();
    assert.equal(await responded.promise, 403);
    outgoing.off('error', responded.reject).on('error', () => undefined);
    outgoing.destroy();
  });

  it('accepts addresses and ranges, normalises them, and is removed by null', async () => {
    const account = await g.createAccount();
    const set = (allowedNetworks: unknown) => g.admin('PATCH', `/keys/${account.keyId}`, { allowedNetworks });
    const given = ['10.0.0.0/8', '::ffff:10.0.0.0/104', '2001:DB8:0::/32', '192.0.2.1/32', '0.0.0.0/0'];
    assert.deepEqual((await set(given)).body.allowedNetworks, [
      '10.0.0.0/8',
      '2001:db8::/32',
      '192.0.2.1',
      '0.0.0.0/0',
    ]);
    for (const wrong of ['10.0.0.0/33', 'example.com', '10.0.0', '']) {
      const { status, body } = await set([wrong]);
      assert.deepEqual([status, body.error.param], [400, 'allowedNetworks.0'], wrong);
    }
    assert.equal((await set([])).status, 400);
    assert.equal((await set(null)).body.allowedNetworks, null);
    assert.equal((await from('8.8.8.8', account.key)).status, 200);
  });

  it('refuses floods from other networks, which neither delay nor refuse the key where it is allowed', async () => {
    const account = await accountWith(g, { allowedNetworks: ['10.0.0.0/8'] });
    assert.equal((await from('10.0.0.1', account.key)).status, 200);
    for (let i = 0; i < REFUSALS_PER_SECOND; i++) assert.equal((await from('11.0.0.1', account.key)).status, 403);
    // By a clock that stands still the next ones from there are delayed, like those of a wrong key; the last by a second.
    const delayed = Promise.all(Array.from({ length: REFUSALS_PER_SECOND }, () => from('11.0.0.1', account.key)));
    const first = await Promise.race([delayed.then(() => 'delayed'), from('10.0.0.1', account.key)]);
    assert.equal(typeof first === 'string' ? first : first.status, 200);
    for (const { status } of await delayed) assert.equal(status, 403);
    // Nor is the refusal cached: the list is checked for every request.
    await limit(g, account, { allowedNetworks: ['11.0.0.0/8'] });
    assert.equal((await from('11.0.0.1', account.key)).status, 200);
    assert.equal((await from('10.0.0.1', account.key)).status, 403);
  });

  it('does not reveal to other networks how the account was refused where the key is allowed', async () => {
    const poor = await accountWith(g, { allowedNetworks: ['10.0.0.0/8'] }, { balanceYuan: '0' });
    for (let i = 0; i <= REFUSALS_PER_SECOND; i++) assert.equal((await from('10.0.0.1', poor.key)).status, 402);
    assert.equal((await from('11.0.0.1', poor.key)).status, 403);
    // Refusals of other networks do not count against the account.
    monotonicMs += 10_000;
    for (let i = 0; i < REFUSALS_PER_SECOND; i++) assert.equal((await from('12.0.0.1', poor.key)).status, 403);
    const { asked } = g.observed.statement('reservations.admit');
    for (let i = 0; i < 3; i++) assert.equal((await from('10.0.0.1', poor.key)).status, 402);
    assert.equal(g.observed.statement('reservations.admit').asked, asked + 3);
  });
});

describe('the allow-lists of a key, on two nodes', { timeout: 60_000 }, () => {
  it('reach each of them like a revocation', async () => {
    const first = await startGateway();
    const second = await startGateway({ stored: first.stored, database: first.stored.openAnother() });
    try {
      const account = await first.createAccount();
      second.provider.respond = chatResponse();
      const send = () => call(second.url + CHAT, account.key, requestOf(false, 'test-chat'));
      const becomes = (status: number) => until(async () => (await send()).status === status);
      assert.equal((await send()).status, 200);
      await limit(first, account, { allowedModels: ['test-both'] });
      await becomes(403);
      await limit(first, account, { allowedModels: null });
      await becomes(200);
      await limit(first, account, { allowedNetworks: ['10.0.0.0/8'] });
      await becomes(403);
      await limit(first, account, { allowedNetworks: ['127.0.0.1'] });
      await becomes(200);
    } finally {
      await second.stop();
      await first.stop();
    }
  });
});
