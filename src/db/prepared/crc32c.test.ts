import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32c } from './crc32c.ts';

describe('crc32c', () => {
  it('gives the sums of RFC 3720, B.4', () => {
    assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
    assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
    assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e);
    assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => 31 - i)), 0x113fdb5c);
    assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
  });
});
