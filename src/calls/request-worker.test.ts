import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run } from './request-worker.ts';

it('a body that is refused is freed at once, and one that is read is moved back', () => {
  const bytes = (text: string): ArrayBuffer => new TextEncoder().encode(text).buffer;
  const refused = bytes('{"model":"shop-chat","messages":7}');
  const read = bytes('{"model":"shop-chat","messages":[{"role":"user","content":"x"}]}');

  const refusal = run({ does: 'read', operation: 'chat', body: refused });
  run({ does: 'read', operation: 'chat', body: read });

  assert.ok('refusal' in refusal);
  assert.equal(refused.detached, true);
  assert.equal(read.detached, false);
});
