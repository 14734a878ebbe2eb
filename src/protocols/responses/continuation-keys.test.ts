import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keySpelling, stringText, valueText } from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { signedKey } from '../signed-blocks.ts';
import { stateKey } from '../state-references.ts';
import {
  AFFINITY_KEYS_MAX,
  continuationKeysOfInput,
  encryptedContinuationKey,
  ResponseContinuationKeys,
  reasoningKeys,
  responseContinuationKey,
} from './continuation-keys.ts';

const inputOf = (text: string): readonly string[] =>
  continuationKeysOfInput(Buffer.from(text), 0, Buffer.byteLength(text));

describe('continuation keys', () => {
  it('have a fixed length, differ for ids and content, and are equal for text and its bytes', () => {
    for (const content of ['', 'rs_1', '你好 😀', 'x'.repeat(100_000)]) {
      const digest = createHash('sha256').update(content).digest('base64url');
      assert.equal(responseContinuationKey(content), `r:${digest}`);
      assert.equal(encryptedContinuationKey(content), `e:${digest}`);
      assert.equal(encryptedContinuationKey(Buffer.from(content)), `e:${digest}`);
      assert.equal(responseContinuationKey(content).length, 45);
    }
  });
});

describe('continuation keys of a response', () => {
  const keysOf = (id: unknown, output: unknown): readonly string[] => {
    const continuationKeys = new ResponseContinuationKeys();
    continuationKeys.addResponse(id);
    continuationKeys.addOutput(output);
    return continuationKeys.keys();
  };

  it('include the id, every compaction, and the last reasoning', () => {
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'first' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
      { type: 'compaction', id: 'cmp_1', encrypted_content: 'one' },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'last' },
      { type: 'compaction_summary', encrypted_content: 'two' },
      { type: 'reasoning', id: 'rs_3', summary: [], encrypted_content: null },
    ];
    assert.deepEqual(keysOf('resp_1', output), [
      responseContinuationKey('resp_1'),
      encryptedContinuationKey('one'),
      encryptedContinuationKey('two'),
      signedKey('last'),
      ...['rs_1', 'cmp_1', 'rs_2', 'rs_3'].map((id) => stateKey({ kind: 'item', id })),
    ]);
  });

  it('include an output that is a single item', () => {
    const output = { type: 'compaction', id: 'cmp_1', encrypted_content: 'one' };
    assert.deepEqual(keysOf('resp_1', output), [
      responseContinuationKey('resp_1'),
      encryptedContinuationKey('one'),
      stateKey({ kind: 'item', id: 'cmp_1' }),
    ]);
  });

  it('are empty if nothing can be referred to', () => {
    assert.deepEqual(keysOf(undefined, undefined), []);
    assert.deepEqual(keysOf('', [null, 'x', [], { type: 'compaction', encrypted_content: '' }]), []);
    assert.deepEqual(
      keysOf(7, [
        { type: 'compaction', encrypted_content: 1 },
        { type: 'x', encrypted_content: 'y' },
      ]),
      [],
    );
  });

  it('keep the id if a later part of the response has none', () => {
    const continuationKeys = new ResponseContinuationKeys();
    continuationKeys.addResponse('resp_1');
    continuationKeys.addResponse(undefined);
    assert.deepEqual(continuationKeys.keys(), [responseContinuationKey('resp_1')]);
  });

  it('are limited in number, and the newest are kept', () => {
    const contents = Array.from({ length: AFFINITY_KEYS_MAX + 5 }, (_, i) => `c${i}`);
    const output = contents.map((content) => ({ type: 'compaction', encrypted_content: content }));
    assert.deepEqual(keysOf(null, output), contents.slice(5).map(encryptedContinuationKey));
  });

  it('count encrypted content once if it appears in an item and in the complete response', () => {
    const continuationKeys = new ResponseContinuationKeys();
    const item = { type: 'compaction', encrypted_content: 'one' };
    continuationKeys.addItem(item);
    continuationKeys.addOutput([item]);
    assert.deepEqual(continuationKeys.keys(), [encryptedContinuationKey('one')]);
  });
});

