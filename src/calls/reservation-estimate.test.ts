import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { readInput } from '../../test/support/request-input.ts';
import { propertyRuns } from '../../test/support/scope.ts';
import type { UnitPrices } from '../accounting/pricing/charge.ts';
import { chat } from '../protocols/operations/chat.ts';
import { type CallInput, OUTPUT_TOKENS_DEFAULT } from '../protocols/operations/operation.ts';
import type { Model } from '../providers/catalog/catalog.ts';
import { type EstimateTerms, estimateReservation, requestedOutput, TOOL_USE_TOKENS } from './reservation-estimate.ts';

/** Nano-yuan per token: 3 for input, 13 for output. Any other price would show in a sum. */
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
    aliases: [],
    operations: new Set([chat]),
    price: { base: prices, timeOfDay: null, later: [] },
    contextTokensMax: null,
    outputTokensMax: null,
    tokenFactor: null,
    innerModels: new Map(),
    hiddenReasoning: null,
    hasAffinity: true,
    hasParameters: false,
    onClientAbort: null,
    keepAliveMs: null,
    retry: null,
    fallbacks: null,
    takesFallbacksOfGroup: true,
    routesByOperation: null,
    routes: { chat: [], messages: [] },
    ...limits,
  };
}

/** A call with these members and this input estimate in tokens. */
const inputWith = (inputTokensEstimate: number, ...members: readonly string[]): CallInput => ({
  ...readInput(chat, `{${['"model":"m"', '"messages":[]', ...members].join(',')}}`),
  inputTokensEstimate,
});

const terms = (more: Partial<EstimateTerms> = {}): EstimateTerms => ({
  model: modelWith(),
  prices,
  basis: 'tokens',
  continuedTokens: 0,
  ...more,
});

