import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { recomputedCharge } from '../support/recomputed-charge.ts';

/** Models that are named inside a request: refused, or admitted and charged as the model that the configuration has for the name. */

const MODELS = `
  executor:
    operations: [messages]
    innerModels: { vendor-dear: dear, vendor-hidden: test-hidden }
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: vendor-cheap }]
  dear:
    operations: [messages]
    price: { input: "100", output: "1000", above: { "40000": { input: "50", output: "981.5" } } }
    routes: [{ provider: messy, model: vendor-dear }]
`;

const PLANS = `plans: ${JSON.stringify(
  Object.fromEntries(
    [
      ['narrow', ['executor']],
      ['wide', ['executor', 'dear']],
    ].map(([id, models]) => [
      id,
      {
        name: id,
        fiveHourCalls: 100,
        weeklyCalls: 100,
        concurrency: 9,
        quotaTokens: 1_000_000,
        periodDays: 30,
        models,
        inputByteLimit: '1MiB',
        outputTokenLimit: 1_000,
      },
    ]),
  ),
)}`;

const body = (more: object): object => ({
  model: 'executor',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Hello' }],
  ...more,
});
const advisor = (model: string): object => ({ tools: [{ type: 'advisor_20260301', name: 'advisor', model }] });

describe(`models named inside a request`, { timeout: 60_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ models: MODELS, plans: PLANS });
  });
  after(() => g?.stop());

  const send = (account: TestAccount, more: object, path = '/v1/messages'): Promise<ClientResponse> =>
    call(g.url + path, account.key, body(more));

  const refused: readonly [more: object, param: string][] = [
    [advisor('vendor-other'), 'tools[0].model'],
    [advisor('vendor-hidden'), 'tools[0].model'],
    [advisor('dear'), 'tools[0].model'],
    [{ fallbacks: [{ model: 'vendor-dear' }, { model: 'vendor-other' }] }, 'fallbacks[1].model'],
    [{ fallbacks: [{ 'vendor-other': ['vendor-dear'] }] }, 'fallbacks[0].vendor-other'],
    [{ context_window_fallbacks: [{ '*': ['vendor-dear', 'vendor-other'] }] }, 'context_window_fallbacks[0].*[1]'],
    [{ extra_body: { fallbacks: ['vendor-other'] } }, 'extra_body.fallbacks[0]'],
  ];
  for (const [more, param] of refused) {
    it(`refuses ${JSON.stringify(more)}`, async () => {
      const account = await g.createAccount();
      const before = g.provider.requests.length;
      const response = await send(account, more);
      assert.equal(response.status, 400, response.text);
      assert.match(response.text, new RegExp(param.replaceAll(/[[\].*]/g, '\\$&')));
      assert.equal(g.provider.requests.length, before);
      assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
    });
  }

  it('names the field in param on chat addresses', async () => {
    const account = await g.createAccount();
    const response = await call(`${g.url}/v1/chat/completions`, account.key, {
      model: 'test-chat',
      messages: [],
      models: ['x'],
    });
    assert.deepEqual([response.status, response.json.error.param], [400, 'models[0]']);
  });

  it('reserves for a model of a map of fallbacks what it reserves for one that is listed', async () => {
    const account = await g.createAccount();
    const held: bigint[] = [];
    g.provider.respond = (request, response) => {
      void account.money().then(({ heldNano }) => {
        held.push(heldNano);
        json(200, { type: 'message', usage: { input_tokens: 1, output_tokens: 1 } })(request, response);
      });
    };
    for (const fallbacks of [[{ model: 'vendor-dear' }], [{ '*': ['vendor-dear'] }], []]) {
      assert.equal((await send(account, { fallbacks })).status, 200);
    }
    const [listed, mapped, none] = held;
    // The map is some bytes shorter.
    assert.ok(mapped! > none! * 10n && mapped! <= listed!, String(held));
  });

  it('charges each run at the price of its model', async () => {
    const account = await g.createAccount();
    const own = { input_tokens: 10, output_tokens: 20 };
    const iterations = [
      { type: 'message', model: 'vendor-cheap', ...own },
      { type: 'advisor_message', model: 'vendor-dear-20261001', input_tokens: 50_000, output_tokens: 100 },
      { type: 'compaction', input_tokens: 1_000, output_tokens: 50 },
      { type: 'advisor_message', model: 'nobody-knows', input_tokens: 7, output_tokens: 3 },
    ];
    g.provider.respond = json(200, { type: 'message', usage: { ...own, iterations } });
    const response = await send(account, advisor('vendor-dear'));
    assert.equal(response.status, 200, response.text);
    assert.equal(JSON.parse(g.provider.requests.at(-1)!.body.toString()).tools[0].model, 'vendor-dear');
    const ownNano = BigInt(10 + 1_000 + 20 + 50) * 1_000n;
    const dearNano = 7n * 100_000n + 3n * 1_000_000n + 50_000n * 50_000n + 100n * 981_500n;
    assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n - ownNano - dearNano, heldNano: 0n });
    const record = await account.lastCall();
    const { usage, innerModels, chargeYuan } = record;
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [51_017, 173]);
    assert.deepEqual(innerModels, [
      {
        name: 'vendor-dear',
        model: 'dear',
        inputTokens: 50_007,
        outputTokens: 103,
        chargeYuan: '2.60185',
        usage: { inputTokens: 50_007, outputTokens: 103 },
        pricedBy: {
          steps: [
            { runs: 1, inputTokens: 7, outputTokens: 3 },
            { above: '40000', runs: 1, inputTokens: 50_000, outputTokens: 100 },
          ],
        },
        price: innerModels[0].price,
      },
    ]);
    const { rule, inputYuanPerMillion, above } = record.innerModels[0].price;
    assert.deepEqual([rule, inputYuanPerMillion, above?.['40000']?.inputYuanPerMillion], ['base', '100', '50']);
    assert.equal(chargeYuan, '2.60293');
    assert.equal(recomputedCharge(record), ownNano + dearNano);
  });

  it('reserves for each of them at its price', async () => {
    const account = await g.createAccount({ balanceYuan: '1' });
    const released = Promise.withResolvers<void>();
    g.provider.respond = async (request, response) => {
      await released.promise;
      await json(200, { type: 'message', usage: { input_tokens: 1, output_tokens: 1 } })(request, response);
    };
    const received = g.provider.requests.length + 1;
    const running = send(account, advisor('vendor-dear'));
    await g.provider.received(received);
    const { heldNano } = await account.money();
    // 4,096 tokens of output of the expensive one.
    assert.ok(heldNano > 4_096n * 1_000_000n, String(heldNano));
    assert.equal((await send(account, {})).status, 402);
    released.resolve();
    assert.equal((await running).status, 200);
  });

  it('allows them on a plan if it includes all of them', async () => {
    g.provider.respond = json(200, { type: 'message', usage: { input_tokens: 1, output_tokens: 1 } });
    for (const [planId, status] of [
      ['narrow', 400],
      ['wide', 200],
    ] as const) {
      const account = await g.createAccount({ balanceYuan: '0' });
      const granted = await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId });
      assert.equal(granted.status, 201);
      const response = await send(account, advisor('vendor-dear'), '/altproto/v1/messages');
      assert.equal(response.status, status, response.text);
      if (status === 400) assert.equal(response.headers['x-error-code'], 'model_not_in_package');
    }
  });
});

