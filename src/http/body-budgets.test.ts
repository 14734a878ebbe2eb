import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnsentMemory } from '../lib/fair/unsent-memory.ts';
import { BodyBudgets } from './body-budgets.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Of 16 MiB, responses have 12, and one of several accounts 10.5. */
const MEMORY_BYTES = 16 * MIB;

const tenant = (accountId: string) => ({ accountId, isOnlyAccount: false });

/** Holds a number of bytes, and reports whether the response may continue: `goes on`, `waits`, and later `woken`. */
function grow(memory: UnsentMemory, sizeBytes: number): { state: 'goes on' | 'waits' | 'woken' } {
  memory.hold(sizeBytes);
  const seen: { state: 'goes on' | 'waits' | 'woken' } = { state: 'goes on' };
  const goesOn = memory.mayGoOn(() => {
    seen.state = 'woken';
  });
  if (!goesOn) seen.state = 'waits';
  return seen;
}

describe('UnsentMemory', () => {
  const budgets = () => new BodyBudgets({ memoryBytes: MEMORY_BYTES, diskBytes: 0 });

  it('counts responses of more than 16 KiB until they are released', () => {
    const all = budgets();
    const memory = all.unsentOf(tenant('one'));
    memory.hold(16 * KIB);
    assert.equal(all.memoryUsedBytes, 0);
    for (const sizeBytes of [17 * KIB, 5 * MIB, 3 * MIB, 0, 20 * MIB]) {
      memory.hold(sizeBytes);
      assert.equal(all.memoryUsedBytes, sizeBytes);
    }
    memory.release();
    memory.release();
    assert.equal(all.memoryUsedBytes, 0);
    memory.hold(MIB);
    assert.equal(all.memoryUsedBytes, 0);
  });

  it('stays within the share of its account, and leaves an eighth to others and a quarter to requests', () => {
    const all = budgets();
    assert.equal(all.unsentOf(tenant('one')).hold(10.5 * MIB), true);
    assert.equal(all.unsentOf(tenant('one')).hold(17 * KIB), false);
    assert.equal(all.unsentOf(tenant('two')).hold(1.25 * MIB), true);
    all.memoryOf(tenant('three')).need(MIB);
    assert.equal(
      new BodyBudgets({ memoryBytes: MEMORY_BYTES, diskBytes: 0 })
        .unsentOf({ accountId: 'alone', isOnlyAccount: true })
        .hold(12 * MIB),
      true,
    );
  });

  it('lets one response continue beyond the budget, and resumes the others in order when memory is freed', async () => {
    const all = budgets();
    const [full, first, second, third] = Array.from({ length: 4 }, () => all.unsentOf(tenant('one'))) as [
      UnsentMemory,
      UnsentMemory,
      UnsentMemory,
      UnsentMemory,
    ];
    full.hold(10.5 * MIB);
    assert.equal(grow(first, MIB).state, 'goes on');
    const waiting = [grow(second, 2 * MIB), grow(third, MIB)];
    // Bytes beyond the budget take no memory from others.
    assert.equal(grow(first, 64 * MIB).state, 'goes on');
    assert.equal(all.memoryUsedBytes, (10.5 + 64 + 3) * MIB);
    await Promise.resolve();
    assert.deepEqual(
      waiting.map(({ state }) => state),
      ['waits', 'waits'],
    );
    first.release();
    await Promise.resolve();
    assert.deepEqual(
      waiting.map(({ state }) => state),
      ['woken', 'waits'],
    );
    full.release();
    await Promise.resolve();
    assert.deepEqual(
      waiting.map(({ state }) => state),
      ['woken', 'woken'],
    );
    second.release();
    third.release();
    assert.equal(all.memoryUsedBytes, 0);
  });

  it('never waits with up to 128 KiB, and stops exceeding the budget with that', async () => {
    const all = budgets();
    all.unsentOf(tenant('one')).hold(10.5 * MIB);
    const first = all.unsentOf(tenant('one'));
    assert.equal(grow(first, MIB).state, 'goes on');
    const second = all.unsentOf(tenant('one'));
    assert.equal(grow(second, 128 * KIB).state, 'goes on');
    const waiting = grow(second, 129 * KIB);
    assert.equal(waiting.state, 'waits');
    first.hold(128 * KIB);
    await Promise.resolve();
    assert.equal(waiting.state, 'woken');
  });

  it('stops waiting when it is released or when nothing more is read', async () => {
    const all = budgets();
    const full = all.unsentOf(tenant('one'));
    full.hold(10.5 * MIB);
    grow(all.unsentOf(tenant('one')), MIB);
    const [left, released] = [all.unsentOf(tenant('one')), all.unsentOf(tenant('one'))];
    const waiting = [grow(left, MIB), grow(released, MIB)];
    left.stopWaiting();
    released.release();
    full.release();
    await Promise.resolve();
    assert.deepEqual(
      waiting.map(({ state }) => state),
      ['waits', 'waits'],
    );
  });

  it('continues when the configuration raises the budget', async () => {
    const all = budgets();
    all.unsentOf(tenant('one')).hold(10.5 * MIB);
    grow(all.unsentOf(tenant('one')), MIB);
    const waiting = grow(all.unsentOf(tenant('one')), MIB);
    all.change({ memoryBytes: 4 * MEMORY_BYTES, diskBytes: 0 });
    await Promise.resolve();
    assert.equal(waiting.state, 'woken');
  });
});
