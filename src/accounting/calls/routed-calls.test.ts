import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type LookedThrough, lookThrough, type SliceTiming } from '../../lib/slices.ts';
import { mergeLookedThrough } from './routed-calls.ts';

interface Item {
  readonly id: string;
  readonly isWanted: boolean;
}

/** Lists the calls of a partition as its store does: newest first, in batches, until the time is over. */
function listOf(items: readonly Item[]) {
  return (beforeId: string | null, limit: number, timing: SliceTiming): Promise<LookedThrough<Item>> =>
    lookThrough({ start: beforeId, limit, isExact: false }, timing, async (behind, _rows, wanted) => {
      const rest = items.filter(({ id }) => behind === null || id < behind);
      const slice = rest.slice(0, Math.max(3, wanted));
      const found = slice.filter(({ isWanted }) => isWanted).slice(0, wanted);
      if (found.length === wanted) return { items: found, next: found.at(-1)!.id };
      return { items: found, next: slice.length < rest.length ? slice.at(-1)!.id : null };
    });
}

describe('lists of calls of several partitions', () => {
  it('are one list, in order and without duplicates, whatever each partition finds in its time', async () => {
    const anyItem = fc.record({ partition: fc.nat(3), isWanted: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyItem, { maxLength: 60 }),
        fc.integer({ min: 1, max: 7 }),
        fc.infiniteStream(fc.nat(3)),
        async (made, limit, slices) => {
          const items = made
            .map(({ isWanted }, n) => ({ id: `call_${String(n).padStart(3, '0')}`, isWanted }))
            .reverse();
          const ofPartition = (number: number): Item[] =>
            items.filter((_, at) => made[made.length - 1 - at]!.partition === number);
          const lists = [0, 1, 2, 3].map((number) => listOf(ofPartition(number)));
          const found: string[] = [];
          let beforeId: string | null = null;
          do {
            const pages: LookedThrough<Item>[] = [];
            for (const list of lists) {
              // The number of batches before the time is over.
              let left = slices.next().value!;
              pages.push(await list(beforeId, limit, { nowMs: () => (left-- > 0 ? 0 : 1), budgetMs: 1 }));
            }
            const { items: page, next }: LookedThrough<Item> = mergeLookedThrough(pages, limit);
            assert.ok(page.length <= limit);
            assert.ok(next === null || beforeId === null || next < beforeId, 'the cursor does not advance');
            found.push(...page.map(({ id }) => id));
            beforeId = next;
          } while (beforeId !== null);
          assert.deepEqual(
            found,
            items.filter(({ isWanted }) => isWanted).map(({ id }) => id),
          );
        },
      ),
    );
  });
});