describe('continuation keys of an input', () => {
  it('are those of encrypted content, the last one first', () => {
    const input = [
      { type: 'compaction', encrypted_content: 'one' },
      { type: 'message', role: 'user', content: 'hi' },
      { type: 'reasoning', encrypted_content: 'two', summary: [] },
    ];
    assert.deepEqual(inputOf(JSON.stringify(input)), [
      encryptedContinuationKey('two'),
      encryptedContinuationKey('one'),
    ]);
    assert.deepEqual(inputOf(JSON.stringify(input, null, '\t')), [
      encryptedContinuationKey('two'),
      encryptedContinuationKey('one'),
    ]);
  });

  it('can be converted to keys of reasoning, for which the same provider is only preferred', () => {
    const keys = [responseContinuationKey('resp_1'), encryptedContinuationKey('one'), encryptedContinuationKey('two')];
    assert.deepEqual(reasoningKeys(keys), [signedKey('one'), signedKey('two')]);
  });

  it('are searched for in the input only', () => {
    const [before, input, after] = [
      '{"a":{"encrypted_content":"A"},"input":',
      '[{"encrypted_content":"B"}]',
      ',"b":1}',
    ];
    const body = Buffer.from(`${before}${input}${after}{"encrypted_content":"C"}`);
    assert.deepEqual(continuationKeysOfInput(body, before.length, before.length + input.length), [
      encryptedContinuationKey('B'),
    ]);
    assert.deepEqual(continuationKeysOfInput(body, before.length, before.length), []);
  });

  it('are not found if the key is a value, within a string, or the end of another key', () => {
    for (const input of [
      ['encrypted_content', 'x'],
      [{ a: 'encrypted_content' }],
      [{ text: '{"encrypted_content":"x"}' }],
      [{ text: '"encrypted_content":"x"' }],
      [{ text: '"encrypted_content' }],
      [{ 'a"encrypted_content': 'x' }],
      [{ 'a\\"encrypted_content': 'x' }],
      [{ 'not encrypted_content': 'x' }],
      'encrypted_content',
    ]) {
      assert.deepEqual(inputOf(JSON.stringify(input)), [], JSON.stringify(input));
    }
  });

  it('are created only for nonempty strings', () => {
    for (const value of ['null', '1', '[]', '{}', '""', 'true']) {
      assert.deepEqual(inputOf(`[{"encrypted_content": ${value}}]`), [], value);
    }
  });

  it('are computed from the decoded value, however it is spelled', () => {
    for (const [text, value] of [
      ['"a\\/b+c=="', 'a/b+c=='],
      ['"\\u0061b"', 'ab'],
      ['"ends with\\\\"', 'ends with\\'],
      ['"\\\\\\""', '\\"'],
      ['"你好\\n"', '你好\n'],
    ] as const) {
      assert.deepEqual(
        inputOf(`[{"encrypted_content" :\n ${text} , "id":"x"}]`),
        [encryptedContinuationKey(value)],
        text,
      );
    }
  });

  it('are skipped if the text is incomplete', () => {
    for (const text of [
      '[{"encrypted_content"',
      '[{"encrypted_content":',
      '[{"encrypted_content":"abc',
      '[{"encrypted_content":"abc\\"',
      '[{"encrypted_content":"a\\x"}]',
    ]) {
      assert.deepEqual(inputOf(text), [], text);
    }
    assert.deepEqual(inputOf('"encrypted_content":"x"'), [encryptedContinuationKey('x')]);
  });

  it('are limited in number; the newest are kept, without duplicates', () => {
    const contents = Array.from({ length: AFFINITY_KEYS_MAX + 5 }, (_, i) => `c${i}`);
    const input = [...contents, 'c20', 'c20'].map((content) => ({ encrypted_content: content }));
    assert.deepEqual(inputOf(JSON.stringify(input)), contents.slice(5).toReversed().map(encryptedContinuationKey));
  });

  // Millions of equal contents have one key, but each would be hashed.
  it('are searched for at a limited number of places, starting at the end', () => {
    const filled = (places: number) => `[{"encrypted_content":"old"},${'{"encrypted_content":"x"},'.repeat(places)}1]`;
    assert.deepEqual(inputOf(filled(16_383)), [encryptedContinuationKey('x'), encryptedContinuationKey('old')]);
    assert.deepEqual(inputOf(filled(16_384)), [encryptedContinuationKey('x')]);
    const quoted = `[{"encrypted_content":"old"},${'"\\"encrypted_content",'.repeat(16_384)}1]`;
    assert.deepEqual(inputOf(quoted), []);
  });

  it('equal those found by parsing', () => {
    const item = fc.oneof(
      { weight: 3, arbitrary: stringText.map(({ text }) => `{"type":"compaction","encrypted_content" : ${text}}`) },
      fc.tuple(stringText, valueText).map(([key, value]) => `{${key.text}:${value}}`),
      keySpelling('type').map(({ text }) => `{"encrypted_content":null,${text}:"encrypted_content"}`),
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 12 }), (items) => {
        const text = `[${items.join(',')}]`;
        const expected = new Set<string>();
        for (const parsed of (JSON.parse(text) as Record<string, unknown>[]).toReversed()) {
          const content = parsed.encrypted_content;
          if (typeof content === 'string' && content !== '') expected.add(encryptedContinuationKey(content));
        }
        assert.deepEqual(inputOf(text), [...expected]);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
