import type { Principal } from '../../accounting/accounts/principals.ts';
import type { Remaining, ShownBudget } from '../../accounting/reservations/reservation.ts';
import type { EndpointPolicy } from '../call-request.ts';
import type { RewrittenInput } from '../rewritten-input.ts';
import type { Settings } from '../settings.ts';
import type { TranslatedInput } from '../translated-input.ts';
import { bodyHeaders, budgetHeaders, callHeaders, modelHeader } from './call-headers.ts';

interface ShownCall {
  readonly callId: string;
  readonly policy: EndpointPolicy;
  readonly settings: Settings;
  readonly principal: Pick<Principal, 'seesBalance'>;
  readonly translation: TranslatedInput | null;
  readonly rewriting: RewrittenInput | null;
  readonly model: { readonly id: string };
  /** `null`: the requested model has no fallbacks, so it serves the call. */
  readonly fallbackTerms: object | null;
}

interface ShownState {
  readonly remaining: Remaining;
  readonly chargeNano: bigint | null;
  readonly hasFailed: boolean;
  readonly budgets: readonly ShownBudget[];
}

/** The gateway's headers of a call's response. Those of a non-streaming response show the state after settlement. */
export function shownHeaders(
  call: ShownCall,
  { remaining, chargeNano, hasFailed, budgets }: ShownState,
): Readonly<Record<string, string>> {
  const { callId, policy, settings, principal, translation, rewriting } = call;
  const served = {
    ...((translation ?? rewriting) !== null && bodyHeaders(call)),
    ...(call.fallbackTerms !== null && !hasFailed && modelHeader(call.model)),
  };
  if (!settings.config.server.callHeaders) return served;
  const isOfPlan = remaining !== null && 'calls' in remaining;
  // Some keys may not see the balance.
  const own = {
    ...served,
    ...callHeaders(callId, chargeNano, isOfPlan || principal.seesBalance ? remaining : null),
    ...(policy.context === 'balance' && budgetHeaders(budgets, chargeNano ?? 0n)),
  };
  // If a limit of the plan refuses the call, the error contains its own plan headers.
  if (hasFailed || policy.operation.planHeaders === undefined) return own;
  return { ...own, ...policy.operation.planHeaders(isOfPlan ? remaining.windows : [], false) };
}
