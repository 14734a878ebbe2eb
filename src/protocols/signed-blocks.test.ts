import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { stringText } from '../../test/support/json-text.ts';
import { propertyRuns } from '../../test/support/scope.ts';
import { isSignedKey, SIGNED_KEYS_MAX, SignedBlocks, signedKey, signedKeysIn } from './signed-blocks.ts';

const keysIn = (text: string): string[] => signedKeysIn(Buffer.from(text));
const keysOf = (...contents: readonly string[]): string[] => contents.map(signedKey);

/** Signed content in the formats of protocols and vendors, each with the content `x`. */
const BLOCKS: Readonly<Record<string, unknown>> = {
  'thinking in messages': { type: 'thinking', thinking: 'Hm.', signature: 'x' },
  'redacted thinking': { type: 'redacted_thinking', data: 'x' },
  'redacted thinking in the form of some SDKs': { data: 'x', type: 'redacted_thinking' },
  'a signature in a stream': { type: 'content_block_delta', delta: { type: 'signature_delta', signature: 'x' } },
  'redacted thinking in a stream': {
    type: 'content_block_start',
    content_block: { type: 'redacted_thinking', data: 'x' },
  },
  'a search result': { type: 'web_search_result', url: 'https://a.example', encrypted_content: 'x' },
  'reasoning in responses': { type: 'reasoning', summary: [], encrypted_content: 'x' },
  'encrypted reasoning in chat': {
    reasoning_details: [{ type: 'reasoning.encrypted', id: null, format: 'openai-responses-v1', index: 0, data: 'x' }],
  },
  'signed reasoning in chat': {
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 'x', index: 0 }],
  },
  'blocks in a chat message': { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'x' }] },
  'the signature of a call': { tool_calls: [{ extra_content: { google: { thought_signature: 'x' } } }] },
  'the signature of a call in the form of a relay': { provider_specific_fields: { thoughtSignature: 'x' } },
};

/** Content that merely resembles it. */
const OTHERS: Readonly<Record<string, unknown>> = {
  'an image': { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'x' } },
  'an image next to the words': { type: 'image', data: 'x', title: 'redacted_thinking' },
  sound: { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } },
  'a text about signatures': { type: 'text', text: '{"signature":"x","type":"redacted_thinking","data":"x"}' },
  'a signature that is still empty': { type: 'thinking', thinking: '', signature: '' },
  'a schema': { properties: { signature: { type: 'string' }, encrypted_content: null } },
};

describe('signed blocks', () => {
  for (const [what, block] of Object.entries(BLOCKS)) {
    it(`are found: ${what}`, () => {
      for (const indent of [0, 2]) assert.deepEqual(keysIn(JSON.stringify([block], null, indent)), keysOf('x'));
      assert.deepEqual(keysIn(`event: x\r\ndata: ${JSON.stringify(block)}\r\n\r\n`), keysOf('x'));
    });
  }

  for (const [what, block] of Object.entries(OTHERS)) {
    it(`are not found: ${what}`, () => {
      for (const indent of [0, 2]) assert.deepEqual(keysIn(JSON.stringify([block], null, indent)), []);
    });
  }

  it('have keys with a prefix of their own, which do not reveal the content', () => {
    const key = signedKey('x');
    assert.ok(isSignedKey(key) && !isSignedKey('e:x') && key.length === signedKey('y'.repeat(9_999)).length);
  });

  it('have the same key however their content is spelled', () => {
    fc.assert(
      fc.property(stringText, ({ value, text }) => {
        assert.deepEqual(keysIn(`[{"signature":${text}}]`), value === '' ? [] : keysOf(value));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('are returned newest first, without duplicates, up to the maximum', () => {
    const blocks = Array.from({ length: 40 }, (_, i) => ({ signature: `${i}` }));
    const newest = keysOf(...Array.from({ length: SIGNED_KEYS_MAX }, (_, i) => `${39 - i}`));
    assert.deepEqual(keysIn(JSON.stringify(blocks)), newest);
    assert.deepEqual(
      keysIn(JSON.stringify([{ signature: 'a' }, { signature: 'b' }, { signature: 'a' }])),
      keysOf('a', 'b'),
    );
  });

  it('are searched for from an offset', () => {
    const text = '{"signature":"before","messages":[{"signature":"x"}]}';
    assert.deepEqual(signedKeysIn(Buffer.from(text), text.indexOf('[')), keysOf('x'));
  });

  it('are searched for only at the end of a large request', () => {
    const far = JSON.stringify([{ signature: 'far' }, { text: 'x'.repeat(512 * 1024) }, { signature: 'near' }]);
    assert.deepEqual(keysIn(far), keysOf('near'));
  });

  it('are found in invalid JSON as far as possible, and the search always ends', () => {
    const broken = fc.array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ',',
        ':',
        '"',
        '\\',
        ' ',
        '"data"',
        '"type"',
        '"redacted_thinking"',
        '"signature"',
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(broken, (parts) => {
        assert.ok(keysIn(parts.join('')).every(isSignedKey));
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  it('are collected from the events of a response, keeping the newest', () => {
    const signed = new SignedBlocks();
    for (let i = 0; i < 20; i++) signed.add(Buffer.from(`data: {"delta":{"signature":"${i}"}}\n\n`));
    signed.add(Buffer.from('data: {"delta":{"signature":"7"}}\n\ndata: {"delta":{"text":"x"}}\n\n'));
    const left = [
      ...Array.from({ length: 20 }, (_, i) => `${i}`)
        .filter((i) => i !== '7')
        .slice(4),
      '7',
    ];
    assert.deepEqual(signed.keys(), keysOf(...left.slice(-SIGNED_KEYS_MAX)));
  });
});
