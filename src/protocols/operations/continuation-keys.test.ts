import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, readInput } from '../../../test/support/request-input.ts';
import { encryptedContinuationKey, responseContinuationKey } from '../responses/continuation-keys.ts';
import { compact } from './compact.ts';
import { continuationKeysOf } from './continuation-keys.ts';
import { BodyFields } from './fields.ts';
import { responses } from './responses.ts';

const keysOf = (body: object | string): string[] =>
  continuationKeysOf(BodyFields.read(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))));

describe('continuation keys of a request', () => {
  it('are empty if the request refers to nothing', () => {
    for (const body of [
      {},
      { input: null },
      { input: 'encrypted_content' },
      { previous_response_id: null, input: [] },
      { metadata: { encrypted_content: 'x' }, input: 'y', tools: [{ encrypted_content: 'z' }] },
    ]) {
      assert.deepEqual(keysOf(body), []);
    }
  });

  it('list the response first, wherever it is in the body, then encrypted content, newest first', () => {
    const input = [{ encrypted_content: 'old' }, { role: 'user', content: 'x' }, { encrypted_content: 'new' }];
    const body = JSON.stringify({ model: 'm', input, previous_response_id: 'resp_1' });
    for (const operation of [responses, compact]) {
      assert.deepEqual(readInput(operation, body).continuationKeys, [
        responseContinuationKey('resp_1'),
        encryptedContinuationKey('new'),
        encryptedContinuationKey('old'),
      ]);
    }
  });

  it('cause a refusal if the response id is not a string or is duplicated', () => {
    for (const body of ['{"previous_response_id":7}', '{"previous_response_id":"a","previous_response_id":"b"}']) {
      assertRefused(() => keysOf(body), 'previous_response_id');
    }
    assertRefused(() => keysOf('{"input":[],"input":[]}'), 'input');
  });
});
