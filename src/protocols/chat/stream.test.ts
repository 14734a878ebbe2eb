import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keySpelling, memberOf, objectText, stringText, valueText } from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { noUsage, type Usage } from '../metering/usage-facts.ts';
import { WrittenText } from '../metering/written-text.ts';
import { readChatStream } from './stream.ts';

const facts = (inputTokens: number, outputTokens: number): Usage => ({ ...noUsage, inputTokens, outputTokens });

const usage = { prompt_tokens: 10, completion_tokens: 5 };

function eventOf(chunk: object | string): Buffer {
  return Buffer.from(`data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`);
}

/** Reads events like the tap, only if they matter. Returns the meaning of the last one. */
function read(reading: StreamReading, ...events: readonly [Buffer, ...Buffer[]]): EventMeaning | 'unread' {
  const meanings = events.map((event) => (reading.matters(event) ? reading.read(event) : 'unread'));
  return meanings.at(-1)!;
}

const FINISHED = eventOf({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });

const dropping = () => readChatStream({ dropsUsageChunk: true, choices: 1 });
const keeping = () => readChatStream({ dropsUsageChunk: false, choices: 1 });

describe('chat stream', () => {
  it('counts the text of a message only if there are no deltas', () => {
    const size = (...chunks: readonly [object, ...object[]]): number | undefined => {
      const reading = keeping();
      for (const chunk of chunks) read(reading, eventOf({ choices: [{ index: 0, ...chunk }] }));
      return reading.repeatedTextBytes;
    };
    const message = { role: 'assistant', content: 'twelve bytes', reasoning_content: 'four' };
    assert.equal(size({ message, finish_reason: 'stop' }), 16);
    assert.equal(size({ message: { content: 'twelve' } }, { message, delta: { role: 'assistant', content: '' } }), 16);
    assert.equal(size({ message, delta: { content: 'bytes' } }, { message, delta: { content: '' } }), 0);
    assert.equal(size({ message: { role: 'tool', content: 'twelve bytes' } }), 0);
    assert.equal(size({ delta: { content: 'the "message" of {' } }), 0);
  });

  it('does not parse ordinary chunks', () => {
    const reading = dropping();
    for (const chunk of [
      { choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: null }], usage: null },
      { choices: [{ index: 0, delta: { content: 'say "usage": {} "finish_reason":"stop" "error":1' } }] },
      { choices: [{ index: 0, delta: { content: 'the usage of error, finish_reason and DONE' } }], error: null },
      { choices: [{ index: 0, delta: { content: '"usage"' } }], kind: 'usage' },
    ]) {
      assert.equal(read(reading, eventOf(chunk)), 'unread', JSON.stringify(chunk));
    }
    assert.equal(read(reading, Buffer.from(': ping\n\n')), 'unread');
    assert.equal(reading.usage(), null);
    assert.equal(reading.canEndHere, false);
  });

  it('removes the chunk with only usage if the client did not request it', () => {
    for (const choices of [{ choices: [] }, { choices: null }, {}]) {
      const reading = dropping();
      assert.equal(read(reading, eventOf({ id: 'c', ...choices, usage })), 'drop');
      assert.deepEqual(reading.partialUsage(), facts(10, 5));
    }
  });

  it('forwards the usage chunk if the client requested it', () => {
    const reading = keeping();
    assert.equal(read(reading, eventOf({ choices: [], usage })), 'pass');
    assert.deepEqual(reading.partialUsage(), facts(10, 5));
  });

  it('forwards usage in a chunk with a choice', () => {
    const reading = dropping();
    const chunk = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage };
    assert.equal(read(reading, eventOf(chunk)), 'pass');
    assert.deepEqual(reading.usage(), facts(10, 5));
  });

  it('forwards a chunk without choices and usage', () => {
    const reading = dropping();
    assert.equal(read(reading, eventOf({ choices: [], prompt_filter_results: [], 'x-"usage"': 1 })), 'unread');
    assert.equal(read(reading, eventOf('{"choices":[],"usage":{"a":1},"usage":null}')), 'pass');
    assert.equal(reading.usage(), null);
  });

  it('reads the nested usage of Groq', () => {
    const reading = keeping();
    const chunk = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], x_groq: { id: 'r', usage } };
    assert.equal(read(reading, eventOf(chunk)), 'pass');
    assert.deepEqual(reading.usage(), facts(10, 5));
  });

  it('uses the maximum of each figure, in any order', () => {
    const details = { prompt_tokens_details: { cached_tokens: 4 } };
    const reports = [
      { prompt_tokens: 10, completion_tokens: 1 },
      { prompt_tokens: 10, completion_tokens: 5, ...details },
      { prompt_tokens: 0, completion_tokens: 0 },
    ];
    for (const order of [reports, reports.toReversed()]) {
      const reading = keeping();
      read(reading, FINISHED);
      for (const usage of order) read(reading, eventOf({ choices: [], usage }));
      assert.deepEqual(reading.usage(), { ...facts(6, 5), cachedInputTokens: 4 });
    }
  });

  it('keeps the figures that are readable', () => {
    const reading = keeping();
    read(reading, FINISHED, eventOf({ choices: [], usage }));
    read(reading, eventOf({ choices: [], usage: { prompt_tokens: -1, completion_tokens: 2 } }));
    assert.deepEqual(reading.usage(), facts(10, 5));
  });

  it('treats usage in every chunk as final only after the output has ended', () => {
    const reading = keeping();
    read(reading, eventOf({ choices: [{ index: 0, delta: { content: 'a' } }], usage }));
    assert.equal(reading.usage(), null);
    assert.deepEqual(reading.partialUsage(), facts(10, 5));
    read(reading, FINISHED, eventOf({ choices: [], usage }));
    assert.deepEqual(reading.usage(), facts(10, 5));
    const unfinished = keeping();
    read(unfinished, eventOf({ choices: [], usage }), eventOf('[DONE]'));
    assert.deepEqual(unfinished.usage(), facts(10, 5));
  });

  it('detects the end of the output when all choices have finished', () => {
    const finish = (index: number) => eventOf({ choices: [{ index, delta: {}, finish_reason: 'stop' }] });
    const reading = readChatStream({ dropsUsageChunk: true, choices: 3 });
    for (const index of [0, 2, 2, 0]) {
      read(reading, finish(index));
      assert.equal(reading.hasOutputEnd, false);
    }
    read(reading, finish(1));
    assert.equal(reading.hasOutputEnd, true);
    const together = readChatStream({ dropsUsageChunk: true, choices: 2 });
    const both = [0, 1].map(() => ({ delta: {}, finish_reason: 'length' }));
    read(together, eventOf({ choices: both }));
    assert.equal(together.hasOutputEnd, true);
  });

  it('ends with [DONE], but not with text that contains it', () => {
    assert.equal(read(dropping(), eventOf('[DONE]')), 'done');
    assert.equal(read(dropping(), Buffer.from('data:[DONE]')), 'done');
    assert.equal(read(dropping(), Buffer.from(': last\r\ndata: [DONE]\r\n\r\n')), 'done');
    for (const event of [
      eventOf({ choices: [{ index: 0, delta: { content: '[DONE]' } }] }),
      eventOf('"[DONE]"'),
      Buffer.from(': [DONE]\n\n'),
      Buffer.from('data: [DONE]\ndata: [DONE]\n\n'),
      eventOf({
        choices: [{ index: 0, delta: { content: '[DONE]' } }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      }),
    ]) {
      assert.equal(read(dropping(), event), 'pass', event.toString());
    }
  });

  it('treats a chunk with an error as a failure', () => {
    for (const chunk of [
      { error: { message: 'overloaded' } },
      { error: 'overloaded', choices: [] },
      { object: 'error', message: 'overloaded', type: 'InternalServerError', code: 500 },
      { choices: [{ index: 0, delta: {}, finish_reason: 'error' }], error: null },
    ]) {
      assert.equal(read(dropping(), eventOf(chunk)), 'error', JSON.stringify(chunk));
    }
    assert.equal(read(dropping(), eventOf({ error: '', choices: [] })), 'pass');
    assert.equal(read(dropping(), eventOf({ choices: [{ delta: {}, error: { a: 1 } }] })), 'pass');
  });

  it('reads the usage of a choice that finishes with an error', () => {
    const reading = dropping();
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    assert.equal(read(reading, eventOf({ choices: [{ delta: {}, finish_reason: 'error' }], usage })), 'error');
    assert.deepEqual(reading.usage(), { ...noUsage, inputTokens: 7, outputTokens: 2 });
  });

  it('treats an event named error as a failure, whatever its data', () => {
    for (const text of ['event: error\ndata: {"message":"overloaded"}\n\n', 'event:error\r\ndata: x\r\n\r\n']) {
      assert.equal(read(dropping(), Buffer.from(text)), 'error');
    }
    assert.equal(read(dropping(), Buffer.from('event: message\ndata: {"choices":[]}\n\n')), 'pass');
    assert.equal(read(dropping(), eventOf({ choices: [{ delta: { content: 'event: error' } }] })), 'pass');
  });

  it('forwards what it cannot parse', () => {
    for (const text of [
      '{"usage":{',
      '[{"usage":{"prompt_tokens":1,"completion_tokens":1}}]',
      '"usage":1',
      'nonsense',
    ]) {
      const reading = dropping();
      assert.notEqual(read(reading, eventOf(text)), 'drop');
      assert.equal(reading.usage(), null);
    }
    assert.equal(read(dropping(), Buffer.from('"usage":1\n\n')), 'pass');
  });

  it('cannot end after an event that merely had to be parsed', () => {
    const reading = dropping();
    assert.equal(read(reading, eventOf({ choices: [{ index: 0, delta: { content: '[DONE]' } }] })), 'pass');
    assert.equal(read(reading, eventOf({ error: 'overloaded' })), 'error');
    assert.equal(reading.canEndHere, false);
  });

  it('cannot end after an empty finish reason, which some providers send in every chunk', () => {
    const reading = dropping();
    const chunk = eventOf({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: '' }] });
    assert.equal(read(reading, chunk), 'unread');
    assert.equal(reading.canEndHere, false);
  });

  it('can end without [DONE] after a finish reason or usage', () => {
    const finished = dropping();
    assert.equal(read(finished, eventOf({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] })), 'pass');
    assert.equal(finished.canEndHere, true);
    const measured = dropping();
    read(measured, eventOf({ choices: [], usage }));
    assert.equal(measured.canEndHere, true);
  });

  it('has no partial usage, since chat reports input and output together', () => {
    const reading = dropping();
    read(reading, eventOf({ choices: [{}], usage: { prompt_tokens: 10 } }));
    assert.equal(reading.usage(), null);
    assert.equal(reading.partialUsage(), null);
  });

  it('reads the applied tier from the first chunk if the call requests a tier', () => {
    const chunk = (tier: string | null) =>
      eventOf({ choices: [{ index: 0, delta: { content: 'a' } }], service_tier: tier });
    const reading = readChatStream({ dropsUsageChunk: true, choices: 1, asksForTier: true });
    assert.equal(read(reading, chunk(null)), 'unread');
    assert.equal(read(reading, chunk('priority')), 'pass');
    assert.equal(read(reading, chunk('priority')), 'unread');
    assert.equal(reading.usage(), null);
    assert.deepEqual(reading.partialUsage(), { ...noUsage, servedOn: { serviceTier: 'priority' } });
    assert.equal(read(keeping(), chunk('priority')), 'unread');
  });

  it('does not read more of an event whose text contains an event name', () => {
    const reading = dropping();
    const delta = { content: 'a line of it is event: ping' };
    assert.equal(read(reading, eventOf({ choices: [{ index: 0, delta }], service_tier: 'priority' })), 'pass');
    assert.equal(reading.partialUsage(), null);
  });

  it('finds the usage of a chunk in any spelling', () => {
    const unread = stringText.filter(({ value }) => !['usage', 'error', 'choices', 'x_groq'].includes(value));
    const plainKey = (name: string) => keySpelling(name).map(() => ({ text: `"${name}"`, value: name }));
    const usageMember = memberOf(plainKey('usage'), fc.constant(' {"prompt_tokens" : 10,\t"completion_tokens":5}'));
    const choicesMember = memberOf(keySpelling('choices'), fc.constantFrom('[]', '[ ]', '[\t]'));
    const others = fc.array(memberOf(unread, valueText), { maxLength: 3 });
    fc.assert(
      fc.property(
        others,
        usageMember,
        choicesMember,
        others,
        fc.constantFrom('\n', '\r\n'),
        (before, used, choices, after, end) => {
          const lines = objectText([...before, used, choices, ...after]).split(/\r\n|\r|\n/);
          const reading = dropping();
          const event = Buffer.from(`${lines.map((line) => `data: ${line}`).join(end)}${end}${end}`);
          const isSplitAtColon = /"usage"[ \t]*$/m.test(lines.join('\n'));
          fc.pre(!isSplitAtColon);
          assert.equal(read(reading, event), 'drop');
          assert.deepEqual(reading.partialUsage(), facts(10, 5));
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('finds text under the names of all providers, and reasoning under several names at once', () => {
    const event = eventOf({
      choices: [
        {
          delta: {
            role: 'assistant',
            content: 'a',
            reasoning_content: 'bb',
            reasoning: 'ccc',
            refusal: 'dddd',
            audio: { id: 'uncounted', transcript: 'eeeee', data: 'uncounted' },
            tool_calls: [
              { function: { name: 'uncounted', arguments: '{} {}' } },
              { type: 'custom', custom: { name: 'uncounted', input: 'ffffff' } },
            ],
          },
        },
      ],
    });
    const text = new WrittenText(dropping().written!);
    text.add(event);
    assert.equal(text.sizeBytes, 1 + 4 + 5 + 5 + 6 + 3);
  });

  it('finds text in content parts', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'aaa' }] },
      { type: 'text', text: 'bb' },
    ];
    const text = new WrittenText(dropping().written!);
    text.add(eventOf({ choices: [{ delta: { content } }] }));
    assert.equal(text.sizeBytes, 5);
  });
});