describe(`a response that continues another`, { timeout: 60_000 }, () => {
  it('reserves the total of that one', async () => {
    const g = await startGateway();
    try {
      const account = await g.createAccount();
      const usage = { input_tokens: 70_000, output_tokens: 50, total_tokens: 70_050 };
      const responded = { id: 'resp_1', object: 'response', status: 'completed', output: [], usage };
      g.provider.respond = json(200, responded);
      const path = `${g.url}/v1/responses`;
      assert.equal((await call(path, account.key, { model: 'test-responses', input: 'x' })).status, 200);
      const released = Promise.withResolvers<void>();
      g.provider.respond = async (request, response) => {
        await released.promise;
        await json(200, { ...responded, id: 'resp_2' })(request, response);
      };
      const next = { model: 'test-responses', input: 'x', previous_response_id: 'resp_1' };
      const running = call(path, account.key, next);
      await g.provider.received(2);
      const { heldNano } = await account.money();
      const bodyTokens = Math.ceil(Buffer.byteLength(JSON.stringify(next)) / 4);
      assert.equal(heldNano, BigInt(70_050 + bodyTokens) * 3_000n + 100n * 13_000n);
      released.resolve();
      assert.equal((await running).status, 200);
    } finally {
      await g.stop();
    }
  });
});
