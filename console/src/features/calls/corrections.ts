import type { Call, OwnCall } from '../../api/types.ts';

/** A change that an operator made to a call after it ended. */
export type Correction =
  | {
      readonly kind: 'resolved';
      readonly action: NonNullable<OwnCall['resolution']>['action'];
      readonly at: string;
      /** `null` if nothing was charged. */
      readonly amountYuan: string | null;
      readonly tokens: number | null;
      /** Who decided and why. Shown to operators only. */
      readonly note: string | null;
    }
  | { readonly kind: 'refunded'; readonly at: string; readonly amountYuan: string; readonly note: string | null };

/** In order of time. */
export function correctionsOf(call: OwnCall | Call): Correction[] {
  const { resolution, refunds } = call;
  const resolved: Correction[] =
    resolution === null
      ? []
      : [
          {
            kind: 'resolved',
            action: resolution.action,
            at: resolution.at,
            amountYuan: resolution.action === 'charge' ? call.chargeYuan : null,
            tokens: resolution.tokens ?? null,
            note: 'memo' in resolution ? noteOf(resolution.by, resolution.memo) : null,
          },
        ];
  const refunded = refunds.map((refund): Correction => {
    const note = 'memo' in refund ? noteOf(null, refund.memo) : null;
    return { kind: 'refunded', at: refund.at, amountYuan: refund.amountYuan, note };
  });
  // Only resolved calls have a charge that can be refunded.
  return [...resolved, ...refunded];
}

function noteOf(by: string | null, memo: string | null): string | null {
  const said = [by, memo].filter((part) => part !== null && part !== '');
  return said.length === 0 ? null : said.join(': ');
}
