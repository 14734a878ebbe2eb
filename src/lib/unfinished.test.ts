import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { finishAll, type Unfinished } from './unfinished.ts';

/** Items by number, two a slice; those that fail stay. */
function kindOf(count: number, fails: (n: number) => boolean, done: number[]): Unfinished {
  const left = new Set(Array.from({ length: count }, (_, n) => n));
  return {
    async list(behindId) {
      const behind = behindId === '' ? -1 : Number(behindId);
      return [...left]
        .filter((n) => n > behind)
        .slice(0, 2)
        .map((n) => ({
          id: String(n),
          accountId: `acct_${n}`,
          async finish() {
            if (fails(n)) throw new Error(`${n} fails`);
            left.delete(n);
            done.push(n);
          },
        }));
    },
  };
}

describe('what is unfinished', () => {
  it('is finished slice by slice, kind after kind, and what fails keeps nothing else', async () => {
    const done: number[] = [];
    const broken: Unfinished = { list: () => Promise.reject(new Error('no list')) };
    const kinds = [kindOf(5, (n) => n === 1, done), broken, kindOf(3, () => false, done)];
    await assert.rejects(
      finishAll(kinds, () => false),
      /^Error: 1 fails$/,
    );
    assert.deepEqual(done, [0, 2, 3, 4, 0, 1, 2]);
    await assert.rejects(
      finishAll([broken], () => false),
      /^Error: no list$/,
    );
    await finishAll([kindOf(0, () => false, done)], () => false);
  });

  it('is left to the next round after ten failures of a kind, and when the node stops', async () => {
    const tried: number[] = [];
    const failing = (n: number): boolean => {
      tried.push(n);
      return true;
    };
    const done: number[] = [];
    await assert.rejects(finishAll([kindOf(100, failing, []), kindOf(1, () => false, done)], () => false));
    assert.deepEqual([tried.length, done], [10, [0]]);
    done.length = 0;
    await finishAll([kindOf(100, () => false, done)], () => done.length === 3);
    assert.deepEqual(done, [0, 1, 2]);
  });

  it('is finished in the other databases if one of them fails, which is left alone after ten failures', async () => {
    const tried: number[] = [];
    const done: number[] = [];
    const isOdd = (n: number): boolean => n % 2 === 1;
    const failing = (n: number): boolean => {
      if (isOdd(n)) tried.push(n);
      return isOdd(n);
    };
    const placeOf = (accountId: string): string => (isOdd(Number(accountId.slice('acct_'.length))) ? 'odd' : 'even');
    await assert.rejects(
      finishAll([kindOf(50, failing, done)], () => false, placeOf),
      /^Error: 1 fails$/,
    );
    assert.equal(tried.length, 10);
    assert.deepEqual(
      done,
      Array.from({ length: 25 }, (_, n) => 2 * n),
    );
    // Nobody knows where accounts are: nothing is tried any more.
    let asked = 0;
    const unknown = async (): Promise<never> => {
      asked++;
      throw new Error('the directory does not respond');
    };
    await assert.rejects(
      finishAll([kindOf(50, () => false, done)], () => false, unknown),
      /the directory does not respond/,
    );
    assert.equal(asked, 10);
  });
});
