import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { marginBasisPoints } from './margin-share.ts';

const YUAN = 1_000_000_000n;

describe('the share of a margin in its revenue', () => {
  it('is in basis points, negative for a loss, and unknown without a margin or revenue', () => {
    assert.equal(marginBasisPoints(25n * YUAN, 100n * YUAN), 2_500);
    assert.equal(marginBasisPoints(-300n * YUAN, 100n * YUAN), -30_000);
    assert.equal(marginBasisPoints(0n, YUAN), 0);
    assert.equal(marginBasisPoints(1n, 3n), 3_333);
    assert.equal(marginBasisPoints(2n, 3n), 6_667);
    assert.equal(marginBasisPoints(null, YUAN), null);
    assert.equal(marginBasisPoints(-YUAN, 0n), null);
    assert.equal(marginBasisPoints(-YUAN, -YUAN), null);
  });

  it('is off by at most half a basis point, and as large for a loss as for a gain', () => {
    const amounts = [fc.bigInt(-(10n ** 18n), 10n ** 18n), fc.bigInt(YUAN, 10n ** 18n)] as const;
    fc.assert(
      fc.property(...amounts, (margin, revenue) => {
        const share = marginBasisPoints(margin, revenue)!;
        const difference = BigInt(share) * revenue - margin * 10_000n;
        assert.ok(2n * (difference < 0n ? -difference : difference) <= revenue);
        assert.equal(share + marginBasisPoints(-margin, revenue)!, 0);
      }),
    );
  });
});
