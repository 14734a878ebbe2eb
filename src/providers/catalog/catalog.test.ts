import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { priceInForce } from '../../accounting/pricing/price.ts';
import { parseConfig } from '../../config/load.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { type OperationName, operationOf, operations } from '../../protocols/operations/all.ts';
import { createCatalog } from './catalog.ts';

const catalog = createCatalog(
  parseConfig(
    `
providers:
  chatty: { protocol: chat, baseUrl: https://chat.example/v1, apiKey: one-secret-key }
  spare: { protocol: chat, baseUrl: https://spare.example/v1, apiKey: two-secret-key }
  messy: { protocol: messages, baseUrl: https://messages.example, apiKey: three-secret-key }
models:
  large:
    aliases: [large-latest, grand]
    contextLength: "200000"
    maxOutputTokens: 8192
    operations: [chat, responses, messages]
    price: { input: "3", cachedInput: "0.7", cacheWrite: "5", cacheWrite1h: "11", output: "13" }
    routes:
      - { provider: chatty, model: large-2026, priority: 1, weight: 3 }
      - { provider: messy, model: large-messages }
      - { provider: spare, model: large-spare }
  plain:
    operations: [messages]
    contextLength: 128k
    maxOutputTokens: "0"
    price: { input: "2", output: "8" }
    routes: [{ provider: messy, model: plain-1 }]
  written:
    operations: [embeddings]
    price: { input: "2", cacheWrite: "4", output: "0" }
    routes: [{ provider: chatty, model: written-1 }]
  shifting:
    operations: [chat]
    price:
      input: "9"
      output: "9"
      timeOfDay:
        id: day
        timezone: Asia/Shanghai
        peak: { hours: ["09:00-21:00"], input: "6", output: "24" }
        offPeak: { input: "1", cachedInput: "0.1", output: "4" }
    routes: [{ provider: chatty, model: shifting-1 }]
  hidden:
    listed: false
    aliases: [secret-alias]
    operations: [chat]
    price: { input: "1", output: "1" }
    routes: [{ provider: chatty, model: hidden-1 }]
`,
    'test.yaml',
    {},
  ),
);

function assertRefused(name: string, operation: OperationName, kind: string, status: number, code: string): void {
  assert.throws(
    () => catalog.resolve(name, operationOf(operation)),
    (error) => {
      assert.ok(error instanceof GatewayError);
      assert.deepEqual([error.kind, error.status, error.code, error.param], [kind, status, code, 'model']);
      return true;
    },
  );
}

