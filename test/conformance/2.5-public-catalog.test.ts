import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatResponse } from '../support/provider.ts';
import { askFor } from './addresses.ts';

const models = `
  full:
    aliases: [full-latest]
    displayName: Full Model
    manufacturer: Acme
    capability: vision
    description: "Says everything: \\"quoted\\", 北京."
    contextLength: "200000"
    maxOutputTokens: 64K
    modelSize: 70B
    inputModalities: text,image
    outputModalities: text
    docsPath: /docs/full
    operations: [chat, messages, responses, compact, images.generate, images.edit]
    price: { input: "4", cachedInput: "0.4", output: "16", official: { input: "5", cachedInput: "0.5", output: "20", discountBasisPoints: 8000 } }
    routes: [{ provider: chatty, model: upstream-full }, { provider: messy, model: upstream-full }]
  bare:
    operations: [chat]
    price: { input: "0.000000001", output: "1234567.1" }
    routes: [{ provider: chatty, model: upstream-bare }]
  undiscounted:
    operations: [chat]
    price: { input: "5", output: "20", official: { input: "5", output: "20", discountBasisPoints: 10000 } }
    routes: [{ provider: chatty, model: upstream }]
  gift:
    operations: [chat]
    price: { input: "0", output: "0", official: { input: "5", cachedInput: "0", output: "20", discountBasisPoints: 1 } }
    routes: [{ provider: chatty, model: upstream }]
  no-responses:
    operations: [compact]
    price: { input: "1", output: "1" }
    routes: [{ provider: chatty, model: upstream }]
  no-compact:
    operations: [responses]
    price: { input: "1", output: "1" }
    routes: [{ provider: chatty, model: upstream }]
  by-image:
    operations: [images.generate]
    price: { perImage: "0.3" }
    routes: [{ provider: chatty, model: upstream }]
  twice-routed:
    operations: [chat]
    price: { input: "1", output: "1" }
    routes: [{ provider: chatty, model: upstream-1 }, { provider: chatty, model: upstream-2, priority: 1 }]
  timed:
    operations: [chat]
    price:
      input: "4"
      output: "16"
      timeOfDay:
        id: ny-day
        timezone: America/New_York
        peak: { hours: ["09:00-21:00"], input: "8", cachedInput: "0.8", output: "32", official: { input: "10", output: "40", discountBasisPoints: 8000 } }
        offPeak: { input: "2", output: "8" }
    routes: [{ provider: chatty, model: upstream }]
`;

const FIELDS = [
  'modelId',
  'displayName',
  'manufacturer',
  'capability',
  'description',
  'contextLength',
  'maxOutputTokens',
  'modelSize',
  'inputModalities',
  'outputModalities',
  'docsPath',
  'inputPriceYuan',
  'cachedInputPriceYuan',
  'outputPriceYuan',
  'officialPricing',
  'timePricing',
  'apiInterfaces',
];

/** The contract's names of interfaces and operations, and the path of each operation on the balance. */
const operationPaths: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  COMPAT_CHAT_COMPLETIONS: { COMPAT_CHAT_CREATE: '/v1/chat/completions' },
  COMPAT_RESPONSES: {
    COMPAT_RESPONSES_CREATE: '/v1/responses',
    COMPAT_RESPONSES_COMPACT: '/v1/responses/compact',
  },
  COMPAT_IMAGES: {
    COMPAT_IMAGES_GENERATE: '/v1/images/generations',
    COMPAT_IMAGES_EDIT: '/v1/images/edits',
  },
  ALT_MESSAGES: { ALT_MESSAGES_CREATE: '/v1/messages' },
};

/** During the peak hours of the model `timed`: noon in New York. */
const NOON = '2026-11-20T17:00:00Z';

