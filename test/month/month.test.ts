import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Month, runMonth } from './month.ts';

/**
 * A month of generated traffic of all operations, and of the corpus of dialects. The vendor records its charges, another program adds
 * them up, and the gateway's charges have to be equal. `npm run month` runs a larger one.
 */
describe('a month of traffic', { timeout: 300_000 }, () => {
  let month: Month;
  before(async () => {
    month = await runMonth({ seed: 20_261_122, callsAtOnce: 8, calls: 500, aborts: 20 });
  });

  it('is charged as the vendor bills it, for each model', () => {
    for (const { model, chargedNano, billedNano } of month.sums) assert.equal(chargedNano, billedNano, model);
    const billed = month.sums.filter(({ billedNano }) => billedNano > 0n).map(({ model }) => model);
    assert.ok(billed.filter((model) => !model.includes('/')).length >= 9);
    assert.ok(billed.filter((model) => model.includes('/')).length >= 30, 'those of the corpus of dialects');
  });

  it('includes refusals, which are free', () => {
    assert.ok(month.refused > 0);
  });

  it('charges a client that leaves no more than was reserved', () => {
    for (const { model, chargedNano, reservedNano } of month.aborted) {
      assert.ok(chargedNano >= 0n && chargedNano <= reservedNano, `${model}: ${chargedNano} of ${reservedNano}`);
    }
    assert.ok(month.aborted.some(({ chargedNano }) => chargedNano > 0n));
  });
});
