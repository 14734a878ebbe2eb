import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Share, Shares, type Tenant } from './shares.ts';

const one = tenant('one');
const two = tenant('two');
const alone: Tenant = { accountId: 'alone', isOnlyAccount: true };

function tenant(accountId: string): Tenant {
  return { accountId, isOnlyAccount: false };
}

describe('Shares', () => {
  it('gives the only account everything, and not more', () => {
    const shares = new Shares(80);
    const share = shares.take(alone, 79)!;
    assert.ok(share.grow(1));
    assert.equal(share.grow(1), false);
    assert.equal(shares.take(alone, 1), null);
    assert.deepEqual([shares.used, share.amount], [80, 80]);
  });

  it('keeps the last eighth for accounts that have less than an eighth', () => {
    const shares = new Shares(80);
    assert.ok(shares.take(one, 70));
    assert.equal(shares.take(one, 1), null);
    assert.equal(shares.take(two, 11), null);
    assert.ok(shares.take(two, 10));
    assert.equal(shares.take(two, 1), null);
    assert.equal(shares.used, 80);
  });

  it('grants a single request more than an eighth if the capacity is free', () => {
    const shares = new Shares(80);
    assert.equal(shares.take(one, 71), null);
    assert.ok(shares.take(one, 70));
  });

  it('limits an account as soon as it is not the only one', () => {
    let isOnlyAccount = true;
    const first = {
      accountId: 'first',
      get isOnlyAccount() {
        return isOnlyAccount;
      },
    };
    const shares = new Shares(80);
    const share = shares.take(first, 72)!;
    assert.ok(share.grow(1));
    isOnlyAccount = false;
    assert.equal(share.grow(1), false);
    assert.equal(shares.take(first, 1), null);
    assert.ok(shares.take(two, 7));
  });

  it('keeps a unit for another account even if the capacity is small', () => {
    for (const capacity of [1, 2, 3, 9]) {
      const shares = new Shares(capacity);
      let taken = 0;
      while (shares.take(one, 1) !== null) taken++;
      if (capacity === 1) assert.equal(taken, 1);
      else assert.ok(shares.take(two, 1), `of ${capacity}`);
    }
  });

  it('accounts for returned amounts once', () => {
    const shares = new Shares(80);
    const share = shares.take(one, 30)!;
    const other = shares.take(one, 5)!;
    share.shrink(10);
    assert.deepEqual([shares.used, shares.takenBy('one'), share.amount], [25, 25, 20]);
    share.shrink(100);
    assert.deepEqual([shares.used, share.amount], [5, 0]);
    share.release();
    share.release();
    assert.equal(share.grow(1), false);
    assert.deepEqual([shares.used, shares.takenBy('one')], [5, 5]);
    other.release();
    assert.deepEqual([shares.used, shares.takenBy('one')], [0, 0]);
  });

  it('grants nothing while more is used than a reduced capacity allows', () => {
    const shares = new Shares(80);
    const share = shares.take(one, 60)!;
    shares.capacity = 40;
    assert.equal(shares.take(two, 1), null);
    share.shrink(30);
    assert.ok(shares.take(two, 5));
  });

  it('never exceeds its capacity, accounts for all amounts, and always has an eighth for each of two accounts', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('take' as const), who: fc.nat(1), amount: fc.integer({ min: 1, max: 60 }) }),
      fc.record({ do: fc.constant('grow' as const), which: fc.nat(9), amount: fc.integer({ min: 1, max: 60 }) }),
      fc.record({ do: fc.constant('shrink' as const), which: fc.nat(9), amount: fc.integer({ min: 1, max: 60 }) }),
      fc.record({ do: fc.constant('release' as const), which: fc.nat(9) }),
    );
    const tenants = [one, two];
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 100 }), fc.array(step, { maxLength: 60 }), (capacity, steps) => {
        const shares = new Shares(capacity);
        const taken: { who: number; share: Share }[] = [];
        for (const action of steps) {
          if (action.do === 'take') {
            const share = shares.take(tenants[action.who]!, action.amount);
            if (share !== null) taken.push({ who: action.who, share });
          } else if (taken.length > 0) {
            const { share } = taken[action.which % taken.length]!;
            if (action.do === 'grow') share.grow(action.amount);
            else if (action.do === 'shrink') share.shrink(action.amount);
            else share.release();
          }
          const takenBy = (who: number) =>
            taken.filter((entry) => entry.who === who).reduce((sum, { share }) => sum + share.amount, 0);
          const held = [takenBy(0), takenBy(1)] as const;
          assert.deepEqual([shares.takenBy('one'), shares.takenBy('two')], held);
          assert.equal(shares.used, held[0] + held[1]);
          assert.ok(shares.used <= capacity);
          const eighth = Math.floor(capacity / 8);
          for (const who of [0, 1] as const) {
            if (held[who] >= eighth) continue;
            const share = shares.take(tenants[who]!, eighth - held[who]);
            assert.ok(share, `${held} of ${capacity}`);
            share.release();
          }
        }
      }),
    );
  });
});
