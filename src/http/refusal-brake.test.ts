import assert from 'node:assert/strict';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import { GatewayError } from '../errors/gateway-error.ts';
import { HELD_MS_MAX, REFUSALS_PER_SECOND, RefusalBrake } from './refusal-brake.ts';

describe('the brake of refusals', () => {
  let nowMs: number;
  let brake: RefusalBrake;
  beforeEach(() => {
    nowMs = 5_000;
    brake = new RefusalBrake(() => nowMs);
  });
  const stopTime = (context: TestContext): void => context.mock.timers.enable({ apis: ['setTimeout'] });

  /** Counts refusals; returns after which time each of them left, `null` while it is delayed. */
  function refuse(count: number, name = 'a', cost = 1) {
    const left: (boolean | null)[] = [];
    for (let i = 0; i < count; i++) {
      left.push(null);
      void brake.hold(name, cost).then((isInTime) => {
        left[i] = isInTime;
      });
    }
    return left;
  }
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await Promise.resolve();
  };
  const heldOf = (left: readonly (boolean | null)[]): number => left.filter((one) => one === null).length;

  it('lets a burst of a second leave at once, and delays refusals beyond the rate', async (context) => {
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

  it('delays nothing for longer than a second, and recovers within a second', async (context) => {
    stopTime(context);
    const left = refuse(5 * REFUSALS_PER_SECOND);
    context.mock.timers.tick(HELD_MS_MAX - 1);
    await settled();
    assert.ok(heldOf(left) > 0);
    context.mock.timers.tick(1);
    await settled();
    assert.equal(heldOf(left), 0);
    nowMs += 1_000;
    assert.equal(await Promise.race([brake.hold('a', 0.5), settled()]), undefined);
    nowMs += 1_000;
    assert.equal(await brake.hold('a', 1), true);
  });

  it('never delays a subject that keeps to the rate', async (context) => {
    stopTime(context);
    for (let i = 0; i < 10 * REFUSALS_PER_SECOND; i++) {
      nowMs += 1_000 / REFUSALS_PER_SECOND;
      assert.equal(await brake.hold('a', 1), true);
    }
  });

  it('delays one subject without the others', async (context) => {
    stopTime(context);
    refuse(3 * REFUSALS_PER_SECOND);
    assert.equal(await brake.hold('b', 1), true);
  });

  it('counts costs: a cheap refusal takes a part of the rate, a guess more of it', async (context) => {
    stopTime(context);
    const [cheap, dear] = [refuse(4 * REFUSALS_PER_SECOND, 'cheap', 0.25), refuse(30, 'dear', 5)];
    await settled();
    assert.deepEqual([heldOf(cheap), heldOf(dear)], [0, 10]);
  });

  it('delays a limited number at a time: the others leave at once, and their connections end', async (context) => {
    stopTime(context);
    const left = refuse(REFUSALS_PER_SECOND + 510);
    await settled();
    assert.equal(heldOf(left), 500);
    assert.equal(left.filter((one) => one === false).length, 10);
    assert.deepEqual([brake.isSaturated('a'), brake.isSaturated('b')], [true, false]);
    context.mock.timers.tick(HELD_MS_MAX);
    await settled();
    assert.deepEqual([heldOf(left), brake.isSaturated('a')], [0, false]);
  });

  describe('remembers', () => {
    const error = new GatewayError('insufficientBalance');
    const flood = async (context: TestContext): Promise<void> => {
      stopTime(context);
      refuse(REFUSALS_PER_SECOND);
      await settled();
    };

    it('nothing of a subject that is refused now and then', () => {
      brake.remember('a', 'x', error);
      refuse(5);
      brake.remember('a', 'x', error);
      assert.equal(brake.recall('a', 'x'), null);
    });

    it('a refusal for a second, however often it is repeated', async (context) => {
      await flood(context);
      brake.remember('a', 'x', error);
      nowMs += HELD_MS_MAX - 1;
      assert.equal(brake.recall('a', 'x'), error);
      refuse(REFUSALS_PER_SECOND);
      brake.remember('a', 'x', error);
      nowMs += 1;
      assert.equal(brake.recall('a', 'x'), null);
    });

    it('a refusal of one subject at one place', async (context) => {
      await flood(context);
      brake.remember('a', 'x', error);
      assert.deepEqual([brake.recall('a', 'y'), brake.recall('b', 'x')], [null, null]);
    });

    it('nothing once it has to forget', async (context) => {
      await flood(context);
      for (const forget of [() => brake.forget('a'), () => brake.forgetAll()]) {
        brake.remember('a', 'x', error);
        assert.equal(brake.recall('a', 'x'), error);
        forget();
        assert.equal(brake.recall('a', 'x'), null);
      }
    });
  });
});
