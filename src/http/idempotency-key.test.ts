import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../test/support/any-text.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { readIdempotencyKey } from './idempotency-key.ts';

const read = (value: string | undefined): string | null =>
  readIdempotencyKey({ headers: value === undefined ? {} : { 'idempotency-key': value } });

function assertRefused(value: string): void {
  assert.throws(
    () => read(value),
    (error) => {
      assert.ok(error instanceof GatewayError);
      assert.deepEqual([error.kind, error.status, error.param], ['invalidRequest', 400, 'Idempotency-Key']);
      return true;
    },
    JSON.stringify(value),
  );
}

describe('the Idempotency-Key of a request', () => {
  it('is null if absent, otherwise the unchanged header', () => {
    assert.equal(read(undefined), null);
    for (const key of ['k', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '!~', '{}', 'k'.repeat(255)]) {
      assert.equal(read(key), key);
    }
  });

  it('is refused if it is empty, too long or not visible ASCII', () => {
    for (const key of ['', ' ', 'k'.repeat(256), 'a\tb', 'a\x7f', 'schl\u00fcssel']) assertRefused(key);
  });

  it('is refused if it was sent twice, which Node joins into one value', () => assertRefused('one, two'));

  it('accepts exactly the characters from ! to ~', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 260, unit: anyCharacter }), (value) => {
        const isVisible = [...value].every((character) => character >= '!' && character <= '~');
        if (isVisible && value.length <= 255) assert.equal(read(value), value);
        else assertRefused(value);
      }),
    );
  });
});
