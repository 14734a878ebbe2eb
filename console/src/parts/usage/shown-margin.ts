import type { UsageGroup } from '../../api/types.ts';

export type MarginSums = Pick<
  UsageGroup,
  | 'planRevenueYuan'
  | 'marginYuan'
  | 'marginBasisPoints'
  | 'balanceMarginYuan'
  | 'balanceMarginBasisPoints'
  | 'costedNetChargeYuan'
  | 'costedMarginBasisPoints'
>;

/**
 * - `known`: of the whole revenue.
 * - `partly`: of the net charges of `ofYuan`, because the cost of other calls is unknown.
 * - `unknown`: no charge has a known cost.
 * - `noRevenue`: a share of nothing.
 */
export type ShownMargin =
  | { readonly kind: 'known'; readonly basisPoints: number }
  | { readonly kind: 'partly'; readonly basisPoints: number; readonly ofYuan: string }
  | { readonly kind: 'unknown' | 'noRevenue' };

/** For sorting: lists of the lowest margin first begin with losses, and unknown margins come last. */
export function marginOrder(sums: MarginSums | undefined): number {
  const margin = sums === undefined ? null : shownMargin(sums);
  return margin !== null && 'basisPoints' in margin ? margin.basisPoints : Number.MAX_VALUE;
}

/** The margin of balance and plans; of the balance alone if plan revenue is not known for the grouping. */
export function shownMargin(sums: MarginSums): ShownMargin {
  const [amount, share] =
    sums.planRevenueYuan === null
      ? [sums.balanceMarginYuan, sums.balanceMarginBasisPoints]
      : [sums.marginYuan, sums.marginBasisPoints];
  if (amount !== null) return share === null ? { kind: 'noRevenue' } : { kind: 'known', basisPoints: share };
  const { costedMarginBasisPoints: basisPoints, costedNetChargeYuan: ofYuan } = sums;
  return basisPoints === null ? { kind: 'unknown' } : { kind: 'partly', basisPoints, ofYuan };
}
