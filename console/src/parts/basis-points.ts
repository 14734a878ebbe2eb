import { times } from '../text/yuan.ts';

/** The default price factor. */
export const LIST_PRICE_BASIS_POINTS = 10_000;

/** A list price times a price factor, unrounded: only the charge of a call is rounded, once. */
export function atPriceFactor(priceYuan: string, priceFactorBasisPoints: number): string {
  return times(priceYuan, priceFactorBasisPoints, 4);
}

/** Basis points as an exact percentage. */
export function percentOf(basisPoints: number): string {
  const rest = basisPoints % 100;
  const whole = String((basisPoints - rest) / 100);
  return rest === 0 ? whole : `${whole}.${String(rest).padStart(2, '0').replace(/0$/, '')}`;
}

/** The basis points of a percentage that matches `[0-9]{1,4}([.][0-9]{1,2})?`. */
export function basisPointsOf(percent: string): number {
  const [whole = '0', decimals = ''] = percent.trim().split('.');
  return Number(whole) * 100 + Number(decimals.padEnd(2, '0'));
}