describe('catalog', () => {
  it('finds a model by its id and by each alias', () => {
    const model = catalog.resolve('large', operationOf('chat'));
    assert.equal(model.id, 'large');
    assert.equal(catalog.resolve('large-latest', operationOf('chat')), model);
    assert.equal(catalog.resolve('grand', operationOf('messages')), model);
  });

  it('distinguishes names by case and spacing', () => {
    for (const name of ['Large\u0000', 'large\n', 'large\u009b', '\u202elarge']) {
      assertRefused(name, 'chat', 'invalidRequest', 400, 'invalid_request_error');
    }
    for (const name of ['Large', ' large', 'large ', '', '__proto__', 'constructor']) {
      assertRefused(name, 'chat', 'modelAbsent', 404, 'model_not_found');
    }
  });

  it('does not reveal unlisted models or their aliases', () => {
    assertRefused('hidden', 'chat', 'modelAbsent', 404, 'model_not_found');
    assertRefused('secret-alias', 'chat', 'modelAbsent', 404, 'model_not_found');
  });

  it('truncates long names and quotes special characters in errors', () => {
    const message = (name: string): string => {
      try {
        catalog.resolve(name, operationOf('chat'));
      } catch (error) {
        return (error as Error).message;
      }
      return 'found';
    };
    assert.equal(message('x "y"'), 'The model "x \\"y\\"" does not exist, or you do not have access to it.');
    assert.equal(
      message('x'.repeat(100)),
      `The model "${'x'.repeat(100)}" does not exist, or you do not have access to it.`,
    );
    assert.equal(
      message('x'.repeat(101)),
      `The model "${'x'.repeat(100)}…" does not exist, or you do not have access to it.`,
    );
  });

  it('reports that a model is unavailable in a protocol, or lacks the operation', () => {
    assertRefused('plain', 'chat', 'protocolUnsupported', 404, 'MODEL_ROUTING_PROTOCOL_UNSUPPORTED');
    assertRefused('shifting', 'messages', 'protocolUnsupported', 404, 'MODEL_ROUTING_PROTOCOL_UNSUPPORTED');
    assertRefused('shifting', 'embeddings', 'modelLacksOperation', 400, 'model_not_found');
    assertRefused('written', 'chat', 'modelLacksOperation', 400, 'model_not_found');
  });

  it('assigns every operation except messages to the chat family', () => {
    assert.deepEqual(
      operations.filter(({ protocol }) => protocol.name === 'messages').map(({ name }) => name),
      ['messages'],
    );
  });

  it('groups routes by the protocol of their provider, in configuration order', () => {
    assert.deepEqual(catalog.resolve('large', operationOf('chat')).routes, {
      chat: [
        { id: 'large chatty large-2026', providerId: 'chatty', providerModel: 'large-2026', priority: 1, weight: 3 },
        { id: 'large spare large-spare', providerId: 'spare', providerModel: 'large-spare', priority: 0, weight: 1 },
      ],
      messages: [
        {
          id: 'large messy large-messages',
          providerId: 'messy',
          providerModel: 'large-messages',
          priority: 0,
          weight: 1,
        },
      ],
    });
  });

  it('ignores limits that are not numbers', () => {
    const large = catalog.resolve('large', operationOf('chat'));
    assert.deepEqual([large.contextTokensMax, large.outputTokensMax], [200_000, 8_192]);
    const plain = catalog.resolve('plain', operationOf('messages'));
    assert.deepEqual([plain.contextTokensMax, plain.outputTokensMax], [null, null]);
    const written = catalog.resolve('written', operationOf('embeddings'));
    assert.deepEqual([written.contextTokensMax, written.outputTokensMax], [null, null]);
  });

  it('uses every price as configured', () => {
    assert.deepEqual(catalog.resolve('large', operationOf('chat')).price, {
      base: {
        inputNanoPerMillion: 3_000_000_000n,
        cachedInputNanoPerMillion: 700_000_000n,
        cacheWriteNanoPerMillion: 5_000_000_000n,
        cacheWrite1hNanoPerMillion: 11_000_000_000n,
        imageInputNanoPerMillion: 3_000_000_000n,
        outputNanoPerMillion: 13_000_000_000n,
        imageOutputNanoPerMillion: 13_000_000_000n,
        perImageNano: null,
        perSearchUnitNano: null,
        perCallNano: null,
      },
      timeOfDay: null,
      later: [],
    });
  });

  it('charges units without a price as the input or output that includes them', () => {
    const two = 2_000_000_000n;
    assert.deepEqual(catalog.resolve('plain', operationOf('messages')).price.base, {
      inputNanoPerMillion: two,
      cachedInputNanoPerMillion: two,
      cacheWriteNanoPerMillion: two,
      cacheWrite1hNanoPerMillion: two,
      imageInputNanoPerMillion: two,
      outputNanoPerMillion: 8_000_000_000n,
      imageOutputNanoPerMillion: 8_000_000_000n,
      perImageNano: null,
      perSearchUnitNano: null,
      perCallNano: null,
    });
    assert.equal(catalog.resolve('written', operationOf('embeddings')).price.base.cacheWrite1hNanoPerMillion, two);
  });

  it('switches price lists at the times of their schedule', () => {
    const { price } = catalog.resolve('shifting', operationOf('chat'));
    const noon = priceInForce(price, Date.parse('2026-08-01T04:00:00Z'));
    assert.deepEqual(
      [noon.rule, noon.prices.inputNanoPerMillion, noon.prices.cachedInputNanoPerMillion],
      ['peak', 6_000_000_000n, 6_000_000_000n],
    );
    const night = priceInForce(price, Date.parse('2026-08-01T18:00:00Z'));
    assert.deepEqual(
      [night.rule, night.prices.inputNanoPerMillion, night.prices.cachedInputNanoPerMillion],
      ['off_peak', 1_000_000_000n, 100_000_000n],
    );
    assert.equal(price.timeOfDay?.scheduleId, 'day');
    assert.equal(price.timeOfDay?.timezone, 'Asia/Shanghai');
  });
});
