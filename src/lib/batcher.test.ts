import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import { createTestTimers } from '../../test/support/timers.ts';
import { ItemBatcher, type ItemLimit } from './batcher.ts';
import { BatcherFullError, LateError, NotBegunError } from './batcher-errors.ts';

const itemFault = new Error('this item is bad');
const isItemFault = (error: unknown): boolean => error === itemFault;

/** Work that waits until the test opens the gate. */
function createGate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** A batcher that doubles numbers, records its batches and refuses negative items. */
function createDoubler(
  options: { batchItemsMax?: number; waitingItemsMax?: number; before?: () => Promise<void>; limit?: ItemLimit } = {},
) {
  const batches: number[][] = [];
  const batcher = new ItemBatcher<number, number>({
    async run(items) {
      batches.push([...items]);
      await options.before?.();
      if (items.some((item) => item < 0)) throw itemFault;
      return items.map((item) => item * 2);
    },
    isItemFault,
    batchItemsMax: options.batchItemsMax ?? 100,
    waitingItemsMax: options.waitingItemsMax ?? 100,
    limit: options.limit,
  });
  return { batcher, batches };
}

describe('ItemBatcher', () => {
  it('puts items of one iteration of the event loop into one batch', async () => {
    const { batcher, batches } = createDoubler();
    const results = await Promise.all([1, 2, 3].map((item) => batcher.submit(item)));
    assert.deepEqual(results, [2, 4, 6]);
    assert.deepEqual(batches, [[1, 2, 3]]);
  });

  it('runs a lone item alone', async () => {
    const { batcher, batches } = createDoubler();
    assert.equal(await batcher.submit(1), 2);
    assert.equal(await batcher.submit(2), 4);
    assert.deepEqual(batches, [[1], [2]]);
  });

  it('puts items that arrive while a batch runs into the next one, in the order of arrival', async () => {
    const gates = [createGate(), createGate()];
    let started = 0;
    const { batcher, batches } = createDoubler({ before: () => gates[started++]!.opened });
    const first = batcher.submit(1);
    await new Promise(setImmediate);
    assert.deepEqual(batches, [[1]]);
    const later = [2, 3, 4].map((item) => batcher.submit(item));
    await new Promise(setImmediate);
    assert.deepEqual(batches, [[1]], 'one batch runs at a time');
    gates[0]!.open();
    assert.equal(await first, 2);
    gates[1]!.open();
    assert.deepEqual(await Promise.all(later), [4, 6, 8]);
    assert.deepEqual(batches, [[1], [2, 3, 4]]);
  });

  it('limits the items of a batch', async () => {
    const { batcher, batches } = createDoubler({ batchItemsMax: 2 });
    await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.submit(item)));
    assert.deepEqual(batches, [[1, 2], [3, 4], [5]]);
  });

  it('refuses items while the queue is full', async () => {
    const { batcher } = createDoubler({ waitingItemsMax: 2 });
    const accepted = [batcher.submit(1), batcher.submit(2)];
    await assert.rejects(
      batcher.submit(3),
      (error) => error instanceof BatcherFullError && /more than 2/.test(error.message),
    );
    assert.deepEqual(await Promise.all(accepted), [2, 4]);
    assert.equal(await batcher.submit(4), 8);
  });

  it('does not count running items as waiting', async () => {
    const gate = createGate();
    const { batcher } = createDoubler({ waitingItemsMax: 1, before: () => gate.opened });
    const running = batcher.submit(1);
    await new Promise(setImmediate);
    const waiting = batcher.submit(2);
    assert.equal(batcher.size, 2);
    await assert.rejects(batcher.submit(3), BatcherFullError);
    gate.open();
    assert.deepEqual(await Promise.all([running, waiting]), [2, 4]);
    assert.equal(batcher.size, 0);
  });

  it('runs the items of a faulty batch one by one, so that only the faulty ones fail', async () => {
    const { batcher, batches } = createDoubler();
    const results = await Promise.allSettled([1, -2, 3].map((item) => batcher.submit(item)));
    assert.deepEqual(results, [
      { status: 'fulfilled', value: 2 },
      { status: 'rejected', reason: itemFault },
      { status: 'fulfilled', value: 6 },
    ]);
    assert.deepEqual(batches, [[1, -2, 3], [1], [-2], [3]]);
  });

  it('does not run a lone faulty item twice', async () => {
    const { batcher, batches } = createDoubler();
    await assert.rejects(batcher.submit(-1), itemFault);
    assert.deepEqual(batches, [[-1]]);
  });

  it('fails a whole batch if no item caused the error, and continues with the next one', async () => {
    const connectionLost = new Error('connection lost');
    let isLost = true;
    const { batcher, batches } = createDoubler({
      before: async () => {
        if (isLost) throw connectionLost;
      },
    });
    const results = await Promise.allSettled([1, 2].map((item) => batcher.submit(item)));
    assert.deepEqual(results, [
      { status: 'rejected', reason: connectionLost },
      { status: 'rejected', reason: connectionLost },
    ]);
    isLost = false;
    assert.equal(await batcher.submit(3), 6);
    assert.deepEqual(batches, [[1, 2], [3]]);
  });

  it('fails a batch whose work throws before it returns a promise', async () => {
    const batcher = new ItemBatcher<number, number>({
      run: () => {
        throw itemFault;
      },
      isItemFault: () => false,
      batchItemsMax: 10,
      waitingItemsMax: 10,
    });
    await assert.rejects(batcher.submit(1), itemFault);
  });

  it('fails all items if the number of results differs from the number of items', async () => {
    const responses: number[][] = [[1], [], [1, 2, 3], []];
    const batcher = new ItemBatcher<number, number>({
      run: async () => responses.shift()!,
      isItemFault: () => true,
      batchItemsMax: 2,
      waitingItemsMax: 10,
    });
    const results = await Promise.allSettled([1, 2].map((item) => batcher.submit(item)));
    assert.deepEqual(
      results.map((result) => result.status === 'rejected' && String(result.reason)),
      ['Error: a batch of 1 items returned 0 results', 'Error: a batch of 1 items returned 3 results'],
    );
  });

  it('drains when no item waits or runs, including items that were submitted meanwhile', async () => {
    const gate = createGate();
    const done: number[] = [];
    const { batcher } = createDoubler({ before: () => gate.opened });
    await batcher.drain();
    const note = (result: number): number => done.push(result);
    const submitted = [batcher.submit(1).then(note)];
    await new Promise(setImmediate);
    const drained = Promise.all([batcher.drain(), batcher.drain()]);
    submitted.push(batcher.submit(2).then(note));
    gate.open();
    await drained;
    assert.deepEqual(done, [2, 4]);
    assert.equal(batcher.size, 0);
    await Promise.all(submitted);
  });

  it('returns its result to each caller, in batches in the order of arrival', async () => {
    const turns = fc.array(fc.array(fc.integer({ min: -3, max: 50 }), { maxLength: 6 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(turns, fc.integer({ min: 1, max: 4 }), async (submissions, batchItemsMax) => {
        const { batcher, batches } = createDoubler({ batchItemsMax });
        const results: Promise<PromiseSettledResult<number>[]>[] = [];
        for (const items of submissions) {
          results.push(Promise.allSettled(items.map((item) => batcher.submit(item))));
          await new Promise(setImmediate);
        }
        const settled = (await Promise.all(results)).flat();
        assert.deepEqual(
          settled.map((result) => (result.status === 'fulfilled' ? result.value : 'failed')),
          submissions.flat().map((item) => (item < 0 ? 'failed' : item * 2)),
        );
        assert.ok(batches.every((batch) => batch.length <= batchItemsMax));
        assert.equal(batcher.size, 0);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('fails an item whose deadline passes while it waits, without running it', async () => {
    const timers = createTestTimers();
    const gate = createGate();
    const { batcher, batches } = createDoubler({ before: () => gate.opened, limit: { ms: 100, timers } });
    const first = assert.rejects(batcher.submit(1), LateError);
    await new Promise(setImmediate);
    timers.advance(40);
    const second = assert.rejects(batcher.submit(2), NotBegunError);
    timers.advance(59);
    const third = batcher.submit(3);
    timers.advance(41);
    await first;
    await second;
    gate.open();
    assert.equal(await third, 6);
    assert.deepEqual(batches, [[1], [3]]);
  });

  it('does not run an item again after a fault if its deadline has passed', async () => {
    const timers = createTestTimers();
    const gate = createGate();
    const batches: (readonly number[])[] = [];
    const batcher = new ItemBatcher<number, number>({
      async run(items) {
        batches.push(items);
        if (items.length > 1) throw itemFault;
        await gate.opened;
        return items;
      },
      isItemFault,
      batchItemsMax: 2,
      waitingItemsMax: 10,
      limit: { ms: 100, timers },
    });
    const late = [1, 2].map((item) => assert.rejects(batcher.submit(item), LateError));
    await new Promise(setImmediate);
    timers.advance(100);
    await Promise.all(late);
    gate.open();
    await batcher.drain();
    assert.deepEqual(batches, [[1, 2], [1]]);
  });

  it('aborts a batch when the deadlines of all its items have passed', async () => {
    const timers = createTestTimers();
    const signals: AbortSignal[] = [];
    const gate = createGate();
    const batcher = new ItemBatcher<number, number>({
      async run(items, { signal }) {
        signals.push(signal);
        await gate.opened;
        return items;
      },
      isItemFault,
      batchItemsMax: 2,
      waitingItemsMax: 10,
      limit: { ms: 100, timers },
    });
    const first = assert.rejects(batcher.submit(1), LateError);
    timers.advance(10);
    const second = assert.rejects(batcher.submit(2), LateError);
    await new Promise(setImmediate);
    timers.advance(99);
    await first;
    assert.equal(signals[0]!.aborted, false, 'the second one has a millisecond left');
    timers.advance(1);
    await second;
    assert.equal(signals[0]!.aborted, true);
    gate.open();
    await batcher.drain();
    assert.equal(timers.size, 0);
  });

  it('fails an item whose deadline had passed when it was submitted', async () => {
    const timers = createTestTimers();
    const { batcher } = createDoubler({ before: () => new Promise(() => undefined), limit: { ms: 2_000, timers } });
    timers.advance(10_000);
    const late = assert.rejects(batcher.submit(1, 9_000), LateError);
    await new Promise(setImmediate);
    timers.advance(0);
    await late;
  });

  it('does not wait for a result that is a promise before the next batch, but drains and limits it', async () => {
    const timers = createTestTimers();
    const later = Promise.withResolvers<number>();
    const never = Promise.withResolvers<number>();
    const batcher = new ItemBatcher<number, number>({
      run: async (items) => items.map((item) => (item === 1 ? later.promise : item === 2 ? never.promise : item)),
      isItemFault,
      batchItemsMax: 10,
      waitingItemsMax: 10,
      limit: { ms: 100, timers },
    });
    const [first, second] = [batcher.submit(1), assert.rejects(batcher.submit(2), LateError)];
    assert.equal(await batcher.submit(3), 3);
    assert.equal(await batcher.submit(4), 4);
    await new Promise(setImmediate);
    assert.equal(batcher.size, 2);
    const drained = batcher.drain();
    later.resolve(10);
    assert.equal(await first, 10);
    timers.advance(100);
    await second;
    never.resolve(0);
    await drained;
    assert.equal(batcher.size, 0);
  });
});
