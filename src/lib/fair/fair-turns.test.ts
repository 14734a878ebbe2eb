import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairTurns } from './fair-turns.ts';

describe('FairTurns', () => {
  it('lets as many run as it may, and those that wait by turns of accounts', async () => {
    const turns = new FairTurns(2);
    assert.equal(turns.enter('a'), null);
    assert.equal(turns.enter('a'), null);
    const order: string[] = [];
    const waiting = ['a1', 'a2', 'a3', 'b1'].map((name) =>
      turns.enter(name.charAt(0))!.then(() => {
        order.push(name);
      }),
    );
    for (let i = 0; i < 4; i++) {
      turns.leave();
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(order.length, i + 1);
    }
    await Promise.all(waiting);
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3']);
    turns.leave();
    turns.leave();
    assert.equal(turns.enter('c'), null);
    assert.equal(turns.enter('c'), null);
    assert.notEqual(turns.enter('c'), null);
  });
});
