import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collectGarbage } from './garbage-collector.ts';

const MEBIBYTE = 2 ** 20;

/** The heap while it holds half a million objects, which are garbage on return. */
function heapOfGarbage(): number {
  const objects = Array.from({ length: 500_000 }, (_, i) => ({ i, text: `object ${i}` }));
  assert.equal(objects.length, 500_000);
  return process.memoryUsage().heapTotal;
}

describe('the garbage collector', () => {
  it('collects everything, and gives the memory back', () => {
    const beforeBytes = heapOfGarbage();
    collectGarbage('all');
    const freedBytes = beforeBytes - process.memoryUsage().heapTotal;
    assert.ok(freedBytes > 20 * MEBIBYTE, `${freedBytes} bytes`);
  });
});
