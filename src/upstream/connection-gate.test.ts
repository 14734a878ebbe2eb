import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ConnectionGate } from './connection-gate.ts';

/** A call at a gate: what became of it, and how to go on. */
function call(gate: ConnectionGate) {
  let state: 'waits' | 'under way' | 'refused' = 'waits';
  let leave = (): void => undefined;
  const giveUp = gate.enter({
    admitted(given) {
      state = 'under way';
      leave = given;
    },
    refused() {
      state = 'refused';
    },
  });
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

describe('the gate before a provider', () => {
  const stopTime = (context: TestContext): void => context.mock.timers.enable({ apis: ['setTimeout'] });

  it('lets so many through at a time, keeps so many waiting, and refuses the rest at once', async (context) => {
    stopTime(context);
    const gate = open(2, 1);
    const calls = [call(gate), call(gate), call(gate), call(gate)] as const;
    assert.deepEqual(states(...calls), ['under way', 'under way', 'waits', 'refused']);
    await calls[1].end();
    assert.deepEqual(states(...calls), ['under way', 'under way', 'under way', 'refused']);
    assert.deepEqual([gate.callsUnderWay, gate.callsWaiting], [2, 0]);
  });

  it('lets calls through in the order in which they came, and nobody overtakes', async (context) => {
    stopTime(context);
    const gate = open(1, 10);
    const first = call(gate);
    const [second, third] = [call(gate), call(gate)];
    const ended = first.end();
    const late = call(gate);
    await ended;
    assert.deepEqual(states(second, third, late), ['under way', 'waits', 'waits']);
    await second.end();
    await third.end();
    assert.equal(late.state, 'under way');
    await late.end();
    assert.deepEqual([gate.callsUnderWay, gate.callsWaiting], [0, 0]);
  });

  it('refuses a call that has waited for as long as it may', (context) => {
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

  it('gives the place of a call that leaves to another, and never tells it anything', async (context) => {
    stopTime(context);
    const gate = open(1, 1);
    const first = call(gate);
    const gone = call(gate);
    assert.equal(call(gate).state, 'refused');
    gone.giveUp();
    const next = call(gate);
    await first.end();
    context.mock.timers.tick(5000);
    assert.deepEqual(states(gone, next), ['waits', 'under way']);
  });

  it('counts a call that ends twice once', async (context) => {
    stopTime(context);
    const gate = open(1, 5);
    const first = call(gate);
    const [second, third] = [call(gate), call(gate)];
    await Promise.all([first.end(), first.end()]);
    assert.deepEqual(states(second, third), ['under way', 'waits']);
  });

  it('refuses those who wait and whoever comes after once it is closed, and lets the others end', async (context) => {
    stopTime(context);
    const gate = open(1, 5);
    const first = call(gate);
    const waiting = call(gate);
    gate.close();
    assert.deepEqual(states(first, waiting, call(gate)), ['under way', 'refused', 'refused']);
    await first.end();
    assert.deepEqual([gate.callsUnderWay, gate.callsWaiting], [0, 0]);
  });
});
