import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attemptBreaches, groupFallbackBreaches } from './attempt-rules.ts';

const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  large: ['chat', 'messages'],
  small: ['chat'],
  vectors: ['embeddings'],
};

function breaches(facts: Partial<Parameters<typeof attemptBreaches>[0]>): string[] {
  const own = { id: 'large', retriedOn: [], hasFirstByte: false, fallbacks: [], operations: ['chat', 'messages'] };
  return attemptBreaches({ ...own, ...facts }, (name) => OPERATIONS[name] ?? null).map(
    ({ path, message }) => `${path.slice(2).join('.')}: ${message}`,
  );
}

describe('the keys of a model about further attempts and fallbacks', () => {
  it('fallbacks serve one of its operations, once each, and are other models', () => {
    assert.deepEqual(breaches({ fallbacks: ['small'] }), []);
    assert.deepEqual(breaches({ fallbacks: ['small', 'large', 'vectors', 'small'] }), [
      'fallbacks.1: A model cannot be its own fallback.',
      'fallbacks.2: "vectors" serves none of the operations of this model.',
      'fallbacks.3: "small" is already in this list.',
    ]);
  });

  it('those of a group are models that it may use, once each', () => {
    const messages = (models: readonly string[] | null) =>
      groupFallbackBreaches('gold', ['large', 'small', 'large'], models).map(({ message }) => message);
    assert.deepEqual(messages(null), ['"large" is already in this list.']);
    assert.deepEqual(messages(['large']), [
      '"small" is not in "models" of this group.',
      '"large" is already in this list.',
    ]);
  });

  it('silence needs a limit, and the limit needs silence', () => {
    assert.deepEqual(breaches({ retriedOn: ['500', 'silence'], hasFirstByte: true }), []);
    assert.deepEqual(breaches({ retriedOn: ['silence'] }), [
      'retry.firstByte: This key is required for "silence" in "on".',
    ]);
    assert.deepEqual(breaches({ retriedOn: ['500'], hasFirstByte: true }), [
      'retry.firstByte: This key requires "silence" in "on".',
    ]);
  });
});