describe('2.5 Public model catalog', () => {
  const clock = createTestClock(NOON);
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ clock, models });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  async function catalog() {
    const { status, json } = await askFor(gateway.url, '/v1/public/models');
    assert.equal(status, 200);
    return json;
  }

  async function modelOf(id: string) {
    const found = (await catalog()).models.filter(({ modelId }: { modelId: string }) => modelId === id);
    assert.equal(found.length, 1, `${id} is listed ${found.length} times`);
    return found[0];
  }

  async function timedAt(instant: string) {
    clock.set(instant);
    try {
      return await modelOf('timed');
    } finally {
      clock.set(NOON);
    }
  }

  it('2.5 the top level is models, an array, and priceUnit, a string', async () => {
    const { models: listed, priceUnit, ...rest } = await catalog();
    assert.ok(Array.isArray(listed) && listed.length > 0);
    assert.equal(priceUnit, 'CNY per million tokens');
    assert.deepEqual(rest, {});
  });

  it('2.5 models is empty if no model is public', async () => {
    const configured = (text: string) => parseConfig(text, 'test.yaml', {});
    gateway.gateway.reload(configured('server: { port: 0 }'));
    try {
      assert.deepEqual(await catalog(), { models: [], priceUnit: 'CNY per million tokens' });
    } finally {
      gateway.gateway.reload(configured(testConfigText(gateway.provider.url, { models })));
    }
    assert.ok((await catalog()).models.length > 0);
  });

  it('2.5 every model has every field, and no other', async () => {
    for (const model of (await catalog()).models) assert.deepEqual(Object.keys(model).sort(), FIELDS.toSorted());
  });

  for (const [field, given, otherwise] of [
    ['modelId', 'full', 'bare'],
    ['displayName', 'Full Model', 'bare'],
    ['manufacturer', 'Acme', ''],
    ['capability', 'vision', 'chat'],
    ['description', 'Says everything: "quoted", 北京.', null],
    ['contextLength', '200000', null],
    ['maxOutputTokens', '64K', null],
    ['modelSize', '70B', null],
    ['inputModalities', 'text,image', null],
    ['outputModalities', 'text', null],
    ['docsPath', '/docs/full', null],
    ['inputPriceYuan', '4', '0.000000001'],
    ['cachedInputPriceYuan', '0.4', null],
    ['outputPriceYuan', '16', '1234567.1'],
  ] as const) {
    it(`2.5 ${field} is as configured, and ${JSON.stringify(otherwise)} if nothing is or it is left out`, async () => {
      assert.strictEqual((await modelOf('full'))[field], given);
      assert.strictEqual((await modelOf('bare'))[field], otherwise);
    });
  }

  it('2.5 modelId is the exact id that requests use, never an alias', async () => {
    const ids = (await catalog()).models.map(({ modelId }: { modelId: string }) => modelId);
    assert.ok(!ids.includes('full-latest'));
    gateway.provider.respond = chatResponse();
    for (const id of ['full', 'bare']) {
      const response = await call(`${gateway.url}/v1/chat/completions`, account.key, { model: id, messages: [] });
      assert.equal(response.status, 200);
    }
  });

  it('2.5 capability is a class, which implies no operation', async () => {
    assert.equal((await modelOf('by-image')).capability, 'chat');
    assert.deepEqual(
      (await modelOf('by-image')).apiInterfaces.map(({ id }: { id: string }) => id),
      ['COMPAT_IMAGES'],
    );
  });

  it('2.5 the prices are final unit prices, discount included: calls are charged by them', async () => {
    const model = await modelOf('full');
    const usage = {
      prompt_tokens: 1_500,
      completion_tokens: 250,
      total_tokens: 1_750,
      prompt_tokens_details: { cached_tokens: 500 },
    };
    gateway.provider.respond = chatResponse(usage);
    const payer = await gateway.createAccount();
    const body = { model: 'full', messages: [] };
    assert.equal((await call(`${gateway.url}/v1/chat/completions`, payer.key, body)).status, 200);
    const nanoPerToken = (yuanPerMillion: string): bigint => BigInt(Math.round(Number(yuanPerMillion) * 1_000));
    await assertSpent(
      payer,
      1_000n * nanoPerToken(model.inputPriceYuan) +
        500n * nanoPerToken(model.cachedInputPriceYuan) +
        250n * nanoPerToken(model.outputPriceYuan),
    );
  });

  it('2.5 prices are decimal strings, or null if a model is not paid by tokens', async () => {
    for (const model of (await catalog()).models) {
      for (const field of ['inputPriceYuan', 'cachedInputPriceYuan', 'outputPriceYuan']) {
        if (model[field] !== null) assert.match(model[field], /^\d+(\.\d{1,9})?$/);
      }
    }
    const { inputPriceYuan, cachedInputPriceYuan, outputPriceYuan, officialPricing } = await modelOf('by-image');
    assert.deepEqual(
      [inputPriceYuan, cachedInputPriceYuan, outputPriceYuan, officialPricing],
      [null, null, null, null],
    );
  });

  it('2.5 officialPricing has the list prices and the discount', async () => {
    assert.deepEqual((await modelOf('full')).officialPricing, {
      inputPriceYuan: '5',
      cachedInputPriceYuan: '0.5',
      outputPriceYuan: '20',
      discountBasisPoints: 8000,
    });
  });

  it('2.5 officialPricing is null if none is configured', async () => {
    assert.equal((await modelOf('bare')).officialPricing, null);
  });

  it('2.5 the prices of officialPricing are decimal strings, the cached one equals input unless it is configured', async () => {
    assert.equal((await modelOf('undiscounted')).officialPricing.cachedInputPriceYuan, '5');
    assert.equal((await modelOf('gift')).officialPricing.cachedInputPriceYuan, '0');
  });

  it('2.5 discountBasisPoints goes from 1 to 10000, which is no discount', async () => {
    assert.equal((await modelOf('undiscounted')).officialPricing.discountBasisPoints, 10_000);
    assert.equal((await modelOf('gift')).officialPricing.discountBasisPoints, 1);
    for (const wrong of ['0', '10001', '0.5', '-1']) {
      const text = testConfigText(gateway.provider.url, {
        models: models.replace('discountBasisPoints: 10000', `discountBasisPoints: ${wrong}`),
      });
      assert.throws(() => parseConfig(text, 'test.yaml', {}), /discountBasisPoints/);
    }
  });

  it('2.5 timePricing is null if the price does not depend on the time of day', async () => {
    assert.equal((await modelOf('full')).timePricing, null);
  });

  it('2.5 timePricing has both periods, the schedule, its time zone, and the time of the next switch', async () => {
    assert.deepEqual((await modelOf('timed')).timePricing, {
      activePeriod: 'PEAK',
      nextSwitchAt: '2026-11-21T02:00:00.000Z',
      schedule: 'ny-day',
      timezone: 'America/New_York',
      peak: {
        inputPriceYuan: '8',
        cachedInputPriceYuan: '0.8',
        outputPriceYuan: '32',
        officialPricing: {
          inputPriceYuan: '10',
          cachedInputPriceYuan: '10',
          outputPriceYuan: '40',
          discountBasisPoints: 8000,
        },
      },
      offPeak: { inputPriceYuan: '2', cachedInputPriceYuan: null, outputPriceYuan: '8', officialPricing: null },
    });
  });

  it('2.5 the prices of a model are those of its active period', async () => {
    const peak = await modelOf('timed');
    assert.deepEqual(
      [peak.inputPriceYuan, peak.cachedInputPriceYuan, peak.outputPriceYuan, peak.officialPricing.inputPriceYuan],
      ['8', '0.8', '32', '10'],
    );
    const offPeak = await timedAt('2026-11-21T02:00:00Z');
    assert.deepEqual(
      [offPeak.inputPriceYuan, offPeak.cachedInputPriceYuan, offPeak.outputPriceYuan, offPeak.officialPricing],
      ['2', null, '8', null],
    );
  });

  for (const [instant, period, nextSwitchAt] of [
    ['2026-11-20T13:59:59.999Z', 'OFF_PEAK', '2026-11-20T14:00:00.000Z'],
    ['2026-11-20T14:00:00Z', 'PEAK', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T01:59:59.999Z', 'PEAK', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T02:00:00Z', 'OFF_PEAK', '2026-11-21T14:00:00.000Z'],
    // Clocks go back on 1 November 2026 at 06:00 UTC, so that night is an hour longer.
    ['2026-11-01T00:59:00Z', 'PEAK', '2026-11-01T01:00:00.000Z'],
    ['2026-11-01T01:00:00Z', 'OFF_PEAK', '2026-11-01T14:00:00.000Z'],
    ['2026-11-01T06:30:00Z', 'OFF_PEAK', '2026-11-01T14:00:00.000Z'],
    // Clocks go forward on 8 March 2026 at 07:00 UTC, so that night is an hour shorter.
    ['2026-03-08T01:59:00Z', 'PEAK', '2026-03-08T02:00:00.000Z'],
    ['2026-03-08T02:00:00Z', 'OFF_PEAK', '2026-03-08T13:00:00.000Z'],
    ['2026-03-08T13:00:00Z', 'PEAK', '2026-03-09T01:00:00.000Z'],
  ] as const) {
    it(`2.5 at ${instant} a schedule of New York is ${period} and switches at ${nextSwitchAt}`, async () => {
      const { timePricing } = await timedAt(instant);
      assert.equal(timePricing.activePeriod, period);
      assert.equal(timePricing.nextSwitchAt, nextSwitchAt);
    });
  }

  it('2.5 a call at either side of a switch is charged the period that the catalog shows', async () => {
    gateway.provider.respond = chatResponse({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 });
    for (const [instant, costNano] of [
      ['2026-11-21T01:59:59.999Z', 100n * 8_000n + 10n * 32_000n],
      ['2026-11-21T02:00:00Z', 100n * 2_000n + 10n * 8_000n],
    ] as const) {
      clock.set(instant);
      try {
        const payer = await gateway.createAccount();
        const body = { model: 'timed', messages: [] };
        assert.equal((await call(`${gateway.url}/v1/chat/completions`, payer.key, body)).status, 200);
        await assertSpent(payer, costNano);
      } finally {
        clock.set(NOON);
      }
    }
  });

  it('2.5 apiInterfaces lists the interfaces and operations of a model by the words of the contract, and their addresses', async () => {
    const { apiInterfaces } = await modelOf('full');
    const listed = Object.fromEntries(
      apiInterfaces.map(({ id, operations }: { id: string; operations: { id: string; path: string }[] }) => [
        id,
        Object.fromEntries(operations.map((operation) => [operation.id, operation.path])),
      ]),
    );
    assert.deepEqual(listed, operationPaths);
  });

  it('2.5 no interface or operation has a word that the contract does not list, and each is {id, method, path}', async () => {
    for (const { apiInterfaces } of (await catalog()).models) {
      assert.ok(apiInterfaces.length > 0);
      for (const { id, operations, ...rest } of apiInterfaces) {
        assert.deepEqual(rest, {});
        assert.ok(id in operationPaths, id);
        for (const operation of operations) {
          const path = operationPaths[id]![operation.id];
          assert.deepEqual(operation, { id: operation.id, method: 'POST', path });
        }
      }
    }
  });

  it('2.5 path is the balance address, which is served at the API domain', async () => {
    for (const path of Object.values(operationPaths).flatMap((operations) => Object.values(operations))) {
      assert.ok(!path.includes('coding'));
      const response = await askFor(gateway.url, path, { method: 'POST' });
      assert.equal(response.status, 401, path);
    }
  });

  it('2.5 token estimates, embeddings and rerank are no operations of the catalog', async () => {
    const text = JSON.stringify(await catalog());
    for (const word of [
      'input_tokens',
      'count_tokens',
      'TOKENS',
      'EMBEDDINGS',
      'RERANK',
      '/v1/embeddings',
      '/v1/rerank',
      '/v2/rerank',
    ]) {
      assert.ok(!text.includes(word), word);
    }
  });

  it('2.5 operations are the union of the routes, each once', async () => {
    assert.deepEqual((await modelOf('twice-routed')).apiInterfaces, [
      {
        id: 'COMPAT_CHAT_COMPLETIONS',
        operations: [{ id: 'COMPAT_CHAT_CREATE', method: 'POST', path: '/v1/chat/completions' }],
      },
    ]);
  });

  it('2.5 Responses creation and Compact are declared independently', async () => {
    const operationsOf = async (id: string): Promise<string[]> =>
      (await modelOf(id)).apiInterfaces.flatMap(({ operations }: { operations: { id: string }[] }) =>
        operations.map((operation) => operation.id),
      );
    assert.deepEqual(await operationsOf('no-responses'), ['COMPAT_RESPONSES_COMPACT']);
    assert.deepEqual(await operationsOf('no-compact'), ['COMPAT_RESPONSES_CREATE']);
  });
});
