import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BodyBytes } from './body-bytes.ts';

describe('BodyBytes', () => {
  it('joins all chunks, and asks for at least the memory of the body and at most four times as much', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 300_000 })), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(sizes, fc.boolean(), (chunkSizes, isKnown) => {
        const chunks = chunkSizes.map((sizeBytes, index) => Buffer.alloc(sizeBytes, index + 1));
        const expected = Buffer.concat(chunks);
        let needBytes = isKnown ? expected.length : 0;
        const bytes = new BodyBytes(isKnown ? expected.length : null, (sizeBytes) => {
          needBytes = sizeBytes;
        });
        for (const chunk of chunks) {
          bytes.add(chunk);
          assert.ok(needBytes >= bytes.sizeBytes);
          if (!isKnown) assert.ok(needBytes <= 4 * Math.max(bytes.sizeBytes, 64 * 1024));
        }
        assert.equal(bytes.sizeBytes, expected.length);
        assert.ok(bytes.finish().equals(expected));
        assert.equal(needBytes, expected.length);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps a body of tiny chunks in few blocks', () => {
    let asked = 0;
    const bytes = new BodyBytes(null, () => {
      asked++;
    });
    for (let i = 0; i < 200_000; i++) bytes.add(Buffer.of(i & 0xff));
    assert.ok(asked < 10, String(asked));
    assert.equal(bytes.finish().length, 200_000);
  });

  it('passes on the error if there is not enough memory', () => {
    const bytes = new BodyBytes(null, (sizeBytes) => {
      if (sizeBytes > 100_000) throw new RangeError('full');
    });
    bytes.add(Buffer.alloc(60_000));
    assert.throws(() => bytes.add(Buffer.alloc(60_000)), RangeError);
    bytes.discard();
  });
});
