import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Model } from '../catalog/catalog.ts';
import { chat } from '../operations/chat.ts';
import type { TokenPrices } from '../pricing/charge.ts';
import { estimateHold, OUTPUT_TOKENS_DEFAULT } from './hold-estimate.ts';
import type { CallInput } from './operation.ts';

/** Nano-yuan per token: 3 for input, 13 for output. The others would be seen in a sum. */
const prices: TokenPrices = {
  inputNanoPerMillion: 3_000_000n,
  cachedInputNanoPerMillion: 10n ** 15n,
  cacheWriteNanoPerMillion: 10n ** 15n,
  cacheWrite1hNanoPerMillion: 10n ** 15n,
  outputNanoPerMillion: 13_000_000n,
};

function modelWith(limits: { contextTokensMax?: number; outputTokensMax?: number } = {}): Model {
  return {
    id: 'm',
    operations: new Set(['chat']),
    price: { base: prices, timeOfDay: null },
    contextTokensMax: null,
    outputTokensMax: null,
    routes: { chat: [], messages: [] },
    ...limits,
  };
}

const inputWith = (...members: readonly string[]): CallInput =>
  chat.inspect(Buffer.from(`{${['"model":"m"', '"messages":[]', ...members].join(',')}}`));

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
      assert.deepEqual(estimateHold(inputWith(...members), 4_000, model, prices), {
        inputTokens: 1_000,
        amountNano: 3_000n + 13n * BigInt(outputTokens),
      });
    });
  }

  it('takes the input by size, a rest for a whole token', () => {
    const { inputTokens } = estimateHold(inputWith(), 4_001, modelWith(), prices);
    assert.equal(inputTokens, 1_001);
  });

  it('does not take the input for more than the model can read', () => {
    assert.deepEqual(estimateHold(inputWith('"max_tokens":0'), 4_000, modelWith({ contextTokensMax: 600 }), prices), {
      inputTokens: 600,
      amountNano: 1_800n,
    });
  });

  it('never holds more than any balance, whatever a caller asks for', () => {
    const whole = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    const price = fc.bigInt({ min: 0n, max: 10n ** 24n });
    fc.assert(
      fc.property(whole, whole, fc.option(whole, { nil: undefined }), price, (choices, cap, modelCap, perMillion) => {
        const input = inputWith(`"n":${choices}`, `"max_tokens":${cap}`);
        const model = modelWith(modelCap === undefined ? {} : { outputTokensMax: modelCap });
        const { amountNano } = estimateHold(input, 1_000, model, { ...prices, outputNanoPerMillion: perMillion });
        assert.ok(amountNano >= 0n && amountNano <= 1_000_000_000_000_000n);
      }),
      { numRuns: 200 },
    );
  });
});
