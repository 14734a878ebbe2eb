import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { ConnectionGate } from './connection-gate.ts';

/** A call at a gate, its result, and how to end it. */
function call(gate: ConnectionGate, accountId = 'a', isOnlyAccount = accountId === 'a') {
  let state: 'waits' | 'in flight' | 'refused' = 'waits';
  let leave = (): void => undefined;
  const giveUp = gate.enter(
    { accountId, isOnlyAccount },
    {
      admitted(given) {
        state = 'in flight';
        leave = given;
      },
      refused() {
        state = 'refused';
      },
    },
  );
  return {
    get state() {
      return state;
    },
    giveUp,
    async end() {
      leave();
      await Promise.resolve();
    },
  };
}

const open = (callsMax: number, queueLength: number): ConnectionGate =>
  new ConnectionGate({ callsMax, queueLength, queueWaitMs: 1000 });

const states = (...calls: readonly { readonly state: string }[]): string[] => calls.map(({ state }) => state);

describe('the gate of a provider', () => {
  const stopTime = (context: TestContext): void => context.mock.timers.enable({ apis: ['setTimeout'] });

  it('admits and queues limited numbers of calls, and refuses others immediately', async (context) => {
    stopTime(context);
    const gate = open(2, 1);
    const calls = [call(gate), call(gate), call(gate), call(gate)] as const;
    assert.deepEqual(states(...calls), ['in flight', 'in flight', 'waits', 'refused']);
    await calls[1].end();
    assert.deepEqual(states(...calls), ['in flight', 'in flight', 'in flight', 'refused']);
    assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [2, 0]);
  });

  it('admits calls in order of arrival, and no call overtakes another', async (context) => {
    stopTime(context);
    const gate = open(1, 10);
    const first = call(gate);
    const [second, third] = [call(gate), call(gate)];
    const ended = first.end();
    const late = call(gate);
    await ended;
    assert.deepEqual(states(second, third, late), ['in flight', 'waits', 'waits']);
    await second.end();
    await third.end();
    assert.equal(late.state, 'in flight');
    await late.end();
    assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [0, 0]);
  });

  it('refuses a call after its maximum waiting time', (context) => {
    stopTime(context);
    const gate = open(1, 10);
    call(gate);
    const waiting = call(gate);
    context.mock.timers.tick(999);
    assert.equal(waiting.state, 'waits');
    context.mock.timers.tick(1);
    assert.equal(waiting.state, 'refused');
    assert.equal(gate.callsWaiting, 0);
  });

  it('gives the slot of a call that leaves to another one, and calls back only once', async (context) => {
    stopTime(context);
    const gate = open(1, 1);
    const first = call(gate);
    const gone = call(gate);
    assert.equal(call(gate).state, 'refused');
    gone.giveUp();
    const next = call(gate);
    await first.end();
    context.mock.timers.tick(5000);
    assert.deepEqual(states(gone, next), ['waits', 'in flight']);
  });

  it('counts a call that ends twice once', async (context) => {
    stopTime(context);
    const gate = open(1, 5);
    const first = call(gate);
    const [second, third] = [call(gate), call(gate)];
    await Promise.all([first.end(), first.end()]);
    assert.deepEqual(states(second, third), ['in flight', 'waits']);
  });

  it('refuses queued and later calls after it is closed, and lets others finish', async (context) => {
    stopTime(context);
    const gate = open(1, 5);
    const first = call(gate);
    const waiting = call(gate);
    gate.close();
    assert.deepEqual(states(first, waiting, call(gate)), ['in flight', 'refused', 'refused']);
    await first.end();
    assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [0, 0]);
  });

  describe('with several accounts', () => {
    const several = (gate: ConnectionGate, accountId: string, count: number) =>
      Array.from({ length: count }, () => call(gate, accountId, false));
    const countOf = (calls: readonly { readonly state: string }[], state: string): number =>
      calls.filter((one) => one.state === state).length;

    it('reserves the last eighth of slots and queue for accounts with less than an eighth', (context) => {
      stopTime(context);
      const gate = open(16, 8);
      const greedy = several(gate, 'greedy', 100);
      assert.deepEqual([countOf(greedy, 'in flight'), countOf(greedy, 'waits')], [14, 7]);
      const modest = several(gate, 'modest', 4);
      assert.deepEqual(states(...modest), ['in flight', 'in flight', 'waits', 'refused']);
      assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [16, 8]);
    });

    it('lets a single account use everything', (context) => {
      stopTime(context);
      const gate = open(16, 8);
      const calls = Array.from({ length: 25 }, () => call(gate, 'only', true));
      assert.deepEqual([countOf(calls, 'in flight'), countOf(calls, 'waits'), countOf(calls, 'refused')], [16, 8, 1]);
    });

    it('serves queued calls of accounts in turn', async (context) => {
      stopTime(context);
      const gate = open(1, 80);
      const first = call(gate, 'greedy', false);
      const greedy = several(gate, 'greedy', 50);
      const modest = several(gate, 'modest', 2);
      await first.end();
      assert.deepEqual(states(greedy[0]!, modest[0]!), ['in flight', 'waits']);
      await greedy[0]!.end();
      assert.deepEqual(states(modest[0]!, greedy[1]!, modest[1]!), ['in flight', 'waits', 'waits']);
      await modest[0]!.end();
      assert.deepEqual(states(greedy[1]!, modest[1]!), ['in flight', 'waits']);
      await greedy[1]!.end();
      assert.deepEqual(states(modest[1]!, greedy[2]!), ['in flight', 'waits']);
    });

    it('gives a free slot to an account that may have it, and skips others', async (context) => {
      stopTime(context);
      const gate = open(8, 80);
      const greedy = several(gate, 'greedy', 10);
      const modest = several(gate, 'modest', 2);
      assert.deepEqual([countOf(greedy, 'in flight'), states(...modest)], [7, ['in flight', 'waits']]);
      await modest[0]!.end();
      assert.deepEqual([countOf(greedy, 'in flight'), states(...modest)], [7, ['in flight', 'in flight']]);
      await modest[1]!.end();
      assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [7, 3]);
      for (const one of greedy) await one.end();
      assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [0, 0]);
    });

    it('leaves no slot free that a queued call may have, and none taken in the end, for any order of events', async () => {
      const step = fc.oneof(
        { arbitrary: fc.record({ do: fc.constant('enter' as const), account: fc.nat({ max: 3 }) }), weight: 5 },
        { arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat({ max: 40 }) }), weight: 3 },
        { arbitrary: fc.record({ do: fc.constant('giveUp' as const), which: fc.nat({ max: 40 }) }), weight: 1 },
      );
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 10 }),
          fc.array(step, { maxLength: 80 }),
          async (callsMax, steps) => {
            const gate = open(callsMax, 12);
            const eighth = Math.ceil(callsMax / 8);
            const calls: ({ readonly accountId: string } & ReturnType<typeof call>)[] = [];
            const enter = (accountId: string): void => {
              const one = call(gate, accountId, false);
              calls.push(
                Object.defineProperty(one as typeof one & { accountId: string }, 'accountId', { value: accountId }),
              );
            };
            for (const next of steps) {
              const one = next.do === 'enter' ? undefined : calls[next.which];
              if (next.do === 'enter') enter(`account-${next.account}`);
              else if (next.do === 'end') await one?.end();
              else if (one?.state === 'waits') {
                one.giveUp();
                calls.splice(calls.indexOf(one), 1);
              }
              if (next.do === 'end' && one?.state === 'in flight') calls.splice(calls.indexOf(one), 1);
              const inFlight = calls.filter(({ state }) => state === 'in flight');
              assert.equal(gate.callsInFlight, inFlight.length);
              assert.equal(gate.callsWaiting, countOf(calls, 'waits'));
              for (const waiting of calls.filter(({ state }) => state === 'waits')) {
                const held = inFlight.filter(({ accountId }) => accountId === waiting.accountId).length;
                const isWithinShare = held < eighth || inFlight.length < callsMax - eighth;
                assert.ok(inFlight.length === callsMax || !isWithinShare, 'a slot is free although a call may have it');
              }
            }
            for (let one = calls.shift(); one !== undefined; one = calls.shift()) {
              if (one.state === 'waits') one.giveUp();
              await one.end();
            }
            assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [0, 0]);
          },
        ),
        { numRuns: propertyRuns(300) },
      );
    });
  });
});