describe('provider searches in a chat stream', () => {
  const call = { index: 0, type: 'builtin_function', function: { name: '$web_search', arguments: '' } };
  const called = eventOf({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
  const results = eventOf({ choices: [{ index: 0, delta: { content: 'a' } }], web_search: [{ title: 'x' }] });
  const last = eventOf({ choices: [], usage });
  const searching = (more: object = {}) =>
    readChatStream({ dropsUsageChunk: true, choices: 1, offersTools: true, ...more });

  it('count by calls and results, before and after the usage', () => {
    for (const shown of [called, results]) {
      const before = searching();
      read(before, shown, FINISHED, last);
      const behind = searching();
      read(behind, FINISHED, last, shown);
      assert.deepEqual([before.usage()?.webSearches, behind.usage()?.webSearches], [1, 1]);
    }
  });

  it('count in a stream that breaks off before its usage', () => {
    const reading = searching();
    read(reading, called);
    assert.deepEqual(reading.partialUsage(), { ...noUsage, webSearches: 1, serverToolUses: 1 });
    assert.equal(searching({ asksForSearch: true }).partialUsage()?.webSearches, 1);
  });

  it('count as reported in the usage, if they are', () => {
    const reading = searching({ asksForSearch: true });
    const counted = { ...usage, plugins: { search: { count: 2 } } };
    read(reading, called, results, FINISHED, eventOf({ choices: [], usage: counted }));
    assert.equal(reading.usage()?.webSearches, 2);
    const none = searching({ asksForSearch: true });
    read(none, results, FINISHED, eventOf({ choices: [], usage: { ...usage, server_tool_use: {} } }));
    assert.equal(none.usage()?.webSearches, 0);
  });

  it('count by calls only if the request offers tools', () => {
    assert.equal(read(dropping(), called), 'unread');
  });

  it('raise the bounds as rounds, including the runs that Groq lists', () => {
    const models = [{ model: 'a' }, { model: 'b' }, { model: 'a' }];
    const ofGroq = { usage, usage_breakdown: { models } };
    for (const chunk of [{ x_groq: ofGroq }, { usage, usage_breakdown: { models } }, ofGroq]) {
      const reading = dropping();
      read(reading, FINISHED, eventOf({ choices: [], ...chunk }));
      assert.equal(reading.usage()?.serverToolUses, 3);
    }
  });

  it('do not raise output above the limit of the request if only the total implies it', () => {
    const report = eventOf({ choices: [], usage: { ...usage, total_tokens: 90_000 } });
    const outputOf = (more: object) => {
      const reading = readChatStream({ dropsUsageChunk: true, choices: 1, ...more });
      read(reading, FINISHED, report);
      return reading.usage()?.outputTokens;
    };
    assert.deepEqual(
      [outputOf({ outputTokensMax: 4_000 }), outputOf({})],
      [usage.completion_tokens, 90_000 - usage.prompt_tokens],
    );
  });

  it('count executed tools once if no usage counts them', () => {
    const run = (more: object) => eventOf({ choices: [{ index: 0, delta: { executed_tools: [more] } }] });
    const reading = dropping();
    read(reading, run({ index: 0, type: 'search', arguments: '{}' }), run({ index: 0, type: 'search', output: 'a' }));
    read(
      reading,
      run({ index: 1, type: 'visit' }),
      run({ index: 2, type: 'python' }),
      run({ index: 3, type: 'wolfram' }),
    );
    const uses = { webSearches: 1, webFetches: 1, codeExecutions: 1, otherToolUses: 1 };
    assert.deepEqual(reading.partialUsage(), { ...noUsage, ...uses, serverToolUses: 4 });
    read(reading, FINISHED, last);
    const { webSearches, webFetches, codeExecutions, otherToolUses } = reading.usage()!;
    assert.deepEqual({ webSearches, webFetches, codeExecutions, otherToolUses }, uses);
  });

  it('count by cited pages, even if the request offers no tool', () => {
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.example/' } }];
    const reading = dropping();
    read(reading, eventOf({ choices: [{ index: 0, delta: { content: '', annotations } }] }));
    assert.equal(reading.partialUsage()?.webSearches, 1);
    read(reading, FINISHED, last);
    assert.equal(reading.usage()?.webSearches, 1);
  });

  it('count as reported even without totals', () => {
    const reading = searching();
    read(reading, eventOf({ choices: [{ index: 0, delta: { content: 'a' } }], usage: { num_search_queries: 3 } }));
    assert.equal(reading.partialUsage()?.webSearches, 3);
  });

  it('do not require parsing chunks of function calls after the first', () => {
    const more = eventOf({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: 'a' } }] } }],
    });
    assert.equal(read(searching(), more), 'unread');
  });
});
