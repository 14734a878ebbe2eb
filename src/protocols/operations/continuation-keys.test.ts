import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import {
  AFFINITY_KEYS_MAX,
  encryptedContinuationKey,
  responseContinuationKey,
} from '../responses/continuation-keys.ts';
import { continuationKeysOf } from './continuation-keys.ts';
import { BodyFields } from './fields.ts';

const keysOf = (body: object | string): string[] =>
  continuationKeysOf(BodyFields.read(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))));

describe('continuation keys of a request', () => {
  it('are none if the request refers to nothing', () => {
    for (const body of [
      {},
      { input: null },
      { input: 'encrypted_content' },
      { previous_response_id: null, input: [] },
    ]) {
      assert.deepEqual(keysOf(body), []);
    }
  });

  it('are the response first, however late it stands, then the contexts of the input, the newest first', () => {
    const input = [{ encrypted_content: 'old' }, { role: 'user', content: 'x' }, { encrypted_content: 'new' }];
    assert.deepEqual(keysOf({ input, previous_response_id: 'resp_1' }), [
      responseContinuationKey('resp_1'),
      encryptedContinuationKey('new'),
      encryptedContinuationKey('old'),
    ]);
  });

  it('are looked for in the input alone', () => {
    assert.deepEqual(
      keysOf({ metadata: { encrypted_content: 'x' }, input: 'y', tools: [{ encrypted_content: 'z' }] }),
      [],
    );
  });

  it('are the same however the response id is spelt', () => {
    assert.deepEqual(keysOf('{"previous_response_id":"resp_\\u0031"}'), [responseContinuationKey('resp_1')]);
  });

  it('are bounded in number', () => {
    const input = Array.from({ length: 5 * AFFINITY_KEYS_MAX }, (_, i) => ({ encrypted_content: `c${i}` }));
    assert.equal(keysOf({ input, previous_response_id: 'resp_1' }).length, AFFINITY_KEYS_MAX + 1);
  });

  it('are refused if the id of the response is no text or stands twice', () => {
    for (const body of ['{"previous_response_id":7}', '{"previous_response_id":"a","previous_response_id":"b"}']) {
      assert.throws(
        () => keysOf(body),
        (error) => error instanceof GatewayError && error.param === 'previous_response_id',
      );
    }
    assert.throws(
      () => keysOf('{"input":[],"input":[]}'),
      (error) => error instanceof GatewayError && error.param === 'input',
    );
  });
});
