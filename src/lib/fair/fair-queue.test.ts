import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { FairQueue, type QueuedItem } from './fair-queue.ts';

/** A queue with these items, each named after its account: `a1` is the first item of `a`. */
function queueOf(names: string): { readonly queue: FairQueue<string>; readonly queued: Map<string, QueuedItem> } {
  const queue = new FairQueue<string>();
  const queued = new Map(names.split(' ').map((name) => [name, queue.push(name.charAt(0), name)]));
  return { queue, queued };
}

describe('FairQueue', () => {
  it('serves one account in the order of arrival', () => {
    const { queue } = queueOf('a1 a2 a3');
    assert.deepEqual(queue.clear(), ['a1', 'a2', 'a3']);
    assert.equal(queue.shift(), undefined);
  });

  it('serves one item of each account in turn, however many items an account has', () => {
    const { queue } = queueOf('a1 a2 a3 a4 b1 b2 c1');
    assert.deepEqual(queue.clear(), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('serves a new account after all others', () => {
    const { queue } = queueOf('a1 a2 b1 b2');
    assert.equal(queue.shift(), 'a1');
    queue.push('c', 'c1');
    assert.deepEqual(queue.clear(), ['b1', 'a2', 'c1', 'b2']);
  });

  it('serves an account that returns after all others', () => {
    const { queue } = queueOf('a1 b1 b2');
    assert.equal(queue.shift(), 'a1');
    queue.push('a', 'a2');
    assert.deepEqual(queue.clear(), ['b1', 'a2', 'b2']);
  });

  it('removes items at any position, even if they are removed twice', () => {
    const { queue, queued } = queueOf('a1 a2 a3 b1 c1');
    for (const name of ['a2', 'b1', 'b1', 'a2']) queued.get(name)!.remove();
    assert.equal(queue.size, 3);
    assert.deepEqual(queue.clear(), ['a1', 'c1', 'a3']);
    queued.get('a1')!.remove();
    assert.equal(queue.size, 0);
  });

  it('skips accounts that may not be served, and keeps their position', () => {
    const { queue } = queueOf('a1 a2 b1 b2 c1');
    const notA = (name: string): boolean => !name.startsWith('a');
    assert.equal(queue.shift(notA), 'b1');
    assert.equal(
      queue.shift(() => false),
      undefined,
    );
    assert.equal(queue.size, 4);
    assert.deepEqual(queue.clear(), ['a1', 'c1', 'b2', 'a2']);
  });

  it('lets no account wait for more than one item of each other account', () => {
    const step = fc.oneof(
      { arbitrary: fc.record({ do: fc.constant('push' as const), account: fc.nat({ max: 4 }) }), weight: 5 },
      { arbitrary: fc.record({ do: fc.constant('shift' as const) }), weight: 4 },
      { arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat({ max: 30 }) }), weight: 1 },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        interface Item {
          readonly account: number;
          readonly at: number;
        }
        const queue = new FairQueue<Item>();
        const waiting: { readonly item: Item; readonly queued: QueuedItem }[] = [];
        /** By waiting account: the accounts that were served since it was last served, or since it arrived. */
        const seen = new Map<number, Set<number>>();
        for (const [at, next] of steps.entries()) {
          if (next.do === 'push') {
            const item = { account: next.account, at };
            waiting.push({ item, queued: queue.push(String(next.account), item) });
            if (!seen.has(next.account)) seen.set(next.account, new Set());
          } else if (next.do === 'remove') {
            const [left] = waiting.splice(next.which, 1);
            left?.queued.remove();
            if (left !== undefined && waiting.every(({ item }) => item.account !== left.item.account)) {
              seen.delete(left.item.account);
            }
          } else {
            const served = queue.shift();
            assert.equal(served === undefined, waiting.length === 0);
            if (served === undefined) continue;
            const oldest = waiting.findIndex(({ item }) => item.account === served.account);
            assert.equal(waiting[oldest]!.item, served);
            waiting.splice(oldest, 1);
            for (const [account, others] of seen) {
              if (account === served.account) continue;
              assert.equal(
                others.has(served.account),
                false,
                `${account} waits for a second item of ${served.account}`,
              );
              others.add(served.account);
            }
            if (waiting.some(({ item }) => item.account === served.account)) seen.set(served.account, new Set());
            else seen.delete(served.account);
          }
          assert.equal(queue.size, waiting.length);
        }
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });
});
