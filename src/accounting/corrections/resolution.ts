import type { CallNotes, CallStatus } from '../calls/call-outcome.ts';

export type Resolution =
  | { readonly action: 'charge'; readonly chargeNano: bigint }
  | { readonly action: 'count'; readonly tokens: number }
  | { readonly action: 'release' };

export interface ResolvableCall {
  readonly status: CallStatus;
  readonly context: string;
  readonly chargeNano: bigint | null;
  /** Maximum of the charge; `null` on a plan. */
  readonly reservedNano: bigint | null;
  readonly notes: CallNotes | null;
}

export type ResolutionRefusal =
  | 'ended'
  | 'resolved_otherwise'
  | 'charge_on_plan'
  | 'charge_above_reserved'
  | 'tokens_without_plan'
  | 'tokens_unknown'
  | 'tokens_above_reserved';

type ResolutionVerdict = 'resolve' | 'repeated' | { readonly refusal: ResolutionRefusal };

/** Decides on a resolution. A repeat changes nothing; a different one is refused. A call that ended by itself cannot be resolved. */
export function decideResolution(call: ResolvableCall, resolution: Resolution): ResolutionVerdict {
  if (call.status === 'resolved') {
    return isSameResolution(call, resolution) ? 'repeated' : { refusal: 'resolved_otherwise' };
  }
  if (call.status !== 'unresolved') return { refusal: 'ended' };
  const refusal = refusalOf(call, resolution);
  return refusal === null ? 'resolve' : { refusal };
}

function refusalOf(call: ResolvableCall, resolution: Resolution): ResolutionRefusal | null {
  const isOnPlan = call.context === 'coding';
  switch (resolution.action) {
    case 'release':
      return null;
    case 'charge':
      if (isOnPlan) return 'charge_on_plan';
      return resolution.chargeNano > (call.reservedNano ?? 0n) ? 'charge_above_reserved' : null;
    case 'count': {
      if (!isOnPlan) return 'tokens_without_plan';
      const reserved = call.notes?.reservedTokens;
      if (reserved === undefined) return 'tokens_unknown';
      return resolution.tokens > reserved.tokens ? 'tokens_above_reserved' : null;
    }
  }
}

function isSameResolution({ chargeNano, notes }: ResolvableCall, resolution: Resolution): boolean {
  const first = notes?.resolution;
  if (first?.action !== resolution.action) return false;
  if (resolution.action === 'charge') return chargeNano === resolution.chargeNano;
  return resolution.action === 'release' || first.tokens === resolution.tokens;
}
