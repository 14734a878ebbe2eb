import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSealingKey, seal, unseal } from './sealing.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const KEY = createSealingKey(hex('a1'.repeat(32)));
const OTHER = createSealingKey(hex('a2'.repeat(32)));
const NONCE = hex('0102030405060708090a0b0c');
const SECRET = Buffer.from('sk-of-a-vendor');

describe('a sealed secret', () => {
  it('is opened with its key and its name', () => {
    const sealed = seal(KEY, 'acme', SECRET, NONCE);
    assert.deepEqual(unseal(KEY, 'acme', sealed), SECRET);
    assert.equal(sealed.length, 12 + SECRET.length + 16);
    assert.ok(!sealed.includes('vendor'));
  });

  it('is AES-256-GCM: test case 16 of its specification', () => {
    const key = createSealingKey(hex('feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308'));
    const nonce = hex('cafebabefacedbaddecaf888');
    const secret = hex(
      'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39',
    );
    // The vector has additional data that is not text, so only the ciphertext is compared, which does not depend on it.
    const sealed = seal(key, '', secret, nonce);
    assert.equal(
      sealed.subarray(12, -16).toString('hex'),
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662',
    );
    assert.deepEqual(unseal(key, '', sealed), secret);
  });

  it('is not opened with another key, under another name, or if any byte was changed', () => {
    const sealed = seal(KEY, 'acme', SECRET, NONCE);
    assert.equal(unseal(OTHER, 'acme', sealed), null);
    assert.equal(unseal(KEY, 'acme2', sealed), null);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      assert.equal(unseal(KEY, 'acme', changed), null, `byte ${at}`);
      assert.equal(unseal(KEY, 'acme', sealed.subarray(0, at)), null, `${at} bytes`);
    }
  });

  it('differs with each nonce, and can be empty', () => {
    assert.notDeepEqual(seal(KEY, 'acme', SECRET, NONCE), seal(KEY, 'acme', SECRET, Buffer.alloc(12)));
    assert.deepEqual(unseal(KEY, 'a', seal(KEY, 'a', Buffer.alloc(0), NONCE)), Buffer.alloc(0));
  });
});

describe('the id of a key', () => {
  it('depends on the key and has no byte of it', () => {
    assert.match(KEY.id, /^[0-9a-f]{16}$/);
    assert.notEqual(KEY.id, OTHER.id);
    assert.equal(KEY.id, createSealingKey(KEY.bytes).id);
    assert.ok(!KEY.id.includes('a1a1'));
  });
});
