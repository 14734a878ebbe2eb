import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { readInput } from '../../test/support/request-input.ts';
import type { Model } from '../catalog/catalog.ts';
import { chat } from '../operations/chat.ts';
import type { UnitPrices } from '../pricing/charge.ts';
import { estimateHold, OUTPUT_TOKENS_DEFAULT } from './hold-estimate.ts';
import type { CallInput } from './operation.ts';

/** Nano-yuan per token: 3 for input, 13 for output. The others would be seen in a sum. */
const prices: UnitPrices = {
  inputNanoPerMillion: 3_000_000n,
  cachedInputNanoPerMillion: 10n ** 15n,
  cacheWriteNanoPerMillion: 10n ** 15n,
  cacheWrite1hNanoPerMillion: 10n ** 15n,
  imageInputNanoPerMillion: 13_000_000n,
  outputNanoPerMillion: 13_000_000n,
  imageOutputNanoPerMillion: 13_000_000n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};

function modelWith(limits: { contextTokensMax?: number; outputTokensMax?: number } = {}): Model {
  return {
    id: 'm',
    operations: new Set(['chat']),
    price: { base: prices, timeOfDay: null },
    contextTokensMax: null,
    outputTokensMax: null,
    tokenFactor: null,
    routes: { chat: [], messages: [] },
    ...limits,
  };
}

/** A call with the given members whose input is taken for as many tokens. */
const inputWith = (inputTokensEstimate: number, ...members: readonly string[]): CallInput => ({
  ...readInput(chat, `{${['"model":"m"', '"messages":[]', ...members].join(',')}}`),
  inputTokensEstimate,
});

describe('estimateHold', () => {
  const cases: readonly [what: string, members: readonly string[], model: Model, outputTokens: number][] = [
    ['assumes a default where nobody states a limit', [], modelWith(), OUTPUT_TOKENS_DEFAULT],
    ['assumes it for each choice', ['"n":3'], modelWith(), 3 * OUTPUT_TOKENS_DEFAULT],
    ["goes by the model's limit", [], modelWith({ outputTokensMax: 500 }), 500],
    ["goes by the model's limit for each choice", ['"n":3'], modelWith({ outputTokensMax: 500 }), 1_500],
    ["goes by the caller's limit", ['"max_tokens":70'], modelWith(), 70],
    ["goes by the caller's limit for each choice", ['"max_tokens":70', '"n":3'], modelWith(), 210],
    ['goes by the lower limit, the caller', ['"max_tokens":70'], modelWith({ outputTokensMax: 500 }), 70],
    ['goes by the lower limit, the model', ['"max_tokens":700'], modelWith({ outputTokensMax: 500 }), 500],
    [
      'goes by the lower limit for each choice',
      ['"max_tokens":700', '"n":2'],
      modelWith({ outputTokensMax: 500 }),
      1_000,
    ],
    ['believes a limit of zero', ['"max_tokens":0'], modelWith(), 0],
  ];
  for (const [what, members, model, outputTokens] of cases) {
    it(what, () => {
      assert.deepEqual(estimateHold(inputWith(1_000, ...members), model, prices, 'tokens'), {
        inputTokens: 1_000,
        amountNano: 3_000n + 13n * BigInt(outputTokens),
      });
    });
  }

  it('does not take the input for more than the model can read', () => {
    assert.deepEqual(
      estimateHold(inputWith(1_000, '"max_tokens":0'), modelWith({ contextTokensMax: 600 }), prices, 'tokens'),
      {
        inputTokens: 600,
        amountNano: 1_800n,
      },
    );
  });

  it('never holds more than any balance, whatever a caller asks for', () => {
    const whole = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    const price = fc.bigInt({ min: 0n, max: 10n ** 24n });
    fc.assert(
      fc.property(whole, whole, fc.option(whole, { nil: undefined }), price, (choices, cap, modelCap, perMillion) => {
        const input = inputWith(250, `"n":${choices}`, `"max_tokens":${cap}`);
        const model = modelWith(modelCap === undefined ? {} : { outputTokensMax: modelCap });
        const { amountNano } = estimateHold(input, model, { ...prices, outputNanoPerMillion: perMillion }, 'tokens');
        assert.ok(amountNano >= 0n && amountNano <= 1_000_000_000_000_000n);
      }),
      { numRuns: 200 },
    );
  });

  it('takes as many images as are asked for at the dearest price, where images are paid for', () => {
    const perImageNano = { low: 5n, high: { '1024x1024': 70n, default: 90n } };
    const { amountNano } = estimateHold(inputWith(1_000, '"n":3'), modelWith(), { ...prices, perImageNano }, 'images');
    assert.equal(amountNano, 270n);
  });

  it('takes output for images where those are dearer than text', () => {
    const { amountNano } = estimateHold(
      inputWith(0, '"max_tokens":10'),
      modelWith(),
      { ...prices, imageOutputNanoPerMillion: 50_000_000n },
      'tokens',
    );
    assert.equal(amountNano, 500n);
  });

  it('takes the price of a call, or of one search unit, where those are paid for', () => {
    const input = inputWith(1_000);
    assert.equal(estimateHold(input, modelWith(), { ...prices, perCallNano: 7n }, 'calls').amountNano, 7n);
    assert.equal(estimateHold(input, modelWith(), { ...prices, perSearchUnitNano: 8n }, 'searchUnits').amountNano, 8n);
  });
});
