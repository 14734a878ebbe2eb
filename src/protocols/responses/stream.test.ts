import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keySpelling, memberOf, objectText } from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { EVENT_BYTES_MAX } from '../../lib/sse/sse.ts';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { StreamTap } from '../metering/tap.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { WrittenText } from '../metering/written-text.ts';
import { signedKey } from '../signed-blocks.ts';
import { stateKey } from '../state-references.ts';
import { encryptedContinuationKey, responseContinuationKey } from './continuation-keys.ts';
import { readResponsesStream } from './stream.ts';

const itemKey = (id: string): string => stateKey({ kind: 'item', id });

const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const facts = { ...noUsage, inputTokens: 10, outputTokens: 5 };

function eventOf(type: string, rest: object = {}): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, ...rest })}\n\n`);
}

function dataOf(data: object | string): Buffer {
  return Buffer.from(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
}

/** Reads an event like the tap, only if it matters. */
function read(reading: StreamReading, event: Buffer): EventMeaning | 'unread' {
  return reading.matters(event) ? reading.read(event) : 'unread';
}

describe('responses stream', () => {
  it('does not parse the events between the first and the last', () => {
    const reading = readResponsesStream();
    const well = { id: 'resp_1', object: 'response', status: 'in_progress', error: null, output: [], usage: null };
    const text = 'say "type":"response.completed" {"error":1} "encrypted_content":"x"\nevent: error\n';
    for (const event of [
      eventOf('response.in_progress', { response: well }),
      eventOf('response.output_item.added', { item: { type: 'message', status: 'in_progress', content: [] } }),
      eventOf('response.output_text.delta', { delta: text, logprobs: [] }),
      eventOf('response.output_text.delta', { delta: 'response.completed' }),
      eventOf('response.function_call_arguments.delta', { delta: '{"type":"error"}' }),
      eventOf('response.web_search_call.completed', { item_id: 'ws_1' }),
      eventOf('response.mcp_list_tools.completed', { error: null }),
      dataOf('[DONE]'),
      Buffer.from(': ping\n\n'),
    ]) {
      assert.equal(read(reading, event), 'unread', event.toString());
    }
    assert.equal(reading.usage(), null);
    assert.equal(reading.partialUsage(), null);
    assert.equal(reading.canEndHere, false);
    assert.deepEqual(reading.continuationKeys?.(), []);
  });

  it('detects an end of the output when any part is done', () => {
    const item = { type: 'message', content: [{ type: 'output_text', text: 'response.completed' }] };
    for (const done of [
      eventOf('response.output_text.done', { text: 'a' }),
      eventOf('response.function_call_arguments.done', { arguments: '{}' }),
      eventOf('response.output_item.done', { item }),
      Buffer.from('event: response.output_item.done\ndata: {"item":{}}\n\n'),
    ]) {
      const reading = readResponsesStream();
      read(reading, eventOf('response.output_text.delta', { delta: 'It is done.done' }));
      assert.equal(reading.hasOutputEnd, false);
      assert.equal(read(reading, done), 'pass');
      assert.equal(reading.hasOutputEnd, true);
      // Further ends have no effect.
      assert.equal(read(reading, eventOf('response.output_text.done', { text: 'b' })), 'unread');
    }
    const large = readResponsesStream();
    large.noteLarge?.(eventOf('response.image_generation_call.partial_image', { partial_image_b64: 'AAAA' }));
    assert.equal(large.hasOutputEnd, false);
    large.noteLarge?.(eventOf('response.output_item.done', { item: { type: 'image_generation_call', result: 'AA' } }));
    assert.equal(large.hasOutputEnd, true);
  });

  it('counts encrypted reasoning by its decoded size', () => {
    const text = new WrittenText(readResponsesStream().written!);
    const item = { type: 'reasoning', encrypted_content: 'A'.repeat(400), summary: [] };
    text.add(eventOf('response.output_item.added', { item: { ...item, encrypted_content: 'A'.repeat(80) } }));
    text.add(eventOf('response.output_item.done', { item }));
    assert.equal(text.sizeBytes, 300);
  });

  it('is billed by the maximum figures if it ends twice', () => {
    const zero = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    for (const order of [
      [usage, zero],
      [zero, usage],
      [usage, null],
    ]) {
      const reading = readResponsesStream();
      for (const used of order) read(reading, eventOf('response.completed', { response: { id: 'r', usage: used } }));
      assert.deepEqual(reading.usage(), facts);
    }
  });

  it('ends with a complete or incomplete response, and is billed by its usage', () => {
    for (const type of ['response.completed', 'response.incomplete', 'response.done']) {
      for (const event of [
        eventOf(type, { response: { id: 'resp_1', usage } }),
        dataOf({ type, response: { id: 'resp_1', usage } }),
        dataOf({ response: { id: 'resp_1', usage }, sequence_number: 1, type }),
        Buffer.from(`event:${type}\r\ndata:{"response":{"usage":${JSON.stringify(usage)}}}\r\n\r\n`),
        Buffer.from(`data: {"type" : "${type}",\ndata: "response":{"usage":${JSON.stringify(usage)}}}\n\n`),
        Buffer.from(`event: ${type}\rdata: {"response":{"usage":${JSON.stringify(usage)}}}\r`),
      ]) {
        const reading = readResponsesStream();
        assert.equal(read(reading, event), 'terminal', event.toString());
        assert.deepEqual(reading.usage(), facts);
      }
    }
  });

  it('has no usage if the last response has none that is readable', () => {
    for (const rest of [{}, { response: null }, { response: {} }, { response: { usage: { input_tokens: 1 } } }]) {
      const reading = readResponsesStream();
      assert.equal(read(reading, eventOf('response.completed', rest)), 'terminal');
      assert.equal(reading.usage(), null);
    }
  });

  it('has failed if the response has, with the usage that it reports', () => {
    const failed = { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'x' } };
    const billed = readResponsesStream();
    assert.equal(read(billed, eventOf('response.failed', { response: { ...failed, usage } })), 'failed');
    assert.deepEqual(billed.usage(), facts);
    const free = readResponsesStream();
    assert.equal(read(free, eventOf('response.failed', { response: { ...failed, usage: null } })), 'failed');
    assert.equal(free.usage(), null);
  });

  it('has failed after an error in any format that providers use', () => {
    for (const event of [
      eventOf('error', { code: 'server_error', message: 'overloaded', param: null }),
      eventOf('error', { error: { type: 'server_error', message: 'overloaded' } }),
      dataOf({ type: 'error', code: null, message: 'overloaded', param: null }),
      dataOf({ error: { message: 'overloaded' } }),
      Buffer.from('event: error\ndata: overloaded\n\n'),
      Buffer.from('event:error\r\ndata: {"message":"overloaded"}\r\n\r\n'),
    ]) {
      assert.equal(read(readResponsesStream(), event), 'failed', event.toString());
    }
  });

  it('prefers the type over the event name, as clients do', () => {
    const delta = Buffer.from('event: response.completed\ndata: {"type":"response.output_text.delta","delta":"x"}\n\n');
    assert.equal(read(readResponsesStream(), delta), 'pass');
    const call = Buffer.from('event: x\ndata: {"type":"response.mcp_call.failed","error":{"message":"y"}}\n\n');
    assert.equal(read(readResponsesStream(), call), 'pass');
  });

  it('forwards events that merely had to be parsed, and invalid ones', () => {
    for (const event of [
      eventOf('response.created'),
      eventOf('response.output_item.added', { item: { type: 'reasoning', encrypted_content: '' } }),
      dataOf({ error: '' }),
      dataOf('{"type":"response.completed","response":{"usage":{'),
      dataOf('["response.completed",{"type":"response.completed"}]'),
      dataOf({ type: 7, error: 1 }),
      Buffer.from('event: response.completed\n\n'),
      Buffer.from('"error":1\n\n'),
    ]) {
      const reading = readResponsesStream();
      assert.equal(read(reading, event), 'pass', event.toString());
      assert.equal(reading.usage(), null);
      assert.deepEqual(reading.continuationKeys?.(), []);
    }
  });

  it('can be referred to by its initial id, and by encrypted items', () => {
    const reading = readResponsesStream();
    read(reading, eventOf('response.created', { response: { id: 'resp_1', output: [] } }));
    const item = (type: string, content: string | null): EventMeaning | 'unread' =>
      read(reading, eventOf('response.output_item.done', { item: { type, id: 'x', encrypted_content: content } }));
    assert.equal(item('reasoning', 'first'), 'pass');
    assert.equal(item('compaction', 'context'), 'pass');
    assert.equal(item('reasoning', 'last'), 'pass');
    assert.equal(item('reasoning', null), 'pass');
    const keys = [
      responseContinuationKey('resp_1'),
      encryptedContinuationKey('context'),
      signedKey('last'),
      itemKey('x'),
    ];
    assert.deepEqual(reading.continuationKeys?.(), keys);
    read(reading, eventOf('response.completed', { response: { output: [], usage } }));
    assert.deepEqual(reading.continuationKeys?.(), keys);
  });

  it('can be referred to by what only the last event contains', () => {
    const reading = readResponsesStream();
    const output = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'context' }];
    read(reading, eventOf('response.completed', { response: { id: 'resp_2', output, usage } }));
    assert.deepEqual(reading.continuationKeys?.(), [
      responseContinuationKey('resp_2'),
      encryptedContinuationKey('context'),
      itemKey('cmp_1'),
    ]);
  });

  it('counts text in deltas, and not where it is repeated', () => {
    const count = (...events: readonly Buffer[]): number => {
      const text = new WrittenText(readResponsesStream().written!);
      for (const event of events) text.add(event);
      return text.sizeBytes;
    };
    for (const family of ['output_text', 'refusal', 'reasoning_text', 'reasoning_summary_text', 'mcp_call_arguments']) {
      assert.equal(count(eventOf(`response.${family}.delta`, { delta: '12345', obfuscation: 'xxxxx' })), 5);
    }
    const part = { type: 'output_text', text: '12345', annotations: [] };
    const item = { type: 'message', content: [part] };
    for (const event of [
      eventOf('response.output_text.done', { text: '12345' }),
      eventOf('response.function_call_arguments.done', { arguments: '{"delta":"12345"}' }),
      eventOf('response.content_part.done', { part }),
      eventOf('response.completed', { response: { output: [item], usage } }),
    ]) {
      assert.equal(count(event), 0, event.toString());
    }
    const delta = eventOf('response.output_text.delta', { delta: '12345' });
    assert.equal(count(delta, eventOf('response.output_item.done', { item })), 5);
  });

  it('has failed if response.done reports a failure', () => {
    const reading = readResponsesStream();
    assert.equal(read(reading, eventOf('response.done', { response: { id: 'r', status: 'failed', usage } })), 'failed');
    assert.deepEqual(reading.usage(), facts);
  });

  it('buffers its end as a whole, however large, and nothing else', () => {
    const { isNeededWhole } = readResponsesStream();
    const beginning = (text: string): boolean => isNeededWhole?.(Buffer.from(text)) ?? assert.fail();
    for (const type of ['response.completed', 'response.incomplete', 'response.failed', 'response.done']) {
      assert.equal(beginning(`event: ${type}\ndata: {"response":{`), true);
      assert.equal(beginning(`: ping\r\nevent:${type}\r\ndata: {"response":{`), true);
      assert.equal(beginning(`data: {"type":"${type}","response":{`), true);
      assert.equal(beginning(`data: {"sequence_number":7, "type": "${type}", "response":{`), true);
    }
    for (const text of [
      'event: response.output_item.done\ndata: {"type":"response.output_item.done","item":{',
      'event: response.image_generation_call.partial_image\ndata: {"type":"response.image_generation_call.partial',
      'data: {"type":"response.output_text.done","text":"event: response.completed\\n \\"type\\":\\"response.completed\\"',
      `: ${'x'.repeat(2000)}\nevent: response.completed\ndata: {"type":"response.completed"`,
      'data: {"type":1,"response.completed":"',
      '',
    ]) {
      assert.equal(beginning(text), false, text);
    }
  });
});

/** The members that are read, in any spelling, repeated, valid and invalid, and nested too deep. */
const anyEvent = fc.letrec<{ item: string; items: string; response: string; event: string }>((tie) => {
  const member = (name: string, value: fc.Arbitrary<string>) => memberOf(keySpelling(name), value);
  const id = fc.constantFrom('"resp_1"', '"resp_2"', '"r\\u0065sp"', '""', 'null', '7');
  const content = fc.constantFrom('"one"', '"t\\u0077o"', '"\\ud800"', '""', 'null', '{"a":"x"}');
  const count = fc.constantFrom('"usage"', JSON.stringify(usage), '{"input_tokens":3}', 'null', '[]');
  const itemType = fc.constantFrom('"reasoning"', '"compaction"', '"compaction_summary"', '"message"', 'null', '3');
  const type = fc.constantFrom(
    ...['created', 'completed', 'incomplete', 'failed', 'output_item.done', 'x'].map((name) => `"response.${name}"`),
    '"error"',
    'null',
    '{"type":"error"}',
  );
  const error = fc.constantFrom('null', '""', '0', '{}', '{"message":"x"}', '"overloaded"');
  const objectOf = (...members: ReturnType<typeof memberOf>[]): fc.Arbitrary<string> =>
    fc.array(fc.oneof(...members), { maxLength: 6 }).map(objectText);
  return {
    item: objectOf(member('type', itemType), member('encrypted_content', content), member('x', tie('item'))),
    items: fc.oneof(
      tie('item'),
      fc.array(fc.oneof(tie('item'), itemType), { maxLength: 20 }).map((items) => `[${items.join(',')}]`),
    ),
    response: objectOf(member('id', id), member('usage', count), member('output', tie('items')), member('type', type)),
    event: objectOf(
      member('type', type),
      member('error', error),
      member('item', tie('items')),
      member('response', fc.oneof(tie('response'), tie('items'), id)),
      member('x', tie('response')),
    ),
  };
});

describe('a large event in a responses stream', () => {
  const named = fc.constantFrom('', 'event: error\n', 'event: response.completed\n', 'event: response.failed\n');
  /** Trailing white space makes the events large without changing them. */
  const padding = ' '.repeat(EVENT_BYTES_MAX);
  const eventIn = (name: string, json: string, behind: string): Buffer => {
    const lines = json.split(/\r\n|\r|\n/).map((line) => `data: ${line}`);
    return Buffer.from(`${name}${lines.join('\n')}${behind}\n\n`);
  };

  it('is interpreted like a small event with the same data', () => {
    const damage = fc.option(fc.tuple(fc.nat(), fc.constantFrom('', '"', '{', '}', ',', '\\', '\u0001')), { freq: 3 });
    fc.assert(
      fc.property(named, anyEvent.event, damage, (name, whole, damaged) => {
        const at = damaged === null ? 0 : damaged[0] % whole.length;
        const json = damaged === null ? whole : whole.slice(0, at) + damaged[1] + whole.slice(at + 1);
        const [small, large] = ['', padding].map((behind) => {
          const reading = readResponsesStream();
          const event = eventIn(name, json, behind);
          const meaning = reading.read(event);
          return { meaning, usage: reading.usage(), keys: reading.continuationKeys?.() };
        });
        assert.deepEqual(large, small);
      }),
      { numRuns: propertyRuns(250) },
    );
  });

  it('yields its usage and encrypted content, however much surrounds them', () => {
    const image = { type: 'image_generation_call', result: 'iVBORw0KGgo+'.repeat(500_000) };
    const fake = { type: 'message', content: [{ text: '"usage":{"input_tokens":1}', encrypted_content: 'no' }] };
    const output = [
      image,
      { encrypted_content: 'a', type: 'reasoning' },
      fake,
      { type: 'compaction', encrypted_content: 'b' },
    ];
    const reading = readResponsesStream();
    const event = eventOf('response.completed', { response: { output, usage, id: 'resp_1' } });
    assert.equal(read(reading, event), 'terminal');
    assert.deepEqual(reading.usage(), { ...facts, serverToolUses: 1 });
    assert.deepEqual(reading.continuationKeys?.(), [
      responseContinuationKey('resp_1'),
      encryptedContinuationKey('b'),
      signedKey('a'),
    ]);
  });
});

interface Outcome {
  readonly forwarded: string;
  readonly errors: string;
  readonly tap: StreamTap;
}

function feed(...chunks: readonly Buffer[]): Outcome {
  const outcome = { forwarded: '', errors: '' };
  const noteError = (event: Buffer): void => {
    outcome.errors += event;
  };
  const tap = new StreamTap(readResponsesStream(), {
    forward: (bytes) => {
      outcome.forwarded += bytes;
    },
    forwardError: noteError,
    finish() {},
    finishError: noteError,
  });
  for (const chunk of chunks) tap.push(chunk);
  tap.end();
  return { ...outcome, tap };
}

describe('a responses stream through the tap', () => {
  it('is estimated by its deltas and encrypted reasoning if it breaks off', () => {
    const streamed = 'Hé 你好 😀 "type":"response.completed"\n';
    const { tap } = feed(
      eventOf('response.output_item.done', { item: { type: 'reasoning', encrypted_content: 'thought' } }),
      eventOf('response.output_text.delta', { delta: streamed }),
      eventOf('response.output_text.done', { text: streamed }),
      eventOf('response.output_item.done', { item: { type: 'message', content: [{ text: streamed }] } }),
    );
    const encryptedBytes = Math.floor(('thought'.length * 3) / 4);
    const outputTokens = Math.ceil((Buffer.byteLength(streamed) + encryptedBytes) / 4);
    assert.deepEqual(tap.usage.facts(7), { ...noUsage, inputTokens: 7, outputTokens, source: 'estimated' });
  });

  it('is free if it failed before any text, and is charged as reported if it reports usage', () => {
    const created = eventOf('response.created', { response: { id: 'resp_1' } });
    const failed = (reported: object | null): Buffer =>
      eventOf('response.failed', { response: { id: 'resp_1', status: 'failed', usage: reported } });
    const free = feed(created, failed(null));
    assert.equal(free.forwarded, created.toString());
    assert.equal(free.errors, failed(null).toString());
    assert.equal(free.tap.hasError, true);
    assert.equal(free.tap.usage.facts(7), null);
    assert.deepEqual(feed(created, failed(usage)).tap.usage.facts(7), { ...facts, source: 'observed' });
  });
});

describe('a responses stream that breaks off', () => {
  it('counts the tool uses that it showed', () => {
    const reading = readResponsesStream();
    const done = (item: object) => reading.read(eventOf('response.output_item.done', { output_index: 0, item }));
    assert.equal(reading.partialUsage(), null);
    done({ type: 'web_search_call', status: 'completed', action: { type: 'search' } });
    done({ type: 'web_search_call', status: 'completed', action: { type: 'open_page' } });
    done({ type: 'web_search_call', status: 'failed', action: { type: 'search' } });
    done({ type: 'code_interpreter_call', container_id: 'c1' });
    done({ type: 'function_call', name: 'web_search' });
    const { webSearches, codeExecutions, containers, otherToolUses, serverToolUses } = reading.partialUsage()!;
    assert.deepEqual([webSearches, codeExecutions, containers, otherToolUses, serverToolUses], [1, 1, 1, 0, 4]);
    reading.read(eventOf('response.completed', { response: { usage: null } }));
    done({ type: 'web_search_call', action: { type: 'search' } });
    assert.equal(reading.partialUsage()!.webSearches, 1);
  });
});

describe('searches in a responses stream that breaks off', () => {
  const used = (...events: readonly [type: string, rest: object][]) => {
    const reading = readResponsesStream();
    for (const [type, rest] of events) read(reading, eventOf(type, rest));
    const { webSearches, webFetches, otherToolUses } = reading.partialUsage() ?? noUsage;
    return [webSearches, webFetches, otherToolUses];
  };
  const done = (item: object): [string, object] => ['response.output_item.done', { output_index: 0, item }];

  it("count by results, and under the vendors' names", () => {
    assert.deepEqual(
      used(done({ type: 'search_results', results: [] }), done({ type: 'fetch_url_results' })),
      [1, 1, 0],
    );
    const ofX = { type: 'custom_tool_call', name: 'x_keyword_search', status: 'completed' };
    assert.deepEqual(
      used(done(ofX), done({ ...ofX, name: 'view_x_video' }), done({ ...ofX, name: 'shell' })),
      [0, 0, 1],
    );
    assert.deepEqual(used(done({ type: 'openrouter:web_search', status: 'completed' })), [1, 0, 0]);
  });

  it('exclude tools that the caller runs, and empty searches', () => {
    const client = { type: 'tool_search_call', execution: 'client', arguments: {} };
    const empty = { type: 'web_search_call', action: { type: 'search', query: '', sources: [] } };
    assert.deepEqual(used(done(client), done(empty)), [0, 0, 0]);
    assert.deepEqual(used(done({ ...client, execution: 'server' })), [0, 0, 1]);
  });

  it('count once for cited pages, with or before the item', () => {
    const annotation = { type: 'url_citation', url: 'https://a.example/' };
    const message = { type: 'message', content: [{ type: 'output_text', annotations: [annotation, annotation] }] };
    const added: [string, object] = ['response.output_text.annotation.added', { annotation }];
    for (const events of [[added], [added, added, done(message)], [done(message)]]) {
      assert.deepEqual(used(...events), [1, 0, 0]);
    }
    assert.deepEqual(used(added, done({ type: 'mcp_call' })), [0, 0, 1]);
    assert.deepEqual(
      used(['response.output_text.annotation.added', { annotation: { type: 'file_citation' } }]),
      [0, 0, 0],
    );
  });
});

describe('audio and images in a responses stream that breaks off', () => {
  it('do not count as text, but by duration and as images of another model', () => {
    const reading = readResponsesStream();
    const second = Buffer.alloc(48_000, 7).toString('base64');
    const text = new WrittenText(reading.written!);
    for (const event of [
      eventOf('response.output_text.delta', { delta: 'four' }),
      ...Array.from({ length: 10 }, () => eventOf('response.audio.delta', { delta: second })),
      eventOf('response.output_item.done', { item: { type: 'image_generation_call', quality: 'high', result: 'AA' } }),
      eventOf('response.output_item.done', { item: { type: 'image_generation_call', status: 'failed' } }),
    ]) {
      text.add(event);
      if (reading.matters(event)) reading.read(event);
    }
    reading.noteLarge?.(
      eventOf('response.output_item.done', { item: { type: 'image_generation_call', result: 'AA' } }),
    );
    assert.equal(text.sizeBytes, 4);
    const { audioOutputTokens, imageOutputTokens, parts } = reading.mediaTokens!();
    assert.deepEqual([audioOutputTokens, imageOutputTokens], [200, 0]);
    const usage = { ...noUsage, imageOutputTokens: 4_160 + 1_056 };
    assert.deepEqual(parts, [{ model: 'image_generation', isInside: false, usage }]);
  });
});
