import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BodyBudgets } from '../../http/body-budgets.ts';
import { ResponseMemory, STORING_FACTOR } from './stored-response-budget.ts';

const MEMORY_BYTES = 4_000;
/** Large bodies may use three quarters of the memory for bodies. */
const BODY_BYTES_MAX = (MEMORY_BYTES * 3) / 4 / STORING_FACTOR;

describe('the memory of a stored response', () => {
  const alone = { accountId: 'acct', isOnlyAccount: true };

  it('counts as memory of bodies, a multiple of the size, and grows with the received bytes', () => {
    const budgets = new BodyBudgets({ memoryBytes: MEMORY_BYTES, diskBytes: 0 });
    const memory = new ResponseMemory(budgets, alone);
    assert.equal(memory.take(100), true);
    assert.equal(memory.take(50), true);
    assert.equal(budgets.memoryUsedBytes, 100 * STORING_FACTOR);
    assert.equal(memory.take(BODY_BYTES_MAX), true);
    assert.equal(memory.take(BODY_BYTES_MAX + 1), false);
    assert.equal(budgets.memoryUsedBytes, BODY_BYTES_MAX * STORING_FACTOR);
    memory.release();
    assert.equal(budgets.memoryUsedBytes, 0);
  });

  it('is held until the call is over and the response is stored', () => {
    const budgets = new BodyBudgets({ memoryBytes: MEMORY_BYTES, diskBytes: 0 });
    const memory = new ResponseMemory(budgets, alone);
    memory.take(100);
    memory.use();
    memory.release();
    assert.equal(budgets.memoryUsedBytes, 100 * STORING_FACTOR);
    memory.release();
    assert.equal(budgets.memoryUsedBytes, 0);
  });

  it('leaves the last eighth to other accounts', () => {
    const budgets = new BodyBudgets({ memoryBytes: MEMORY_BYTES, diskBytes: 0 });
    const one = new ResponseMemory(budgets, { accountId: 'one', isOnlyAccount: false });
    assert.equal(one.take(BODY_BYTES_MAX), false);
    assert.equal(one.take((BODY_BYTES_MAX * 7) / 8), true);
    const other = new ResponseMemory(budgets, { accountId: 'other', isOnlyAccount: false });
    assert.equal(other.take(BODY_BYTES_MAX / 16), true);
  });
});
