import assert from 'node:assert/strict';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import { GatewayError } from '../errors/gateway-error.ts';
import { HELD_MS_MAX, REFUSALS_PER_SECOND, RefusalThrottle } from './refusal-throttle.ts';

describe('RefusalBrake', () => {
  let nowMs: number;
  let throttle: RefusalThrottle;
  beforeEach(() => {
    nowMs = 5_000;
    throttle = new RefusalThrottle(() => nowMs);
  });
  const stopTime = (context: TestContext): void => context.mock.timers.enable({ apis: ['setTimeout'] });

  /** Counts refusals; returns the result of each, which is `null` while it is delayed. */
  function refuse(count: number, name = 'a', cost = 1) {
    const left: (boolean | null)[] = [];
    for (let i = 0; i < count; i++) {
      left.push(null);
      void throttle.hold(name, cost).then((isInTime) => {
        left[i] = isInTime;
      });
    }
    return left;
  }
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await Promise.resolve();
  };
  const heldOf = (left: readonly (boolean | null)[]): number => left.filter((one) => one === null).length;

  it('does not delay a burst, and delays refusals beyond the rate', async (context) => {
    stopTime(context);
    const left = refuse(REFUSALS_PER_SECOND + 3);
    await settled();
    assert.equal(heldOf(left), 3);
    for (const held of [2, 1, 0]) {
      context.mock.timers.tick(1_000 / REFUSALS_PER_SECOND);
      await settled();
      assert.equal(heldOf(left), held);
    }
  });

  it('delays no refusal for longer than a second, and recovers within a second', async (context) => {
    stopTime(context);
    const left = refuse(5 * REFUSALS_PER_SECOND);
    context.mock.timers.tick(HELD_MS_MAX - 1);
    await settled();
    assert.ok(heldOf(left) > 0);
    context.mock.timers.tick(1);
    await settled();
    assert.equal(heldOf(left), 0);
    nowMs += 1_000;
    assert.equal(await Promise.race([throttle.hold('a', 0.5), settled()]), undefined);
    nowMs += 1_000;
    assert.equal(await throttle.hold('a', 1), true);
  });

  it('never delays a subject that keeps to the rate', async (context) => {
    stopTime(context);
    for (let i = 0; i < 10 * REFUSALS_PER_SECOND; i++) {
      nowMs += 1_000 / REFUSALS_PER_SECOND;
      assert.equal(await throttle.hold('a', 1), true);
    }
  });

  it('does not delay other subjects', async (context) => {
    stopTime(context);
    refuse(3 * REFUSALS_PER_SECOND);
    assert.equal(await throttle.hold('b', 1), true);
  });

  it('counts the cost of each refusal', async (context) => {
    stopTime(context);
    const [cheap, dear] = [refuse(4 * REFUSALS_PER_SECOND, 'cheap', 0.25), refuse(30, 'dear', 5)];
    await settled();
    assert.deepEqual([heldOf(cheap), heldOf(dear)], [0, 10]);
  });

  it('limits how many refusals are delayed, and tells callers to close the connections of the others', async (context) => {
    stopTime(context);
    const left = refuse(REFUSALS_PER_SECOND + 510);
    await settled();
    assert.equal(heldOf(left), 500);
    assert.equal(left.filter((one) => one === false).length, 10);
    assert.deepEqual([throttle.isSaturated('a'), throttle.isSaturated('b')], [true, false]);
    context.mock.timers.tick(HELD_MS_MAX);
    await settled();
    assert.deepEqual([heldOf(left), throttle.isSaturated('a')], [0, false]);
  });

  it('counts the delayed refusals of a subject even after it has forgotten the subject', async (context) => {
    stopTime(context);
    refuse(REFUSALS_PER_SECOND + 500);
    for (let other = 0; other < 10_000; other++) void throttle.hold(`other ${other}`, 1);
    assert.equal(throttle.isSaturated('a'), true);
    context.mock.timers.tick(HELD_MS_MAX);
    await settled();
    assert.deepEqual([throttle.held, throttle.isSaturated('a')], [0, false]);
  });

  describe('remembers', () => {
    const error = new GatewayError('insufficientBalance');
    const flood = async (context: TestContext): Promise<void> => {
      stopTime(context);
      refuse(REFUSALS_PER_SECOND);
      await settled();
    };

    it('no refusal of a subject within the rate', () => {
      throttle.remember('a', 'x', error);
      refuse(5);
      throttle.remember('a', 'x', error);
      assert.equal(throttle.recall('a', 'x'), null);
    });

    it('a refusal for a second, however often it is repeated', async (context) => {
      await flood(context);
      throttle.remember('a', 'x', error);
      nowMs += HELD_MS_MAX - 1;
      assert.equal(throttle.recall('a', 'x'), error);
      refuse(REFUSALS_PER_SECOND);
      throttle.remember('a', 'x', error);
      nowMs += 1;
      assert.equal(throttle.recall('a', 'x'), null);
    });

    it('a refusal for its subject and place only', async (context) => {
      await flood(context);
      throttle.remember('a', 'x', error);
      assert.deepEqual([throttle.recall('a', 'y'), throttle.recall('b', 'x')], [null, null]);
    });

    it('no refusal after a change', async (context) => {
      await flood(context);
      for (const forget of [() => throttle.forget('a'), () => throttle.forgetAll()]) {
        throttle.remember('a', 'x', error);
        assert.equal(throttle.recall('a', 'x'), error);
        forget();
        assert.equal(throttle.recall('a', 'x'), null);
      }
    });
  });
});
