import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { captureResponse } from '../../../test/support/captured.ts';
import { noUsage, TOKEN_COUNT_MAX } from '../metering/usage-facts.ts';
import { stateKey } from '../state-references.ts';
import { compactionResponse } from './compaction.ts';
import { encryptedContinuationKey, responseContinuationKey } from './continuation-keys.ts';

const responseOf = (members: object) => captureResponse(compactionResponse, JSON.stringify(members));
const usageOf = (members: object) => compactionResponse.usage(responseOf(members), 'tokens');

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'user',
  status: 'completed',
  content: [{ type: 'input_text', text: 'hi' }],
};
const compaction = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAA', created_by: 'model' };
const usage = {
  input_tokens: 100,
  input_tokens_details: { cache_write_tokens: 5, cached_tokens: 60 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 30 },
  total_tokens: 140,
};
const result = {
  id: 'resp_1',
  object: 'response.compaction',
  created_at: 1_764_967_971,
  output: [message, compaction],
  usage,
};
const facts = {
  ...noUsage,
  inputTokens: 35,
  cachedInputTokens: 60,
  cacheWriteTokens: 5,
  outputTokens: 40,
  reasoningTokens: 30,
};

describe('compaction response', () => {
  it('is billed by its usage', () => {
    assert.deepEqual(usageOf(result), facts);
  });

  const valid: readonly [what: string, members: Record<string, unknown>][] = [
    ['no user message', { output: [compaction] }],
    ['an output that is just the compaction', { output: compaction }],
    ['several user messages', { output: [message, message, message, compaction] }],
    ['messages without id and status', { output: [{ ...message, id: undefined, status: null }, compaction] }],
    ['a message without content blocks', { output: [{ ...message, content: [] }, compaction] }],
    [
      'messages with images and files from the request',
      {
        output: [
          {
            ...message,
            content: [...message.content, { type: 'input_image', image_url: 'data:,' }, { type: 'input_file' }],
          },
          compaction,
        ],
      },
    ],
    ['a compaction without created_by', { output: [message, { ...compaction, created_by: undefined }] }],
    [
      'undeclared fields',
      {
        image: {},
        output: [
          { ...message, phase: null },
          { ...compaction, summary: 1 },
        ],
      },
    ],
    [
      'items of other types around the compaction',
      { output: [{ type: 'reasoning', id: 'rs_1' }, message, compaction, { type: 'program', id: 'p_1' }] },
    ],
    ['a time of zero', { created_at: 0 }],
    ['a time with a fraction', { created_at: 1.5 }],
    ['totals that are not consistent', { usage: { ...usage, total_tokens: 7 } }],
  ];
  for (const [what, members] of valid) {
    it(`is valid with ${what}`, () => {
      assert.deepEqual(usageOf({ ...result, ...members }), facts);
    });
  }

  it('counts missing details as 0', () => {
    for (const details of [
      undefined,
      null,
      {},
      { cached_tokens: null, cache_write_tokens: null, reasoning_tokens: null },
    ]) {
      assert.deepEqual(
        usageOf({ ...result, usage: { ...usage, input_tokens_details: details, output_tokens_details: details } }),
        { ...noUsage, inputTokens: 100, outputTokens: 40 },
      );
    }
  });

  const broken: readonly [what: string, members: Record<string, unknown>][] = [
    ['with another object type', { object: 'response' }],
    ['without an object type', { object: undefined }],
    ['without id', { id: undefined }],
    ['with an empty id', { id: '' }],
    ['with a number for an id', { id: 1 }],
    ['without time', { created_at: undefined }],
    ['with a negative time', { created_at: -1 }],
    ['with a time in a string', { created_at: '1764967971' }],
    ['with a null time', { created_at: null }],
    ['without output', { output: undefined }],
    ['with null output', { output: null }],
    ['with a string as output', { output: 'gAAA' }],
    ['with an empty output', { output: [] }],
    ['without compaction', { output: [message] }],
    ['that consists of a single message', { output: message }],
    ['with two compactions', { output: [compaction, compaction] }],
    ['with a second compaction that is incomplete', { output: [compaction, { type: 'compaction' }] }],
    ['with a user message after the compaction', { output: [message, compaction, message] }],
    ['with an item that is not an object', { output: [message, null, compaction] }],
    ['with an item without a type', { output: [{ ...message, type: undefined }, compaction] }],
    ['with a compaction without an id', { output: [{ ...compaction, id: undefined }] }],
    ['with a compaction without content', { output: [{ ...compaction, encrypted_content: '' }] }],
    ['with a compaction of another type', { output: [{ ...compaction, type: 'compaction_summary' }] }],
    ['with a number in created_by of the compaction', { output: [{ ...compaction, created_by: 1 }] }],
    ['with an assistant message', { output: [{ ...message, role: 'assistant' }, compaction] }],
    ['with a message without a role', { output: [{ ...message, role: undefined }, compaction] }],
    ['with a message whose id is a number', { output: [{ ...message, id: 1 }, compaction] }],
    ['with a message with another status', { output: [{ ...message, status: 'failed' }, compaction] }],
    ['with a message without content', { output: [{ ...message, content: undefined }, compaction] }],
    ['with a message with string content', { output: [{ ...message, content: 'hi' }, compaction] }],
    ['with a block that is not an object', { output: [{ ...message, content: ['hi'] }, compaction] }],
    ['with a block without text', { output: [{ ...message, content: [{ type: 'input_text' }] }, compaction] }],
    ['with a block without type', { output: [{ ...message, content: [{ text: 'hi' }] }, compaction] }],
    [
      'with a block that users cannot send',
      { output: [{ ...message, content: [{ type: 'output_text', text: 'hi' }] }, compaction] },
    ],
    ['without usage', { usage: undefined }],
    ['with null usage', { usage: null }],
    ['with usage in an array', { usage: [100, 40, 140] }],
    ['without input tokens', { usage: { ...usage, input_tokens: undefined } }],
    ['without output tokens', { usage: { ...usage, output_tokens: null } }],
    ['without total tokens', { usage: { ...usage, total_tokens: undefined } }],
    ['with a negative total', { usage: { ...usage, total_tokens: -1 } }],
    ['with a total beyond int32', { usage: { ...usage, total_tokens: TOKEN_COUNT_MAX + 1 } }],
    ['with details in a string', { usage: { ...usage, input_tokens_details: 'none' } }],
    ['with a cached count in a string', { usage: { ...usage, input_tokens_details: { cached_tokens: '60' } } }],
    ['with a negative written count', { usage: { ...usage, input_tokens_details: { cache_write_tokens: -5 } } }],
    ['with a fractional reasoning count', { usage: { ...usage, output_tokens_details: { reasoning_tokens: 0.5 } } }],
  ];
  for (const [what, members] of broken) {
    it(`fails closed ${what}`, () => {
      assert.equal(usageOf({ ...result, ...members }), null);
    });
  }

  it('must have exactly one compaction, after all user messages', () => {
    const items = fc.array(fc.constantFrom('message', 'compaction', 'reasoning'), { maxLength: 6 });
    fc.assert(
      fc.property(items, (types) => {
        const output = types.map((type) => ({ message, compaction, reasoning: { type, id: 'rs_1' } })[type]);
        const at = types.indexOf('compaction');
        const isValid = at !== -1 && at === types.lastIndexOf('compaction') && types.lastIndexOf('message') < at;
        assert.equal(usageOf({ ...result, output }) !== null, isValid);
      }),
    );
  });

  it('can be referred to by id and by content', () => {
    const item = (id: string): string => stateKey({ kind: 'item', id });
    const keys = [responseContinuationKey('resp_1'), encryptedContinuationKey('gAAA')];
    assert.deepEqual(compactionResponse.continuationKeys(responseOf(result)), [...keys, item('msg_1'), item('cmp_1')]);
    assert.deepEqual(compactionResponse.continuationKeys(responseOf({ ...result, output: compaction })), [
      ...keys,
      item('cmp_1'),
    ]);
  });
});
