import type { LedgerEntry, LedgerKind } from '../ledger/ledger-store.ts';

/** Why an invoice cannot be requested for a month or for top-ups. */
export type InvoiceRefusal = 'not_a_top_up' | 'nothing_to_invoice';

interface KindSum {
  readonly kind: LedgerKind;
  readonly amountNano: bigint;
}

/** Returns the amount of an invoice for a month: its charges less its refunds. */
export function amountOfMonth(kinds: readonly KindSum[]): bigint | InvoiceRefusal {
  const calls = kinds.filter(({ kind }) => kind === 'charge' || kind === 'refund');
  return aboveZero(-sumOf(calls));
}

/** Returns the amount of an invoice for top-ups. `asked`: how many different entries the request names. */
export function amountOfTopUps(
  found: readonly Pick<LedgerEntry, 'kind' | 'amountNano'>[],
  asked: number,
): bigint | InvoiceRefusal {
  if (found.length !== asked || found.some(({ kind }) => kind !== 'top_up')) return 'not_a_top_up';
  return aboveZero(sumOf(found));
}

const sumOf = (amounts: readonly { readonly amountNano: bigint }[]): bigint =>
  amounts.reduce((sum, { amountNano }) => sum + amountNano, 0n);

const aboveZero = (amountNano: bigint): bigint | InvoiceRefusal =>
  amountNano > 0n ? amountNano : 'nothing_to_invoice';
