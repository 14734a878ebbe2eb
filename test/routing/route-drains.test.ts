import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import {
  chatResponse,
  chatStream,
  json,
  liveResponse,
  type ScriptedProvider,
  startProvider,
} from '../support/provider.ts';
import { until } from '../support/until.ts';

/** Operators take routes out of service in the database. All nodes apply this, across restarts, until it is revoked. */

const PRICE = '{ input: "3", output: "13" }';
const PRIVATE = 'resp_of_the_first_provider';
const made = (id: string) => ({
  id,
  object: 'response',
  status: 'completed',
  output: [],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
});

describe(`drained routes`, () => {
  let stored: TestDatabase;
  let first: ScriptedProvider;
  let second: ScriptedProvider;
  let gateway: TestGateway;
  let account: TestAccount;

  const options = () => ({
    stored,
    providers: `
  first: { protocol: chat, baseUrl: "${first.url}/v1", apiKey: first-secret-key }
  second: { protocol: chat, baseUrl: "${second.url}/v1", apiKey: second-secret-key }`,
    models: `
  pair: { operations: [chat, responses], price: ${PRICE}, routes: [{ provider: first, model: x }, { provider: second, model: y, priority: 1 }] }
  twice: { operations: [chat], price: ${PRICE}, routes: [{ provider: first, model: old }, { provider: first, model: new, priority: 1 }] }
  only: { operations: [chat, responses], price: ${PRICE}, routes: [{ provider: first, model: z }] }`,
  });

  before(async () => {
    stored = await createTestDatabase();
    first = await startProvider();
    second = await startProvider();
    gateway = await startGateway(options());
  });
  after(async () => {
    await gateway?.stop();
    await stored?.remove();
    await first?.close();
    await second?.close();
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
    for (const provider of [first, second]) {
      provider.requests.length = 0;
      provider.respond = chatResponse();
    }
    for (const { provider, model, providerModel } of (await gateway.admin('GET', '/routes')).body.drains) {
      assert.equal((await gateway.admin('POST', '/routes/resume', { provider, model, providerModel })).status, 200);
    }
  });

  const send = (model: string, node = gateway): Promise<ClientResponse> =>
    call(`${node.url}/v1/chat/completions`, account.key, { model, messages: [] });
  const respond = (model: string, body: object): Promise<ClientResponse> =>
    call(`${gateway.url}/v1/responses`, account.key, { model, input: 'x', ...body });
  const drain = async (target: object, more: object = {}) => {
    const { status, body } = await gateway.admin('POST', '/routes/drain', { ...target, ...more });
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const asked = () => [first.requests.length, second.requests.length];

  it('take no new calls; other routes do, until the drains are revoked', async () => {
    const drained = await drain({ provider: 'first' }, { reason: 'maintenance', by: 'alice' });
    assert.deepEqual(
      [drained.provider, drained.model, drained.providerModel, drained.reason, drained.by],
      ['first', null, null, 'maintenance', 'alice'],
    );
    assert.equal(drained.routes.length, 4);
    assert.deepEqual(drained.modelsWithoutRoutes, ['twice', 'only']);
    assert.equal((await send('pair')).status, 200);
    assert.deepEqual(asked(), [0, 1]);

    const resumed = await gateway.admin('POST', '/routes/resume', { provider: 'first' });
    assert.equal(resumed.status, 200);
    assert.equal((await send('pair')).status, 200);
    assert.deepEqual(asked(), [1, 1]);
  });

  it('are those of a provider, of a model at it, or single routes', async () => {
    await drain({ provider: 'first', model: 'twice', providerModel: 'old' });
    assert.equal((await send('twice')).status, 200);
    assert.equal(JSON.parse(first.requests[0]!.body.toString()).model, 'new');
    assert.equal((await send('pair')).status, 200);
    assert.deepEqual(asked(), [2, 0]);
    await drain({ provider: 'first', model: 'pair' });
    assert.equal((await send('pair')).status, 200);
    assert.equal((await send('only')).status, 200);
    assert.deepEqual(asked(), [3, 1]);
  });

  it('cause a refusal if there is no other route, with a message that promises no time', async () => {
    await drain({ provider: 'first', model: 'only' });
    const response = await send('only');
    assert.equal(response.status, 503);
    assert.equal(response.json.error.code, 'MODEL_ROUTING_NO_HEALTHY_ROUTE');
    assert.match(response.json.error.message, /All routes of this model are temporarily out of service/);
    assert.equal(response.headers['retry-after'], undefined);
    assert.deepEqual(asked(), [0, 0]);
    assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
  });

  it('let calls in flight finish', async () => {
    const live = liveResponse();
    first.respond = live.respond;
    const running = startCall(`${gateway.url}/v1/chat/completions`, account.key, {
      model: 'only',
      messages: [],
      stream: true,
    });
    await live.opened;
    await drain({ provider: 'first' });
    assert.equal((await send('only')).status, 503);
    await live.write(chatStream(['Hello']).join(''));
    live.end();
    const response = await running.response;
    assert.equal(response.status, 200);
    await response.ended();
    assert.equal((await account.endedCall()).status, 'succeeded');
  });

  it('still accept calls that continue a conversation only their provider can read', async () => {
    for (const model of ['pair', 'only']) {
      first.respond = json(200, made(`${PRIVATE}-${model}`));
      second.respond = json(200, made('resp_of_the_second_provider'));
      assert.equal((await respond(model, {})).status, 200);
    }
    await drain({ provider: 'first' });
    first.requests.length = 0;
    for (const model of ['pair', 'only']) {
      const continued = await respond(model, { previous_response_id: `${PRIVATE}-${model}` });
      assert.equal(continued.status, 200, continued.text);
    }
    assert.deepEqual(asked(), [2, 0]);
    assert.equal((await respond('pair', {})).status, 200);
    assert.equal((await respond('only', {})).status, 503);
    assert.deepEqual(asked(), [2, 1]);
    const strange = await respond('only', { previous_response_id: 'resp_that_nobody_made' });
    assert.equal(strange.status, 404);
  });

  it('are listed with user, time and reason, even if the configuration no longer contains them', async () => {
    await drain({ provider: 'first', model: 'pair' }, { reason: 'maintenance' });
    await drain({ provider: 'second' });
    // Repeating a drain only changes the reason.
    await drain({ provider: 'second' }, { reason: 'contract ended', by: 'mallory' });
    gateway.gateway.reload(
      parseConfig(
        testConfigText(gateway.provider.url, {
          ...options(),
          models: `
  pair: { operations: [chat], price: ${PRICE}, routes: [{ provider: first, model: x }, { provider: first, model: y }] }`,
        }),
        'test.yaml',
        {},
      ),
    );
    try {
      const { body } = await gateway.admin('GET', '/routes');
      const listed = body.drains.map(({ since, ...rest }: { since: string }) => {
        assert.match(since, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
        return rest;
      });
      assert.deepEqual(listed, [
        {
          provider: 'first',
          model: 'pair',
          providerModel: null,
          reason: 'maintenance',
          by: 'admin_token',
          byId: null,
          routes: 2,
        },
        {
          provider: 'second',
          model: null,
          providerModel: null,
          reason: 'contract ended',
          by: 'admin_token',
          byId: null,
          routes: 0,
        },
      ]);
      const of = (model: string) => body.data.filter((route: { model: string }) => route.model === model);
      assert.deepEqual(
        of('pair').map((route: { drained: { by: string; reason: string }; state: string }) => [
          route.drained.by,
          route.drained.reason,
          route.state,
        ]),
        [
          ['admin_token', 'maintenance', 'closed'],
          ['admin_token', 'maintenance', 'closed'],
        ],
      );
      assert.equal(of('test-chat')[0].drained, null);
      assert.equal((await send('pair')).status, 503);
    } finally {
      gateway.gateway.reload(parseConfig(testConfigText(gateway.provider.url, options()), 'test.yaml', {}));
    }
  });

  it('stay drained after a restart', async () => {
    await drain({ provider: 'first' });
    await gateway.gateway.close();
    await gateway.provider.close();
    gateway = await startGateway({ ...options(), database: stored.openAnother() });
    assert.equal((await send('only')).status, 503);
    assert.equal((await send('pair')).status, 200);
    assert.deepEqual(asked(), [0, 1]);
  });

  it('are refused for misspelled names, and revoked only by their exact target', async () => {
    const unknown = await gateway.admin('POST', '/routes/drain', { provider: 'frist' });
    assert.equal(unknown.status, 400);
    assert.equal(unknown.body.error.message, 'No configured route goes to provider frist.');
    const misfit = await gateway.admin('POST', '/routes/drain', { provider: 'second', model: 'only' });
    assert.equal(misfit.body.error.message, 'No configured route goes to provider second, model only.');
    await drain({ provider: 'first' });
    const narrower = await gateway.admin('POST', '/routes/resume', { provider: 'first', model: 'only' });
    assert.equal(narrower.status, 404);
    assert.equal(
      narrower.body.error.message,
      'There is no drain of provider first, model only. Drained there: provider first.',
    );
    await drain({ provider: 'first', model: 'only' });
    const { body } = await gateway.admin('POST', '/routes/resume', { provider: 'first' });
    const stillDrained = body.routes.filter((route: { drained: object | null }) => route.drained !== null);
    assert.deepEqual(
      stillDrained.map(({ model }: { model: string }) => model),
      ['only'],
    );
  });

  it('are applied by every node after a notification', async () => {
    const other = await startGateway({ ...options(), database: stored.openAnother() });
    try {
      assert.equal((await send('only', other)).status, 200);
      await drain({ provider: 'first' });
      await until(async () => (await send('only', other)).status === 503);
      await gateway.admin('POST', '/routes/resume', { provider: 'first' });
      await until(async () => (await send('only', other)).status === 200);
    } finally {
      await other.stop();
    }
  });
});
