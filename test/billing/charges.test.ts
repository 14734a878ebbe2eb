import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { until } from '../support/until.ts';
import { bodies, CHAT, chargeOf, MESSAGES, RESPONSES } from './charged.ts';

/**
 * What providers bill besides plain tokens: tiers, speeds and regions, and what has no price. Amounts are in `test/dialects` and in
 * `src/accounting/pricing`.
 */

/** 3,000 nano-yuan for a token of input, 13,000 for one of output. */
const MODELS = `
  priced:
    maxOutputTokens: "100"
    operations: [chat, responses, messages]
    price:
      input: "3"
      output: "13"
      serviceTiers: { flex: "0.5", priority: "2" }
      speeds: { fast: "6" }
      inferenceGeos: { us: "1.1" }
    routes: [{ provider: chatty, model: upstream-chat }, { provider: messy, model: upstream-messages }]
  bare:
    maxOutputTokens: "100"
    operations: [chat, responses, messages]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: upstream-chat }, { provider: messy, model: upstream-messages }]
`;
const PLANS = `plans: { plan: { name: Plan, fiveHourCalls: 100, weeklyCalls: 100, concurrency: 9, quotaTokens: 1000000,
  periodDays: 30, models: [bare], inputByteLimit: 1MiB, outputTokenLimit: 1000 } }`;

const chatUsage = (more: object = {}) => ({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, ...more });
const messagesUsage = (more: object = {}) => ({ input_tokens: 100, output_tokens: 10, ...more });
const response = (more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  output: [],
  usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
  ...more,
});
const PLAIN = 100n * 3_000n + 10n * 13_000n;

describe('what vendors bill by', { timeout: 60_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  before(async () => {
    g = await startGateway({ models: MODELS, plans: PLANS });
    account = await g.createAccount();
  });
  after(() => g?.stop());

  const send = (path: string, more: object = {}, model = 'priced'): Promise<ClientResponse> =>
    call(g.url + path, account.key, { model, ...bodies[path], ...more });

  /** The charge and record of a call with this response of the provider. */
  async function charged(path: string, received: object, more: object = {}, model = 'priced') {
    g.provider.respond = json(200, received);
    return chargeOf(account, () => send(path, more, model));
  }

  describe('a tier, a speed and a region', () => {
    const cases: readonly [
      what: string,
      path: string,
      more: object,
      received: object,
      nano: bigint,
      by: object | null,
    ][] = [
      [
        'is charged as the response reports it',
        CHAT,
        { service_tier: 'flex' },
        { usage: chatUsage(), service_tier: 'flex' },
        PLAIN / 2n,
        { serviceTier: 'flex' },
      ],
      [
        'is charged if the provider chose it',
        RESPONSES,
        {},
        response({ service_tier: 'priority' }),
        2n * PLAIN,
        { serviceTier: 'priority' },
      ],
      [
        'multiplies with the others',
        MESSAGES,
        { speed: 'fast', inference_geo: 'us' },
        { usage: messagesUsage({ service_tier: 'standard', speed: 'fast', inference_geo: 'us' }) },
        (PLAIN * 66n) / 10n,
        { speed: 'fast', inferenceGeo: 'us' },
      ],
    ];
    for (const [what, path, more, received, nano, by] of cases) {
      it(`${what}: ${path}`, async () => {
        const { nano: charge, record } = await charged(path, received, more);
        assert.deepEqual([charge, record.pricedBy, record.unpriced], [nano, by, []]);
      });
    }
  });

  describe('a request that names what has no price', () => {
    const audio = [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }];
    const refused: readonly [path: string, more: object, param: string][] = [
      [CHAT, { service_tier: 'flex' }, 'service_tier'],
      [RESPONSES, { service_tier: 'priority' }, 'service_tier'],
      [MESSAGES, { speed: 'fast' }, 'speed'],
      [MESSAGES, { inference_geo: 'us' }, 'inference_geo'],
      [CHAT, { messages: audio }, 'messages'],
      [CHAT, { modalities: ['text', 'audio'], audio: { voice: 'a', format: 'wav' } }, 'modalities'],
    ];
    for (const [path, more, param] of refused) {
      it(`is refused on the balance, naming its field: ${param} at ${path}`, async () => {
        const sent = g.provider.requests.length;
        const received = await send(path, more, 'bare');
        assert.equal(received.status, 400, received.text);
        if (path === MESSAGES) assert.match(received.text, new RegExp(param));
        else assert.equal(received.json.error.param, param);
        assert.equal(g.provider.requests.length, sent);
      });
    }

    it('is served if it asks for nothing in particular', async () => {
      g.provider.respond = json(200, { usage: chatUsage() });
      for (const tier of [null, 'auto', 'default', 'standard', 'standard_only']) {
        assert.equal((await send(CHAT, { service_tier: tier }, 'bare')).status, 200, String(tier));
      }
      g.provider.respond = json(200, { usage: messagesUsage() });
      const plain = { speed: 'standard', inference_geo: 'global', service_tier: 'standard_only' };
      assert.equal((await send(MESSAGES, plain, 'bare')).status, 200);
    });

    it('is served on a plan, where nothing is marked', async () => {
      const planned = await g.createAccount({ balanceYuan: '0' });
      const granted = await g.admin('POST', `/accounts/${planned.id}/subscriptions`, { planId: 'plan' });
      assert.equal(granted.status, 201);
      g.provider.respond = json(200, { usage: chatUsage({ num_search_queries: 2 }), service_tier: 'priority' });
      const body = { model: 'bare', messages: audio, service_tier: 'priority' };
      const received = await call(`${g.url}/v1/coding/chat/completions`, planned.key, body);
      assert.equal(received.status, 200, received.text);
      const { unpriced, pricedBy } = await planned.lastCall();
      assert.deepEqual([unpriced, pricedBy], [[], null]);
    });
  });

  describe('tools that the provider runs', () => {
    const tools = [{ type: 'web_search' }, { type: 'code_interpreter', container: { type: 'auto' } }];
    const output = [
      { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
      { type: 'code_interpreter_call', status: 'completed', container_id: 'cntr_1' },
    ];
    it('are served if they are only listed, and cost nothing unused', async () => {
      const { nano, record } = await charged(RESPONSES, response(), { tools }, 'bare');
      assert.deepEqual([nano, record.unpriced], [PLAIN, []]);
    });

    it('cost nothing, and are marked and counted, if their use has no price', async () => {
      const { nano, record } = await charged(RESPONSES, response({ output }), { tools }, 'bare');
      assert.deepEqual([nano, record.unpriced], [PLAIN, ['perWebSearch', 'perCodeExecution', 'perContainer']]);
      const counts = async (use: string): Promise<boolean> => {
        const { data } = (await g.admin('GET', '/unpriced')).body;
        const counted = data.filter(({ model }: { model: string }) => model === 'bare');
        return counted.some(({ price, calls }: { price: string; calls: number }) => `${price} ${calls}` === use);
      };
      for (const use of ['perWebSearch 1', 'perCodeExecution 1', 'perContainer 1'])
        await until(() => counts(use), `${use} is not counted`);
    });
  });
});
