import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Fingerprint } from './idempotent-call.ts';

describe('the fingerprint of a request', () => {
  const of = (path: string, ...chunks: string[]): string => {
    const fingerprint = new Fingerprint(path);
    for (const chunk of chunks) fingerprint.add(chunk);
    return fingerprint.digest();
  };

  it('covers address and body, whatever the chunks of the body', () => {
    assert.equal(of('/v1/x', '{"a":', '1}'), of('/v1/x', '{"a":1}'));
    assert.notEqual(of('/v1/x', '{"a":1}'), of('/v1/y', '{"a":1}'));
    assert.notEqual(of('/v1/x', '{"a":1}'), of('/v1/x', '{"a": 1}'));
    assert.notEqual(of('/v1/x', 'y'), of('/v1/xy'));
  });

  it('is a hash, which reveals nothing of the request', () => {
    assert.match(of('/v1/x', 'secret'), /^[\w-]{43}$/);
  });
});
