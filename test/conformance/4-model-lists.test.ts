import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { askFor, assertRefusal } from './addresses.ts';
import { createSubscriber, plansText } from './plans.ts';

const ACME =
  'aliases: [acme-v3], released: 2026-10-01, contextLength: "200000", maxOutputTokens: "64000", operations: [chat, responses], ' +
  'price: { input: "1", output: "1" }, routes: [{ provider: chatty, model: x }]';
const MODELS = ['page-1', 'page-2', 'page-3', 'page-4'];

describe('4 Endpoints', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    const model =
      '{ operations: [messages], price: { input: "1", output: "1" }, routes: [{ provider: messy, model: x }] }';
    gateway = await startGateway({
      models: `${MODELS.map((id) => `  ${id}: ${model}\n`).join('')}  acme-labs/Acme-V3: { ${ACME} }\n`,
      plans: plansText({ paged: { models: MODELS } }),
    });
    account = await createSubscriber(gateway, 'paged');
  });
  after(() => gateway.stop());

  const ask = (path: string, headers: Record<string, string> = {}) =>
    askFor(gateway.url, path, { headers: { 'x-api-key': account.key, ...headers } });

  const bearer = () => ({ authorization: `Bearer ${account.key}` });

  async function pageAt(query: string, path = '/altproto/coding/v1/models') {
    const { status, text, json } = await ask(`${path}?${query}`);
    assert.equal(status, 200, text);
    const { data, has_more, first_id, last_id } = json;
    const ids = data.map(({ id }: { id: string }) => id);
    assert.deepEqual([first_id, last_id], [ids[0] ?? null, ids.at(-1) ?? null]);
    return [ids, has_more];
  }

  it('4 a list of models is complete without a limit', async () => {
    assert.deepEqual(await pageAt(''), [MODELS, false]);
    assert.deepEqual(await pageAt('limit='), [MODELS, false]);
  });

  it('4 limit truncates a list of models, and has_more reports it', async () => {
    assert.deepEqual(await pageAt('limit=3'), [MODELS.slice(0, 3), true]);
    assert.deepEqual(await pageAt('limit=4'), [MODELS, false]);
    assert.deepEqual(await pageAt('limit=1000'), [MODELS, false]);
  });

  it('4 after_id continues after a model, and before_id returns the ones just before a model', async () => {
    assert.deepEqual(await pageAt('after_id=page-1&limit=2'), [['page-2', 'page-3'], true]);
    assert.deepEqual(await pageAt('after_id=page-3&limit=2'), [['page-4'], false]);
    assert.deepEqual(await pageAt('after_id=page-4'), [[], false]);
    assert.deepEqual(await pageAt('before_id=page-4&limit=2'), [['page-2', 'page-3'], true]);
    assert.deepEqual(await pageAt('before_id=page-2&limit=2'), [['page-1'], false]);
    assert.deepEqual(await pageAt('after_id=page-1&before_id=page-4&limit=1'), [['page-2'], true]);
  });

  it('4 every list of models has pages', async () => {
    for (const path of [
      '/altproto/coding/v1/models',
      '/v1/coding/altproto/models',
      '/v1/coding/models',
      '/coding/models',
    ]) {
      assert.deepEqual(await pageAt('limit=1&after_id=page-2', path), [['page-3'], true]);
    }
    for (const path of ['/altproto/v1/models', '/v1/models', '/models']) {
      assert.deepEqual(await pageAt('limit=2&after_id=page-1', path), [['page-2', 'page-3'], true]);
    }
    const chat = await ask('/v1/models?limit=1', { authorization: `Bearer ${account.key}` });
    assert.deepEqual([chat.json.object, chat.json.data.length, chat.json.has_more], ['list', 1, true]);
  });

  it('4 a limit other than an integer of at least 1, or an id that is not in the list, is 400', async () => {
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=-1', 'limit'],
      ['limit=two', 'limit'],
      ['limit=1.5', 'limit'],
      ['limit=1&limit=2', 'limit'],
      ['after_id=nothing', 'after_id'],
      ['before_id=test-hidden', 'before_id'],
    ] as const) {
      const code = 'invalid_request_error';
      assertRefusal(await ask(`/altproto/v1/models?${query}`), 'messages', { status: 400, code, type: code });
      const chat = await askFor(gateway.url, `/v1/models?${query}`, { headers: bearer() });
      assertRefusal(chat, 'chat', { status: 400, code, type: code, param });
    }
  });

  it('4 lists and details have the newer fields under the versions that know them', async () => {
    for (const [version, count] of [
      ['2023-06-01', 7],
      ['2026-10-21', 11],
    ] as const) {
      for (const path of ['/altproto/v1/models', '/v1/models', '/v1/coding/models', '/altproto/coding/v1/models']) {
        const { json } = await ask(path, { 'anthropic-version': version });
        for (const model of json.data) assert.equal(Object.keys(model).length, count, path);
      }
    }
  });

  it('4 a list for other stages of life than active is empty', async () => {
    assert.deepEqual(await pageAt('lifecycle[]=deprecated&lifecycle[]=retired'), [[], false]);
    assert.deepEqual(await pageAt('lifecycle[]=active&lifecycle[]=retired'), [MODELS, false]);
    assert.deepEqual(await pageAt('lifecycle=active'), [MODELS, false]);
  });

  it('4 at /v1/models every client sees all models, a messages client in its own form', async () => {
    const listFor = async (headers: Record<string, string>) => {
      const { json } = await askFor(gateway.url, '/v1/models', { headers });
      return json.data as readonly {
        readonly id: string;
        readonly object?: string;
        readonly max_tokens?: number;
        readonly canonical_id?: string;
      }[];
    };
    const bearer = { authorization: `Bearer ${account.key}` };
    // Tools of the chat family may send the key in both headers.
    const forChat = [bearer, { ...bearer, 'x-api-key': account.key }];
    const forMessages = [{ 'x-api-key': account.key }, { ...bearer, 'anthropic-version': '2023-06-01' }];
    const listed = await listFor(bearer);
    const canonicalIds = listed.flatMap(({ id, canonical_id }) => (canonical_id === undefined ? [id] : []));
    assert.ok(canonicalIds.includes('test-chat') && canonicalIds.includes('test-messages'));
    for (const headers of [...forChat, ...forMessages]) {
      const isMessages = forMessages.includes(headers as (typeof forMessages)[number]);
      const models = await listFor(headers);
      const canonical = models.filter(({ canonical_id }) => canonical_id === undefined);
      assert.deepEqual(
        canonical.map(({ id }) => id),
        canonicalIds,
      );
      assert.equal(models.length > canonical.length, !isMessages, 'only the chat form lists aliases');
      for (const model of models)
        assert.deepEqual(['max_tokens' in model, 'object' in model], [isMessages, !isMessages]);
    }
  });

  it('4 a model has its release date, its owner and its limits; an alias has the canonical id', async () => {
    const { json } = await ask('/v1/models', bearer());
    const shown = json.data.filter(({ id }: { id: string }) => /acme/i.test(id));
    const acme = {
      id: 'acme-labs/Acme-V3',
      object: 'model',
      created: Date.parse('2026-10-01T00:00:00Z') / 1_000,
      owned_by: 'acme-labs',
      type: 'model',
      display_name: 'acme-labs/Acme-V3',
      created_at: '2026-10-01T00:00:00.000Z',
      context_length: 200_000,
      max_output_tokens: 64_000,
    };
    assert.deepEqual(shown, [acme, { ...acme, id: 'acme-v3', canonical_id: acme.id }]);
  });

  it('4 an id may have slashes, as they are or encoded, at every address of a model', async () => {
    for (const base of ['/v1/models', '/models', '/v1/v1/models']) {
      for (const id of ['acme-labs/Acme-V3', 'acme-labs%2FAcme-V3', 'acme-labs/Acme-V3/', 'acme-v3']) {
        const { status, json } = await ask(`${base}/${id}`, bearer());
        assert.deepEqual([status, json.id], [200, 'acme-labs/Acme-V3'], `${base}/${id}`);
      }
    }
    const expected = { status: 404, code: 'model_not_found', type: 'invalid_request_error', param: 'model' };
    assertRefusal(await ask('/v1/models/acme-labs/None/at/all', bearer()), 'chat', expected);
    assertRefusal(await ask('/altproto/v1/models/acme-labs/Acme-V3'), 'messages', {
      status: 404,
      code: 'model_not_found',
      type: 'not_found_error',
    });
  });

  it('4 errors at addresses of both families have the envelope of the client', async () => {
    for (const path of ['/v1/models/none', '/v1/coding/models/none']) {
      const notFound = { status: 404, code: 'model_not_found' };
      assertRefusal(await ask(path), 'messages', { ...notFound, type: 'not_found_error' });
      const chat = await askFor(gateway.url, path, { headers: bearer() });
      assertRefusal(chat, 'chat', { ...notFound, type: 'invalid_request_error', param: 'model' });
    }
    const headers = { 'x-api-key': 'sk-fg-wrong' };
    const unauthorized = { status: 401, code: 'invalid_api_key', type: 'authentication_error' };
    assertRefusal(await askFor(gateway.url, '/v1/models', { headers }), 'messages', unauthorized);
  });

  it('4 Codex, identified by its version, gets the models that support responses in its own format', async () => {
    const codex = { ...bearer(), 'user-agent': 'codex_exec/0.171.0' };
    const { json } = await askFor(gateway.url, '/v1/models?client_version=0.171.0', { headers: codex });
    assert.deepEqual(
      json.models.map(({ slug }: { slug: string }) => slug),
      ['test-responses', 'acme-labs/Acme-V3'],
    );
    const { base_instructions, ...acme } = json.models[1];
    assert.match(base_instructions, /coding agent/);
    assert.deepEqual(acme, {
      slug: 'acme-labs/Acme-V3',
      display_name: 'acme-labs/Acme-V3',
      description: null,
      supported_reasoning_levels: [],
      shell_type: 'shell_command',
      visibility: 'list',
      supported_in_api: true,
      priority: 0,
      supports_reasoning_summaries: false,
      support_verbosity: false,
      truncation_policy: { mode: 'bytes', limit: 10_000 },
      supports_parallel_tool_calls: true,
      experimental_supported_tools: [],
      context_window: 200_000,
    });
  });
});
