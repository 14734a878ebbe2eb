import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { percentLeft } from '../../console/src/parts/plan/percent-left.ts';
import { propertyRuns } from '../support/scope.ts';

it('the remaining percentage of a limit is rounded down', () => {
  assert.equal(percentLeft(80, 100), 20);
  assert.equal(percentLeft(199, 200), 0);
  assert.equal(percentLeft(0, 0), 0);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 ** 12 }), fc.integer({ min: 0, max: 10 ** 12 }), (limit, used) => {
      const exact = used >= limit ? 0n : (BigInt(limit - used) * 100n) / BigInt(limit);
      assert.equal(BigInt(percentLeft(used, limit)), exact);
    }),
    { numRuns: propertyRuns(300) },
  );
});
