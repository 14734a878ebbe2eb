import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cacheDirectory } from './cache-directory.ts';

describe('cache directory', () => {
  it('is below XDG_CACHE_HOME, or below .cache of the home if that is unset, empty or relative', () => {
    assert.equal(cacheDirectory('peer', { XDG_CACHE_HOME: '/caches', HOME: '/home/a' }), '/caches/faregate/peer');
    for (const XDG_CACHE_HOME of [undefined, '', 'caches']) {
      assert.equal(cacheDirectory('peer', { XDG_CACHE_HOME, HOME: '/home/a' }), '/home/a/.cache/faregate/peer');
    }
  });
});
