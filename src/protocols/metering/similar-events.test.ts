import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { streamedChatText } from '../chat/written.ts';
import { streamedMessageText } from '../messages/written.ts';
import { streamedResponseText } from '../responses/written.ts';
import { SimilarEvents } from './similar-events.ts';
import type { WrittenRules } from './written-paths.ts';
import { WrittenText } from './written-text.ts';

/** As many different characters as only compressed data has. */
const ALL_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

const event = (text: string, more = ''): Buffer =>
  Buffer.from(`data: {"id":"a","delta":{"content":"${text}"}${more}}\n\n`);

/** For events like `event('first')`. */
function noted(more = ''): SimilarEvents {
  const similar = new SimilarEvents();
  const first = event('first', more);
  const start = first.indexOf('first');
  similar.note(first, start, start + 'first'.length);
  return similar;
}

describe('events that are similar to the previous one', () => {
  it('differ only in text', () => {
    const transcript: [number, Buffer][] = [
      [5, event('other')],
      [0, event('')],
      [5, event('läng')],
      [1, event('\\"')],
      [1, event('\\\\')],
      [3, event('\\u4e2d')],
      [-1, event('other', ',"usage":{}')],
      [-1, event('a","role":"tool')],
      [-1, event('a\nb')],
      [-1, event('a\\')],
      [-1, event('x'.repeat(1_024))],
      [-1, Buffer.from('data: {"id":"b","delta":{"content":"other"}}\n\n')],
      [-1, Buffer.concat([event('one'), event('two')])],
      [-1, event('cut').subarray(0, -1)],
      [-1, Buffer.alloc(0)],
    ];
    const similar = noted();
    for (const [size, bytes] of transcript) assert.equal(similar.textBytesIn(bytes), size, bytes.toString());
  });

  it('may have another number and other padding', () => {
    const numbered = (text: string, number: string, filling: string, end = '}'): Buffer =>
      Buffer.from(`data: {"sequence_number":${number},"delta":"${text}","obfuscation":"${filling}"${end}\n\n`);
    const similar = new SimilarEvents();
    const first = numbered('first', '9', 'abc');
    const start = first.indexOf('first');
    similar.note(first, start, start + 'first'.length);
    const transcript: [number, Buffer][] = [
      [5, numbered('other', '10', '')],
      [1, numbered('\\"', '123456', 'x'.repeat(40))],
      [-1, numbered('other', '1.5', 'abc')],
      [-1, numbered('other', '"1"', 'abc')],
      [-1, numbered('other', '10', 'a\\"bc')],
      [-1, numbered('other', '10', 'abc","role":"tool')],
      [-1, numbered('other', '10', 'abc', ',"usage":{}}')],
    ];
    for (const [size, bytes] of transcript) assert.equal(similar.textBytesIn(bytes), size, bytes.toString());
  });

  it('are not detected before a template is recorded, after it is forgotten, or if it is large', () => {
    assert.equal(new SimilarEvents().textBytesIn(event('any')), -1);
    const similar = noted();
    similar.forget();
    assert.equal(similar.textBytesIn(event('any')), -1);
    const more = `,"more":"${'x'.repeat(4_096)}"`;
    assert.equal(noted(more).textBytesIn(event('any', more)), -1);
  });

  it('are no longer searched for in a stream whose events all differ', () => {
    const similar = new SimilarEvents();
    for (let n = 0; n < 100; n++) {
      const bytes = event('any', `,"n":${n}`);
      assert.equal(similar.textBytesIn(bytes), -1);
      similar.note(bytes, 32, 35);
    }
    similar.note(event('any'), 32, 35);
    assert.equal(similar.textBytesIn(event('any')), -1);
  });

  const word = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('', 'a', 'two words', 'ünï', '"quoted"', 'line\nline', '\\', '[DONE]') },
    { weight: 1, arbitrary: fc.constantFrom('A0b1'.repeat(300), ALL_CHARACTERS.repeat(400), 'x'.repeat(1_023)) },
  );
  const few = <Value>(...values: readonly Value[]) => fc.constantFrom(...values);
  const streams: Record<string, { readonly rules: () => WrittenRules; readonly body: fc.Arbitrary<object> }> = {
    chat: {
      rules: streamedChatText,
      body: fc
        .record({
          word,
          index: few(0, 0, 0, 1),
          role: few(undefined, undefined, 'assistant', 'tool'),
          kind: few('content', 'content', 'reasoning'),
        })
        .map(({ word, index, role, kind }) => ({ choices: [{ index, delta: { role, [kind]: word } }] })),
    },
    messages: {
      rules: streamedMessageText,
      body: fc
        .record({
          word,
          index: few(0, 0, 1),
          kind: few('text', 'text', 'thinking', 'partial_json'),
          begins: few(false, false, true),
        })
        .map(({ word, index, kind, begins }) =>
          begins
            ? { index, content_block: { type: kind === 'text' ? 'text' : 'web_search_tool_result', text: word } }
            : { index, delta: { [kind]: word } },
        ),
    },
    responses: {
      rules: streamedResponseText,
      body: fc
        .record({
          word,
          index: few(0, 0, 1),
          type: few(
            'response.output_text.delta',
            'response.output_text.delta',
            'response.reasoning_text.delta',
            'response.output_item.done',
          ),
          number: fc.nat(),
          filling: few('', 'aBcDeF', '[DONE]', '"', 'response.output_item.done'),
        })
        .map(({ word, index, type, number, filling }) => ({
          type,
          sequence_number: number,
          output_index: index,
          delta: word,
          obfuscation: filling,
          item: { type: 'message', content: [{ text: word }] },
        })),
    },
  };
  for (const [name, { rules, body }] of Object.entries(streams)) {
    it(`count as if each was parsed: ${name}`, () => {
      const chunk = fc.record({
        bodies: fc.array(body, { minLength: 1, maxLength: 2 }),
        end: few('\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r'),
      });
      fc.assert(
        fc.property(fc.array(chunk, { maxLength: 60 }), (chunks) => {
          const [read, passed] = [new WrittenText(rules()), new WrittenText(rules())];
          for (const { bodies, end } of chunks) {
            const bytes = Buffer.from(bodies.map((each) => `data: ${JSON.stringify(each)}${end}`).join(''));
            read.add(bytes);
            if (!passed.addSimilar(bytes)) passed.addPassed(bytes);
            const sizes = (text: WrittenText) => [text.sizeBytes, text.visibleBytes, text.pictures];
            assert.deepEqual(sizes(passed), sizes(read));
          }
        }),
        { numRuns: 300 },
      );
    });
  }
});
