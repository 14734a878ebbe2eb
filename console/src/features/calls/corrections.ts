import type { Call, OwnCall } from '../../api/types.ts';

/** What an operator did about a call after it had ended. */
export type Correction =
  | {
      readonly kind: 'resolved';
      readonly action: NonNullable<OwnCall['resolution']>['action'];
      readonly at: string;
      /** What was charged; `null`: nothing was. */
      readonly amountYuan: string | null;
      /** What was counted on the plan; `null`: nothing was. */
      readonly tokens: number | null;
      /** Who decided it and why, for operators alone. */
      readonly note: string | null;
    }
  | { readonly kind: 'refunded'; readonly at: string; readonly amountYuan: string; readonly note: string | null };

/** The corrections of a call in the order in which they were made. */
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
  // What is not resolved has no charge to be refunded.
  return [...resolved, ...refunded];
}

function noteOf(by: string | null, memo: string | null): string | null {
  const said = [by, memo].filter((part) => part !== null && part !== '');
  return said.length === 0 ? null : said.join(': ');
}
