import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shareReads } from './shared-reads.ts';

describe('shareReads', () => {
  function setScene() {
    const reads: { readonly key: string; readonly end: PromiseWithResolvers<number> }[] = [];
    const read = shareReads((key) => {
      const end = Promise.withResolvers<number>();
      reads.push({ key, end });
      return end.promise;
    });
    return { reads, read };
  }

  it('begins each read after its request: callers during a read share the next one', async () => {
    const { reads, read } = setScene();
    const first = read('a');
    const later = [read('a'), read('a'), read('a')];
    assert.equal(reads.length, 1);
    reads[0]!.end.resolve(1);
    assert.equal(await first, 1);
    assert.equal(reads.length, 2);
    const last = read('a');
    reads[1]!.end.resolve(2);
    assert.deepEqual(await Promise.all(later), [2, 2, 2]);
    reads[2]!.end.resolve(3);
    assert.equal(await last, 3);
    assert.equal(reads.length, 3);
  });

  it('reads different keys independently', async () => {
    const { reads, read } = setScene();
    void read('a');
    const other = read('b');
    assert.deepEqual(
      reads.map(({ key }) => key),
      ['a', 'b'],
    );
    reads[1]!.end.resolve(7);
    assert.equal(await other, 7);
  });

  it('passes an error to all callers of the read, and begins the next read', async () => {
    const { reads, read } = setScene();
    const first = assert.rejects(read('a'), /lost/);
    const later = read('a');
    reads[0]!.end.reject(new Error('lost'));
    await first;
    reads[1]!.end.resolve(2);
    assert.equal(await later, 2);
    void read('a');
    assert.equal(reads.length, 3);
  });
});
