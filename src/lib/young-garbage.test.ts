import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createYoungGarbageCollector } from './young-garbage.ts';

const MEBIBYTE = 2 ** 20;
const BUFFER_BYTES = 65_536;

/** The peak memory of buffers while 64 MiB of them are created, each of which is garbage at once. */
function peakOf(collect: (sizeBytes: number) => void): number {
  const startBytes = process.memoryUsage().arrayBuffers;
  let peakBytes = 0;
  for (let madeBytes = 0; madeBytes < 64 * MEBIBYTE; madeBytes += BUFFER_BYTES) {
    Buffer.allocUnsafeSlow(BUFFER_BYTES);
    collect(BUFFER_BYTES);
    peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - startBytes);
  }
  return peakBytes;
}

describe('createYoungGarbageCollector', () => {
  // Without it, the engine accumulates tens of megabytes per transfer.
  it('frees buffers after this number of bytes', () => {
    const peakBytes = peakOf(createYoungGarbageCollector(MEBIBYTE));
    assert.ok(peakBytes < 4 * MEBIBYTE, `${peakBytes} bytes`);
  });

  it('does not collect before that', () => {
    const peakBytes = peakOf(createYoungGarbageCollector(8 * MEBIBYTE));
    assert.ok(peakBytes >= 8 * MEBIBYTE - BUFFER_BYTES, `${peakBytes} bytes`);
  });
});
