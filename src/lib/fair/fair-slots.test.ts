import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { FairSlots } from './fair-slots.ts';

describe('FairSlots', () => {
  it('limits what runs at a time, and serves waiting tenants in turn', async () => {
    const slots = new FairSlots({ slotsMax: 2 });
    assert.equal(slots.enter('a'), null);
    assert.equal(slots.enter('a'), null);
    const order: string[] = [];
    const waiting = ['a1', 'a2', 'a3', 'b1'].map((name) => slots.enter(name[0]!)!.then(() => order.push(name)));
    let running = ['a', 'a'];
    for (let i = 0; i < 4; i++) {
      slots.leave(running.shift()!);
      await settled();
      assert.equal(order.length, i + 1);
      running = [...running, order.at(-1)![0]!];
    }
    await Promise.all(waiting);
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3']);
    for (const tenant of running) slots.leave(tenant);
    assert.equal(slots.enter('c'), null);
    assert.equal(slots.enter('c'), null);
    assert.notEqual(slots.enter('c'), null);
  });

  it('exceeds no limit, leaves no slot free that a waiter may have, serves work without a tenant first, and loses nothing', async () => {
    const limits = fc.record({
      slotsMax: fc.integer({ min: 1, max: 5 }),
      tenantsSlotsMax: fc.integer({ min: 1, max: 5 }),
      tenantSlotsMax: fc.integer({ min: 1, max: 5 }),
    });
    const tenant = fc.constantFrom('a', 'b', 'c', null);
    const step = fc.oneof(
      fc.record({ do: fc.constant('enter' as const), tenant }),
      fc.record({ do: fc.constant('leave' as const), which: fc.nat({ max: 9 }) }),
    );
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 60 }), async (limits, steps) => {
        const { slotsMax, tenantsSlotsMax, tenantSlotsMax } = limits;
        const slots = new FairSlots(limits);
        const running: (string | null)[] = [];
        let waiting: (string | null)[] = [];
        const isFree = (tenant: string | null): boolean =>
          running.length < slotsMax &&
          (tenant === null ||
            (running.filter((each) => each !== null).length < tenantsSlotsMax &&
              running.filter((each) => each === tenant).length < tenantSlotsMax));
        const check = (): void => {
          assert.equal(slots.running, running.length);
          assert.equal(slots.waiting, waiting.length);
          for (const each of ['a', 'b', 'c', null]) {
            assert.equal(slots.waitingOf(each), waiting.filter((other) => other === each).length);
            assert.equal(slots.hasSlotFor(each), isFree(each));
          }
          assert.ok(!waiting.some(isFree), 'a waiter could have a free slot');
        };
        const leave = async (which: number): Promise<void> => {
          const [left] = running.splice(which, 1);
          const before = waiting.filter(isFree);
          slots.leave(left!);
          await Promise.resolve();
          // The waiter that began has added itself to what runs.
          if (before.includes(null)) assert.equal(running.at(-1), null);
        };
        for (const next of steps) {
          if (next.do === 'enter') {
            const queued = slots.enter(next.tenant);
            if (queued === null) running.push(next.tenant);
            else {
              waiting.push(next.tenant);
              void queued.then(() => {
                running.push(next.tenant);
                const at = waiting.indexOf(next.tenant);
                waiting = waiting.filter((_, i) => i !== at);
              });
            }
          } else if (running.length > 0) await leave(next.which % running.length);
          check();
        }
        while (running.length > 0) await leave(0);
        assert.equal(slots.waiting, 0);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