describe('estimateReservation', () => {
  const cases: readonly [what: string, members: readonly string[], model: Model, outputTokens: number][] = [
    ['assumes a default if neither request nor model states a limit', [], modelWith(), OUTPUT_TOKENS_DEFAULT],
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
    ['treats a limit of zero as none', ['"max_tokens":0'], modelWith({ outputTokensMax: 500 }), 500],
    ['treats a limit of zero next to another as none', ['"max_tokens":0', '"max_completion_tokens":9'], modelWith(), 9],
    [
      'goes by the greatest limit',
      ['"max_tokens":5', '"max_completion_tokens":9', '"max_new_tokens":7'],
      modelWith(),
      9,
    ],
    ['goes by the greater of n and best_of', ['"max_tokens":5', '"n":2', '"best_of":9'], modelWith(), 45],
    ['adds a budget for thinking', ['"max_tokens":5', '"thinking_budget":900', '"n":2'], modelWith(), 1_810],
    ['adds a budget for thinking to the default', ['"thinking_budget":900'], modelWith(), OUTPUT_TOKENS_DEFAULT + 900],
    ['goes by the limit of reasoning', ['"max_tokens":5', '"reasoning":{"max_tokens":600}'], modelWith(), 600],
    [
      'goes by the limit of the model if thinking has none',
      ['"max_tokens":5', '"enable_thinking":true'],
      modelWith({ outputTokensMax: 500 }),
      500,
    ],
    [
      'adds a prediction, which may fail',
      [`"max_tokens":5,"prediction":{"content":"${'x'.repeat(386)}"}`],
      modelWith(),
      105,
    ],
  ];
  for (const [what, members, model, outputTokens] of cases) {
    it(what, () => {
      assert.deepEqual(estimateReservation(inputWith(1_000, ...members), terms({ model })), {
        inputTokens: 1_000,
        tokens: 1_000 + outputTokens,
        amountNano: 3_000n + 13n * BigInt(outputTokens),
        assumesOutput: model.outputTokensMax === null && !members.some((member) => member.startsWith('"max_')),
      });
    });
  }

  it('reserves no more input than the model can read', () => {
    const model = modelWith({ contextTokensMax: 600 });
    const { inputTokens, amountNano } = estimateReservation(inputWith(1_000, '"max_tokens":10'), terms({ model }));
    assert.deepEqual({ inputTokens, amountNano }, { inputTokens: 600, amountNano: 1_930n });
  });

  it('reserves a full context for each of several inputs', () => {
    const model = modelWith({ contextTokensMax: 600 });
    const { demand } = inputWith(0, '"max_tokens":10');
    const input = { inputTokensEstimate: 5_000, choices: 1, demand: { ...demand, inputs: 3 } };
    assert.equal(estimateReservation(input, terms({ model })).inputTokens, 1_800);
  });

  it('adds the size of continued state to the input, up to the context of the model', () => {
    const input = inputWith(1_000, '"max_tokens":10');
    assert.equal(estimateReservation(input, terms({ continuedTokens: 5_000 })).inputTokens, 6_000);
    const model = modelWith({ contextTokensMax: 3_000 });
    assert.equal(estimateReservation(input, terms({ continuedTokens: 5_000, model })).inputTokens, 3_000);
  });

  it('adds the results of server tools, which are not part of the request', () => {
    const tools = '"tools":[{"type":"web_search"},{"type":"mcp"},{"type":"function","function":{"name":"f"}}]';
    const { inputTokens, tokens, amountNano } = estimateReservation(
      inputWith(1_000, '"max_tokens":10', tools),
      terms(),
    );
    const read = 1_000 + 4 * TOOL_USE_TOKENS;
    assert.deepEqual({ inputTokens, tokens }, { inputTokens: 1_000, tokens: read + 10 });
    assert.equal(amountNano, BigInt(read) * 3n + 130n);
  });

  it('uses the highest price of cache writes if the input may be cached', () => {
    const dear = { ...prices, cacheWriteNanoPerMillion: 5_000_000n, cacheWrite1hNanoPerMillion: 11_000_000n };
    const input = inputWith(1_000, '"max_tokens":10', '"system":[{"text":"x","cache_control":{"type":"ephemeral"}}]');
    assert.equal(estimateReservation(input, terms({ prices: dear })).amountNano, 11_130n);
  });

  it('never reserves more than a fixed maximum', () => {
    const whole = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    const price = fc.bigInt({ min: 0n, max: 10n ** 24n });
    fc.assert(
      fc.property(whole, whole, fc.option(whole, { nil: undefined }), price, (choices, cap, modelCap, perMillion) => {
        const input = inputWith(250, `"n":${choices}`, `"max_tokens":${cap}`);
        const model = modelWith(modelCap === undefined ? {} : { outputTokensMax: modelCap });
        const held = estimateReservation(
          input,
          terms({ model, prices: { ...prices, outputNanoPerMillion: perMillion } }),
        );
        assert.ok(held.amountNano >= 0n && held.amountNano <= 1_000_000_000_000_000n);
        assert.ok(Number.isSafeInteger(held.tokens));
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('reserves the requested images at the highest price if images are charged', () => {
    const perImageNano = { low: 5n, high: { '1024x1024': 70n, default: 90n } };
    const input = inputWith(1_000, '"n":3');
    const { amountNano } = estimateReservation(input, terms({ prices: { ...prices, perImageNano }, basis: 'images' }));
    assert.equal(amountNano, 270n);
  });

  it('uses the price of image output if it is higher than that of text', () => {
    const input = inputWith(0, '"max_tokens":10');
    const { amountNano } = estimateReservation(
      input,
      terms({ prices: { ...prices, imageOutputNanoPerMillion: 50_000_000n } }),
    );
    assert.equal(amountNano, 500n);
  });

  it('uses the step of the estimated input', () => {
    const step = { ...prices, inputNanoPerMillion: 6_000_000n, outputNanoPerMillion: 26_000_000n };
    const stepped = terms({ prices: { ...prices, above: { '1000': step } } });
    const reserved = (tokens: number) => estimateReservation(inputWith(tokens, '"max_tokens":10'), stepped).amountNano;
    assert.deepEqual([reserved(1_000), reserved(1_001)], [3_130n, 6_266n]);
  });

  it('uses the most expensive step up to the estimated input, since each run of the model has its own step', () => {
    const cheaper = { ...prices, inputNanoPerMillion: 2_000_000n, outputNanoPerMillion: 1_000_000n };
    const stepped = terms({ prices: { ...prices, above: { '1000': cheaper } } });
    const { amountNano } = estimateReservation(inputWith(1_001, '"max_tokens":10'), stepped);
    assert.equal(amountNano, 1_001n * 3n + 10n * 13n);
  });

  it('uses the highest prices of reasoning, longer output and separately counted tokens', () => {
    const dearer = { ...prices, outputNanoPerMillion: 40_000_000n };
    const reserved = (more: Partial<UnitPrices>) =>
      estimateReservation(inputWith(100, '"max_tokens":10'), terms({ prices: { ...prices, ...more } })).amountNano;
    assert.deepEqual(
      [reserved({ thinking: dearer }), reserved({ outputAbove: { '5': dearer, '8': prices } })],
      [700n, 700n],
    );
    assert.equal(reserved({ above: { '50': { ...prices, thinking: dearer } } }), 700n);
    assert.equal(reserved({ citationsNanoPerMillion: 5_000_000n, reasoningNanoPerMillion: 40_000_000n }), 900n);
  });

  it('uses the factor of the requested tier if it exceeds the plain price', () => {
    const tiered = terms({ prices: { ...prices, serviceTiers: { flex: 500_000_000n, priority: 2_000_000_000n } } });
    const reserved = (tier: string) =>
      estimateReservation(inputWith(100, '"max_tokens":10', `"service_tier":"${tier}"`), tiered).amountNano;
    assert.deepEqual([reserved('default'), reserved('flex'), reserved('priority')], [430n, 430n, 860n]);
  });

  it('uses the price of audio if the request contains or asks for audio', () => {
    const audible = terms({
      prices: { ...prices, audioInputNanoPerMillion: 30_000_000n, audioOutputNanoPerMillion: 90_000_000n },
    });
    const reserved = (...members: string[]) =>
      estimateReservation(inputWith(100, '"max_tokens":10', ...members), audible).amountNano;
    assert.equal(reserved(), 430n);
    assert.equal(reserved('"modalities":["audio"]'), 300n + 900n);
    assert.equal(reserved('"input":[{"content":[{"type":"input_audio"}]}]'), 3_000n + 130n);
  });

  it('reserves two uses of each listed tool at the highest tool price', () => {
    const priced = terms({ prices: { ...prices, perWebSearchNano: 1_000n, perContainerNano: 5_000n } });
    const plain = terms();
    const input = inputWith(0, '"max_tokens":10', '"tools":[{"type":"web_search"},{"type":"code_interpreter"}]');
    const more = estimateReservation(input, priced).amountNano - estimateReservation(input, plain).amountNano;
    assert.equal(more, 4n * 5_000n);
  });

  it('reserves the tool uses that the request allows, two by default', () => {
    const priced = terms({ prices: { ...prices, perWebSearchNano: 1_000n } });
    const reserved = (...members: string[]) => estimateReservation(inputWith(0, '"max_tokens":10', ...members), priced);
    const uses = (...members: string[]) => {
      const { tokens, amountNano } = reserved(...members);
      const count = (tokens - 10) / TOOL_USE_TOKENS;
      assert.equal(amountNano, 130n + BigInt(count) * (BigInt(TOOL_USE_TOKENS) * 3n + 1_000n));
      return count;
    };
    const search = (maxUses: number | string) => `"tools":[{"type":"web_search_20250305","max_uses":${maxUses}}]`;
    assert.deepEqual(
      [search(1), search(8), search(0), search('null'), search(1e9)].map((tools) => uses(tools)),
      [1, 8, 2, 2, 1_000],
    );
    assert.equal(uses('"tools":[{"type":"web_search"},{"type":"web_fetch_20250910","max_uses":5}]'), 7);
    // A limit over all tools may exceed the expected uses, but is not trusted to be lower.
    assert.equal(uses('"tools":[{"type":"web_search"}]', '"max_tool_calls":30'), 30);
    assert.equal(uses('"tools":[{"type":"web_search"}]', '"max_tool_calls":1'), 2);
    assert.equal(uses('"max_tool_calls":30'), 0);
  });

  it('reserves a summary and the call after it if the input may become long enough', () => {
    const limited = terms({ model: modelWith({ outputTokensMax: 500 }) });
    const compact = (edit: string) => `"context_management":${edit}`;
    const reserved = (inputTokens: number, edit: string) => {
      const { tokens, amountNano } = estimateReservation(
        inputWith(inputTokens, '"max_tokens":10', compact(edit)),
        limited,
      );
      const isWithSummary = tokens === 2 * inputTokens + 10 + 500;
      assert.equal(tokens, isWithSummary ? tokens : inputTokens + 10);
      assert.equal(
        amountNano,
        isWithSummary ? BigInt(2 * inputTokens) * 3n + 510n * 13n : BigInt(inputTokens) * 3n + 130n,
      );
      return isWithSummary;
    };
    const messages = '{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":60000}}]}';
    assert.deepEqual([reserved(30_000, messages), reserved(30_001, messages)], [false, true]);
    const responses = '[{"type":"compaction","compact_threshold":1000}]';
    assert.deepEqual([reserved(500, responses), reserved(501, responses)], [false, true]);
    assert.equal(reserved(5, '{"edits":[{"type":"compact_20260112"}]}'), true);
    assert.equal(reserved(1_000_000, '{"edits":[{"type":"clear_tool_uses_20250919"}]}'), false);
    assert.equal(reserved(1_000_000, '"compact"'), false);
  });

  it('uses the price of a call or of search units if those are charged', () => {
    const input = inputWith(1_000);
    const asCall = terms({ prices: { ...prices, perCallNano: 7n }, basis: 'calls' });
    assert.equal(estimateReservation(input, asCall).amountNano, 7n);
    const asUnits = terms({ prices: { ...prices, perSearchUnitNano: 8n }, basis: 'searchUnits' });
    assert.equal(estimateReservation(input, asUnits).amountNano, 8n);
    const many = { ...input, demand: { ...input.demand, searchUnits: 11 } };
    assert.equal(estimateReservation(many, asUnits).amountNano, 88n);
  });
});

describe('the output that a request asks for', () => {
  const cases: readonly [members: readonly string[], model: Model, requested: number | null][] = [
    [[], modelWith({ outputTokensMax: 500 }), null],
    [['"max_tokens":0'], modelWith({ outputTokensMax: 500 }), null],
    [['"max_tokens":700'], modelWith({ outputTokensMax: 500 }), 700],
    [['"max_tokens":700', '"best_of":4'], modelWith(), 2_800],
    [['"n":4'], modelWith({ outputTokensMax: 500 }), 2_000],
    [['"n":4'], modelWith(), 4 * OUTPUT_TOKENS_DEFAULT],
    [['"thinking_budget":900'], modelWith(), 900],
    [['"max_tokens":100', '"thinking_budget":900', '"n":2'], modelWith(), 2_000],
    [['"max_tokens":100', '"thinking":{"budget_tokens":900}'], modelWith(), 900],
  ];
  for (const [members, model, requested] of cases) {
    it(`is ${requested} with {${members.join(',')}}`, () => {
      assert.equal(requestedOutput(inputWith(0, ...members), model), requested);
    });
  }
});
