import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { noUsage, TOKEN_COUNT_MAX, type Usage } from '../metering/usage-facts.ts';
import { MessagesUsage, readMessagesUsage } from './usage.ts';

const totals = { input_tokens: 100, output_tokens: 20 };
const facts: Usage = { ...noUsage, inputTokens: 100, outputTokens: 20 };
const run = (counts: Partial<Usage>) => ({ model: null, isInside: true, usage: { ...noUsage, ...counts } });

describe('messages usage', () => {
  const cases: readonly [what: string, usage: unknown, facts: Usage | null][] = [
    ['uses the totals if there is nothing else', totals, facts],
    [
      'adds cache reads and writes to the input, which does not include them',
      { ...totals, cache_read_input_tokens: 300, cache_creation_input_tokens: 50 },
      { ...facts, cachedInputTokens: 300, cacheWriteTokens: 50 },
    ],
    [
      'distinguishes five-minute and one-hour writes',
      {
        ...totals,
        cache_creation_input_tokens: 50,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
      },
      { ...facts, cacheWriteTokens: 20, cacheWrite1hTokens: 30 },
    ],
    [
      'reads the split without a total',
      { ...totals, cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 } },
      { ...facts, cacheWriteTokens: 20, cacheWrite1hTokens: 30 },
    ],
    [
      'counts the rest of the total as five-minute writes',
      { ...totals, cache_creation_input_tokens: 50, cache_creation: { ephemeral_1h_input_tokens: 30 } },
      { ...facts, cacheWriteTokens: 20, cacheWrite1hTokens: 30 },
    ],
    [
      'uses the split if it exceeds the total',
      { ...totals, cache_creation_input_tokens: 10, cache_creation: { ephemeral_1h_input_tokens: 30 } },
      { ...facts, cacheWrite1hTokens: 30 },
    ],
    [
      'treats null as absent in every nullable field',
      {
        ...totals,
        cache_read_input_tokens: null,
        cache_creation_input_tokens: null,
        cache_creation: null,
        output_tokens_details: null,
        server_tool_use: null,
        iterations: null,
      },
      facts,
    ],
    [
      'treats null within a split as 0',
      {
        ...totals,
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: null, ephemeral_1h_input_tokens: null },
      },
      { ...facts, cacheWriteTokens: 5 },
    ],
    [
      'records thinking without adding it to the output',
      { ...totals, output_tokens_details: { thinking_tokens: 15 } },
      { ...facts, reasoningTokens: 15 },
    ],
    [
      'limits thinking tokens to the output',
      { ...totals, output_tokens_details: { thinking_tokens: 21 } },
      { ...facts, reasoningTokens: 20 },
    ],
    [
      'adds compaction iterations to the totals',
      {
        ...totals,
        cache_read_input_tokens: 1,
        iterations: [
          {
            type: 'compaction',
            input_tokens: 1_000,
            output_tokens: 200,
            cache_read_input_tokens: 10,
            cache_creation_input_tokens: 7,
            cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
            output_tokens_details: { thinking_tokens: 2 },
          },
          { type: 'compaction', input_tokens: 1, output_tokens: 2 },
        ],
      },
      {
        ...noUsage,
        inputTokens: 1_101,
        cachedInputTokens: 11,
        cacheWriteTokens: 3,
        cacheWrite1hTokens: 4,
        outputTokens: 222,
        reasoningTokens: 2,
        compactions: 2,
        parts: [
          run({
            inputTokens: 1_000,
            cachedInputTokens: 10,
            cacheWriteTokens: 3,
            cacheWrite1hTokens: 4,
            outputTokens: 200,
            reasoningTokens: 2,
            compactions: 1,
          }),
          run({ inputTokens: 1, outputTokens: 2, compactions: 1 }),
        ],
      },
    ],
    [
      'does not add iterations of other types, which the totals include',
      { ...totals, iterations: [{ type: 'message', ...totals }, { ...totals }, null, 'compaction', 7] },
      { ...facts, parts: [run(facts)] },
    ],
    [
      'lists the runs that the totals include, with their models',
      {
        ...totals,
        iterations: [
          { type: 'message', input_tokens: 60, output_tokens: 5 },
          { type: 'message', model: 'm', input_tokens: 40, output_tokens: 15 },
          { type: 'advisor_message', model: 'other', input_tokens: 7, output_tokens: 3 },
        ],
      },
      {
        ...facts,
        serverToolUses: 2,
        parts: [
          run({ inputTokens: 60, outputTokens: 5 }),
          { ...run({ inputTokens: 40, outputTokens: 15 }), model: 'm' },
          { ...run({ inputTokens: 7, outputTokens: 3 }), model: 'other', isInside: false },
        ],
      },
    ],
    [
      'omits an unreadable run that the totals include',
      { ...totals, iterations: [{ type: 'message', input_tokens: -1 }] },
      facts,
    ],
    [
      'treats missing counts of a compaction iteration as 0',
      { ...totals, iterations: [{ type: 'compaction', output_tokens: 5 }, { type: 'compaction' }] },
      {
        ...facts,
        outputTokens: 25,
        compactions: 2,
        parts: [run({ outputTokens: 5, compactions: 1 }), run({ compactions: 1 })],
      },
    ],
    [
      'is unusable if a compaction iteration is unreadable',
      { ...totals, iterations: [{ type: 'compaction', input_tokens: -1, output_tokens: 2 }] },
      null,
    ],
    ['ignores iterations that are not a list', { ...totals, iterations: {} }, facts],
    ['does not require cache fields', { ...totals, cache_creation: [5], output_tokens_details: [] }, facts],
    [
      'counts provider tools',
      { ...totals, server_tool_use: { web_search_requests: 3, web_fetch_requests: 2, other: 'x' } },
      { ...facts, webSearches: 3, webFetches: 2, serverToolUses: 5 },
    ],
    [
      'reads the service terms that were applied',
      { ...totals, service_tier: 'priority', speed: 'fast', inference_geo: 'us' },
      { ...facts, servedOn: { serviceTier: 'priority', speed: 'fast', inferenceGeo: 'us' } },
    ],
    [
      'reads counts in strings',
      { input_tokens: '100', output_tokens: '20', cache_read_input_tokens: '30' },
      { ...facts, cachedInputTokens: 30 },
    ],
    [
      'records cache counts with unknown names',
      {
        ...totals,
        claude_cache_creation_5_m_tokens: 7,
        cached_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_7d_input_tokens: 5 },
      },
      { ...facts, unexplained: ['usage.cached_tokens', 'usage.cache_creation.ephemeral_7d_input_tokens'] },
    ],
  ];
  for (const [what, usage, expected] of cases) {
    it(what, () => {
      assert.deepEqual(readMessagesUsage(usage), expected);
    });
  }

  it('is unusable without two totals, or with an invalid count', () => {
    for (const [count, wrong] of [
      ['input_tokens', undefined],
      ['output_tokens', undefined],
      ['input_tokens', null],
      ['input_tokens', -100],
      ['output_tokens', 0.1],
      ['input_tokens', TOKEN_COUNT_MAX + 1],
      ['cache_read_input_tokens', '5.5'],
      ['cache_creation_input_tokens', -5],
    ] as const) {
      assert.equal(readMessagesUsage({ ...totals, [count]: wrong }), null, `${count}: ${wrong}`);
    }
    for (const usage of [null, 'none']) assert.equal(readMessagesUsage(usage), null);
  });

  it('uses the maximum of each figure if nothing was split, and never adds', () => {
    const usage = new MessagesUsage();
    usage.update({
      input_tokens: 2_679,
      output_tokens: 3,
      cache_read_input_tokens: 7,
      cache_creation_input_tokens: null,
    });
    usage.update({ output_tokens: 15, cache_read_input_tokens: null });
    usage.update({ output_tokens: 0, input_tokens: 0 });
    usage.update({ input_tokens: 10_682, output_tokens: 510, cache_creation_input_tokens: 4, server_tool_use: {} });
    assert.deepEqual(usage.total(), {
      ...noUsage,
      inputTokens: 10_682,
      cachedInputTokens: 7,
      cacheWriteTokens: 4,
      outputTokens: 510,
    });
  });

  it('replaces initial zeros with the final figures', () => {
    const usage = new MessagesUsage();
    usage.update({ input_tokens: 0, output_tokens: 0 });
    usage.update(totals);
    assert.deepEqual(usage.total(), facts);
  });

  it('does not add the iterations of different reports', () => {
    const usage = new MessagesUsage();
    usage.update({ ...totals, iterations: [{ type: 'compaction', input_tokens: 5, output_tokens: 1 }] });
    usage.update({ output_tokens: 20, iterations: [{ type: 'compaction', input_tokens: 5, output_tokens: 1 }] });
    assert.deepEqual(usage.total(), {
      ...facts,
      inputTokens: 105,
      outputTokens: 21,
      compactions: 1,
      parts: [run({ inputTokens: 5, outputTokens: 1, compactions: 1 })],
    });
  });

  it('counts the context of a compaction once if only the final report lists the compaction', () => {
    const usage = new MessagesUsage();
    usage.update({
      input_tokens: 9_000,
      cache_read_input_tokens: 50_000,
      cache_creation_input_tokens: 800,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 800 },
      output_tokens: 5,
    });
    usage.update({
      input_tokens: 612,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 300,
      output_tokens: 40,
      iterations: [{ type: 'compaction', input_tokens: 9_000, cache_read_input_tokens: 50_000, output_tokens: 500 }],
    });
    const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens } = usage.total()!;
    assert.deepEqual(
      [inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens],
      [9_612, 50_000, 0, 300, 540],
    );
  });

  it('keeps the initial input if a report with a compaction has none', () => {
    const usage = new MessagesUsage();
    usage.update({ input_tokens: 100, output_tokens: 1 });
    usage.update({ output_tokens: 20, iterations: [{ type: 'compaction', input_tokens: 900, output_tokens: 50 }] });
    assert.equal(usage.total()!.inputTokens, 1_000);
  });

  it('does not confuse runs if a later report inserts one at the front', () => {
    const usage = new MessagesUsage();
    const message = { type: 'message', ...totals };
    const compaction = { type: 'compaction', input_tokens: 5, output_tokens: 1 };
    usage.update({ ...totals, iterations: [message] });
    usage.update({ ...totals, iterations: [compaction, message] });
    const expected = {
      ...facts,
      inputTokens: 105,
      outputTokens: 21,
      compactions: 1,
      parts: [run({ inputTokens: 5, outputTokens: 1, compactions: 1 }), run(facts)],
    };
    assert.deepEqual(usage.total(), expected);
    // A shorter list would lose runs.
    usage.update({ output_tokens: 20, iterations: [message] });
    usage.update({ output_tokens: 20, iterations: [] });
    assert.deepEqual(usage.total(), expected);
  });

  it('ignores a report that is not an object', () => {
    const usage = new MessagesUsage();
    usage.update(totals);
    for (const noReport of [null, undefined, 'x', [1]]) usage.update(noReport);
    assert.deepEqual(usage.total(), facts);
  });

  it('has the input side even if the output is unknown', () => {
    const usage = new MessagesUsage();
    usage.update({ input_tokens: 100, cache_read_input_tokens: 3 });
    assert.equal(usage.total(), null);
    assert.deepEqual(usage.withOutput(9), { ...facts, cachedInputTokens: 3, outputTokens: 9 });
    assert.equal(new MessagesUsage().withOutput(9), null);
  });

  const started = (usage: object) => ({
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    output_tokens: 0,
    ...usage,
  });
  const inputs: readonly [what: string, reports: readonly object[], input: Partial<Usage>][] = [
    [
      'replaces an unsplit initial input with the final split (Kimi, DashScope, vLLM)',
      [
        started({ input_tokens: 8_834 }),
        { input_tokens: 18, cache_read_input_tokens: 8_831, cache_creation_input_tokens: 0 },
      ],
      { inputTokens: 18, cachedInputTokens: 8_831 },
    ],
    [
      'treats cache figures without input as part of the earlier input',
      [started({ input_tokens: 8_834 }), { cache_read_input_tokens: 8_000 }, { cache_read_input_tokens: 8_831 }],
      { inputTokens: 3, cachedInputTokens: 8_831 },
    ],
    [
      'does the same with an input of zero, and if they slightly exceed the whole',
      [started({ input_tokens: 8_834 }), { input_tokens: 0, cache_read_input_tokens: 8_849 }],
      { inputTokens: 0, cachedInputTokens: 8_849 },
    ],
    [
      'adds cache figures to an input that is too small to include them',
      [started({ input_tokens: 25 }), { cache_read_input_tokens: 8_831 }],
      { inputTokens: 25, cachedInputTokens: 8_831 },
    ],
    [
      'splits a sum that follows cache figures without input',
      [started({ cache_creation_input_tokens: 49 }), { input_tokens: 49 }],
      { inputTokens: 0, cacheWriteTokens: 49 },
    ],
    [
      'keeps the split if zeros or its sum follow',
      [
        started({ input_tokens: 18, cache_read_input_tokens: 8_831 }),
        started({ input_tokens: 0 }),
        started({ input_tokens: 18 }),
        { input_tokens: 8_849 },
        { input_tokens: 18, cache_read_input_tokens: 0, cache_creation_input_tokens: 5 },
      ],
      { inputTokens: 18, cachedInputTokens: 8_831, cacheWriteTokens: 5 },
    ],
    [
      'moves writes that became reads',
      [
        started({
          input_tokens: 10,
          cache_creation_input_tokens: 8_831,
          cache_creation: { ephemeral_1h_input_tokens: 8_831 },
        }),
        { input_tokens: 10, cache_read_input_tokens: 8_831, cache_creation_input_tokens: 0 },
      ],
      { inputTokens: 10, cachedInputTokens: 8_831 },
    ],
    [
      'keeps the split by lifetime that only the first report has',
      [
        started({
          input_tokens: 10,
          cache_creation_input_tokens: 40,
          cache_creation: { ephemeral_1h_input_tokens: 30 },
        }),
        { input_tokens: 12, cache_read_input_tokens: 0, cache_creation_input_tokens: 40 },
      ],
      { inputTokens: 12, cacheWriteTokens: 10, cacheWrite1hTokens: 30 },
    ],
  ];
  for (const [what, reports, input] of inputs) {
    it(what, () => {
      const usage = new MessagesUsage();
      for (const report of reports) usage.update(report);
      assert.deepEqual(usage.withOutput(5), { ...noUsage, ...input, outputTokens: 5 });
    });
  }

  it('never exceeds the greatest report of a figure, and matches a final report that splits the input', () => {
    const figure = fc.option(fc.nat({ max: 1_000 }));
    const report = fc.record(
      {
        input_tokens: figure,
        output_tokens: figure,
        cache_read_input_tokens: figure,
        cache_creation_input_tokens: figure,
      },
      { requiredKeys: [] },
    );
    const figures = fc.integer({ min: 1, max: 1_000 });
    fc.assert(
      fc.property(fc.array(report, { maxLength: 6 }), figures, figures, figures, (reports, input, read, written) => {
        const usage = new MessagesUsage();
        const greatest = (field: keyof (typeof reports)[number]): number | null =>
          reports.reduce(
            (most: number | null, { [field]: value }) => (value == null ? most : Math.max(most ?? 0, value)),
            null,
          );
        for (const each of reports) usage.update(each);
        const facts = usage.total();
        const [inputMost, output] = [greatest('input_tokens'), greatest('output_tokens')];
        assert.equal(facts === null, inputMost === null || output === null);
        if (facts !== null) {
          assert.equal(facts.outputTokens, output);
          assert.ok(facts.inputTokens <= inputMost!);
          assert.ok(facts.cachedInputTokens <= (greatest('cache_read_input_tokens') ?? 0));
          assert.ok(facts.cacheWriteTokens <= (greatest('cache_creation_input_tokens') ?? 0));
        }
        const split = { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written };
        for (const last of [split, { input_tokens: 0, cache_read_input_tokens: 0 }, {}]) {
          usage.update(last);
          const expected = { inputTokens: input, cachedInputTokens: read, cacheWriteTokens: written, outputTokens: 7 };
          assert.deepEqual(usage.withOutput(7), { ...noUsage, ...expected });
        }
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('ignores members named like prototype properties', () => {
    for (const fields of ['"output_tokens":20', '"output_tokens":20,"iterations":[{"type":"compaction"}]']) {
      assert.equal(readMessagesUsage(JSON.parse(`{"input_tokens":100,"__proto__":{${fields}}}`)), null);
    }
    const named = JSON.parse('{"input_tokens":100,"output_tokens":20,"__proto__":{"cache_read_input_tokens":7}}');
    assert.deepEqual(readMessagesUsage(named), { ...facts, unexplained: ['usage.__proto__.cache_read_input_tokens'] });
  });
});
