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
    ['takes the totals where there is nothing else', totals, facts],
    [
      'adds cache reads and writes to the input, which does not include them',
      { ...totals, cache_read_input_tokens: 300, cache_creation_input_tokens: 50 },
      { ...facts, cachedInputTokens: 300, cacheWriteTokens: 50 },
    ],
    [
      'tells five-minute and one-hour writes apart',
      {
        ...totals,
        cache_creation_input_tokens: 50,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
      },
      { ...facts, cacheWriteTokens: 20, cacheWrite1hTokens: 30 },
    ],
    [
      'reads the split alone',
      { ...totals, cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 } },
      { ...facts, cacheWriteTokens: 20, cacheWrite1hTokens: 30 },
    ],
    [
      'takes what the split leaves of the total for written for five minutes',
      { ...totals, cache_creation_input_tokens: 50, cache_creation: { ephemeral_1h_input_tokens: 30 } },
      { ...facts, cacheWriteTokens: 20, cacheWrite1hTokens: 30 },
    ],
    [
      'goes by the split if it exceeds the total',
      { ...totals, cache_creation_input_tokens: 10, cache_creation: { ephemeral_1h_input_tokens: 30 } },
      { ...facts, cacheWrite1hTokens: 30 },
    ],
    [
      'takes null for absent in every field that may be null',
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
      'takes null inside a split for 0',
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
      'cuts a thinking count above the output to the output',
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
      'does not add iterations of another type, which are inside the totals',
      { ...totals, iterations: [{ type: 'message', ...totals }, { ...totals }, null, 'compaction', 7] },
      { ...facts, parts: [run(facts)] },
    ],
    [
      'lists the runs that add up to the totals, with the models that they name',
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
      'leaves out an unreadable run that is inside the totals',
      { ...totals, iterations: [{ type: 'message', input_tokens: -1 }] },
      facts,
    ],
    [
      'counts what a compaction iteration leaves out as 0',
      { ...totals, iterations: [{ type: 'compaction', output_tokens: 5 }, { type: 'compaction' }] },
      {
        ...facts,
        outputTokens: 25,
        compactions: 2,
        parts: [run({ outputTokens: 5, compactions: 1 }), run({ compactions: 1 })],
      },
    ],
    [
      'cannot be billed if a compaction iteration is unreadable',
      { ...totals, iterations: [{ type: 'compaction', input_tokens: -1, output_tokens: 2 }] },
      null,
    ],
    ['takes iterations that are no list for none', { ...totals, iterations: {} }, facts],
    ['does not need cache fields of any kind', { ...totals, cache_creation: [5], output_tokens_details: [] }, facts],
    [
      'counts the tools that the provider ran',
      { ...totals, server_tool_use: { web_search_requests: 3, web_fetch_requests: 2, other: 'x' } },
      { ...facts, webSearches: 3, webFetches: 2, serverToolUses: 5 },
    ],
    [
      'says on which terms it was served',
      { ...totals, service_tier: 'priority', speed: 'fast', inference_geo: 'us' },
      { ...facts, servedOn: { serviceTier: 'priority', speed: 'fast', inferenceGeo: 'us' } },
    ],
    [
      'reads counts that are text',
      { input_tokens: '100', output_tokens: '20', cache_read_input_tokens: '30' },
      { ...facts, cachedInputTokens: 30 },
    ],
    [
      'names counts of a cache in a spelling that is not known',
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

  it('cannot be billed without two totals, and if a count is none', () => {
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

  it('goes by the greatest figure of each field if nothing was split, and never adds', () => {
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

  it('replaces zeros of the beginning with the figures of the end', () => {
    const usage = new MessagesUsage();
    usage.update({ input_tokens: 0, output_tokens: 0 });
    usage.update(totals);
    assert.deepEqual(usage.total(), facts);
  });

  it('does not add the iterations of an earlier report to those of a later one', () => {
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

  it('has the context that a summary read once, if only the end says that there was one', () => {
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

  it('keeps the input of the beginning if a report with a summary states none', () => {
    const usage = new MessagesUsage();
    usage.update({ input_tokens: 100, output_tokens: 1 });
    usage.update({ output_tokens: 20, iterations: [{ type: 'compaction', input_tokens: 900, output_tokens: 50 }] });
    assert.equal(usage.total()!.inputTokens, 1_000);
  });

  it('does not mix up runs if a later report has another one in front', () => {
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
    // A list that is shorter forgets runs.
    usage.update({ output_tokens: 20, iterations: [message] });
    usage.update({ output_tokens: 20, iterations: [] });
    assert.deepEqual(usage.total(), expected);
  });

  it('ignores a report that is no object', () => {
    const usage = new MessagesUsage();
    usage.update(totals);
    for (const noReport of [null, undefined, 'x', [1]]) usage.update(noReport);
    assert.deepEqual(usage.total(), facts);
  });

  it('has the input side alone if the output is not known', () => {
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
      'takes the split of the end in place of the whole input of the beginning (Kimi, DashScope, vLLM)',
      [
        started({ input_tokens: 8_834 }),
        { input_tokens: 18, cache_read_input_tokens: 8_831, cache_creation_input_tokens: 0 },
      ],
      { inputTokens: 18, cachedInputTokens: 8_831 },
    ],
    [
      'takes figures of the cache alone for a part of the input before',
      [started({ input_tokens: 8_834 }), { cache_read_input_tokens: 8_000 }, { cache_read_input_tokens: 8_831 }],
      { inputTokens: 3, cachedInputTokens: 8_831 },
    ],
    [
      'takes them for a part with an input of zero, and if they are a little more than the whole',
      [started({ input_tokens: 8_834 }), { input_tokens: 0, cache_read_input_tokens: 8_849 }],
      { inputTokens: 0, cachedInputTokens: 8_849 },
    ],
    [
      'adds figures of the cache alone to an input that cannot have them',
      [started({ input_tokens: 25 }), { cache_read_input_tokens: 8_831 }],
      { inputTokens: 25, cachedInputTokens: 8_831 },
    ],
    [
      'takes a sum that comes behind figures of the cache alone as split',
      [started({ cache_creation_input_tokens: 49 }), { input_tokens: 49 }],
      { inputTokens: 0, cacheWriteTokens: 49 },
    ],
    [
      'keeps the split if zeros follow, or the sum of it',
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
      'takes writes that became reads from one figure to the other',
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
      'keeps the split by lifetime that the first report alone has',
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

  it('never has more of a field than the greatest report of it, and all of a last report that splits the input', () => {
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

  it('reads no field of a member that is named like a prototype', () => {
    for (const fields of ['"output_tokens":20', '"output_tokens":20,"iterations":[{"type":"compaction"}]']) {
      assert.equal(readMessagesUsage(JSON.parse(`{"input_tokens":100,"__proto__":{${fields}}}`)), null);
    }
    const named = JSON.parse('{"input_tokens":100,"output_tokens":20,"__proto__":{"cache_read_input_tokens":7}}');
    assert.deepEqual(readMessagesUsage(named), { ...facts, unexplained: ['usage.__proto__.cache_read_input_tokens'] });
  });
});
