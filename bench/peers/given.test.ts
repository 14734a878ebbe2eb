import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePeer } from './given.ts';

describe('a given peer', () => {
  it('has a name, an address, a header that may have commas, a model and a process', () => {
    assert.deepEqual(parsePeer('other=http://127.0.0.1:3000/,X-Key: a, b,gpt-4,4711'), {
      name: 'other',
      url: 'http://127.0.0.1:3000',
      headers: { 'x-key': 'a, b' },
      model: 'gpt-4',
      pid: 4711,
    });
  });

  it('may need no header', () => {
    assert.deepEqual(parsePeer('other=http://127.0.0.1:3000/api,,gpt-4,1').headers, {});
  });

  it('is refused if a part is missing', () => {
    const wrong = ['other', 'other=,,m,1', 'other=http://h,,m', 'other=http://h,,m,x', 'other=http://h,Bearer x,m,1'];
    for (const text of wrong) assert.throws(() => parsePeer(text), /^Error: --peer: expected NAME=URL/, text);
  });
});
