import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { signedKey } from '../signed-blocks.ts';
import { stateKey } from '../state-references.ts';
import { responseContinuationKey } from './continuation-keys.ts';
import { responsesResponse } from './response.ts';

const responseOf = (members: object) => captureResponse(responsesResponse(), JSON.stringify(members));

const response = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'thought' },
    { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] },
  ],
  usage: { input_tokens: 10, output_tokens: 5, output_tokens_details: { reasoning_tokens: 2 }, total_tokens: 15 },
};
const facts = { ...noUsage, inputTokens: 10, outputTokens: 5, reasoningTokens: 2 };
const usageOf = (members: object) => responsesResponse().usage(responseOf(members), 'tokens');

describe('a non-streaming responses response', () => {
  it('is billed by its usage', () => {
    assert.deepEqual(usageOf(response), facts);
  });

  it('is billed if it is incomplete, or failed after using tokens', () => {
    assert.deepEqual(usageOf({ ...response, status: 'incomplete' }), facts);
    assert.deepEqual(usageOf({ ...response, status: 'failed', error: { code: 'server_error', message: 'x' } }), facts);
  });

  it('fails closed without usage, whatever its status', () => {
    for (const status of ['completed', 'failed', 'queued', undefined]) {
      for (const usage of [null, undefined, {}, { input_tokens: 1 }]) {
        assert.equal(usageOf({ ...response, status, usage }), null);
      }
    }
  });

  it('fails closed if it is another type of object', () => {
    for (const object of ['response.compaction', 'chat.completion', null, undefined]) {
      assert.equal(usageOf({ ...response, object }), null);
    }
  });

  it('can be referred to by id and by encrypted content', () => {
    assert.deepEqual(responsesResponse().continuationKeys(responseOf(response)), [
      responseContinuationKey('resp_1'),
      signedKey('thought'),
      ...['rs_1', 'msg_1'].map((id) => stateKey({ kind: 'item', id })),
    ]);
    // The provider does not keep the items of a response with store: false.
    assert.deepEqual(responsesResponse(false).continuationKeys(responseOf(response)), [
      responseContinuationKey('resp_1'),
      signedKey('thought'),
    ]);
    assert.deepEqual(responsesResponse().continuationKeys(responseOf({})), []);
  });
});
