import { GatewayError } from '../../errors/gateway-error.ts';
import { totalTokens } from '../../protocols/metering/usage-facts.ts';
import type { CallInput } from '../../protocols/operations/operation.ts';
import type { Route } from '../../providers/catalog/catalog.ts';
import type { CountedCall } from '../../providers/limits/limited-use.ts';
import type { RouteLimits } from '../../providers/limits/provider-limits.ts';
import type { Call } from '../call.ts';
import { retryAfter, whenText } from '../retry-after.ts';
import type { Settings } from '../settings.ts';
import type { CredentialLimits } from './failover.ts';

/** What calls have to do with the limits that operators set for providers, routes and credentials. */

/** Returns until when no call may be sent over a route because of limits; `null`: one may be sent now. */
export function routeUsedUpUntilMs(
  { id, providerId }: Pick<Route, 'id' | 'providerId'>,
  { limits, providers }: Pick<Settings, 'limits' | 'providers'>,
  nowMs: number,
): number | null {
  const ofRoute = limits === null ? null : limits.ofRoute(id);
  return ofRoute === null ? null : ofRoute.usedUpUntilMs(providers.get(providerId).credentials, nowMs);
}

export function credentialLimits(
  { credentials }: RouteLimits,
  { inputTokensEstimate }: Pick<CallInput, 'inputTokensEstimate'>,
): CredentialLimits | null {
  return credentials.size === 0 ? null : { uses: credentials, tokens: inputTokensEstimate };
}

/** Ends an attempt for the limits that counted it. Only now is it known how many tokens it used; 0 if it did not run. */
export function endCounted(
  call: Pick<Call, 'report' | 'rotation'>,
  counted: readonly CountedCall[],
  nowMs: number,
): void {
  const { outcome } = call.report;
  const tokens = outcome?.usage ? totalTokens(outcome.usage) : 0;
  // Without a credential, there is no rotation yet.
  (call.rotation as Call['rotation'] | undefined)?.ended(tokens);
  for (const each of counted) each.use.end(each, tokens, nowMs);
}

/** Every route that could serve a call has reached a limit. `freeAtMs`: when the first of them is free again. */
export function routesUsedUp(
  freeAtMs: number,
  nowMs: number,
  { localTime }: Pick<Settings, 'localTime'>,
): GatewayError {
  const headers = retryAfter(freeAtMs, nowMs);
  const next =
    headers['retry-after'] === undefined ? ` A route is free again at ${whenText(freeAtMs, nowMs, localTime)}.` : '';
  return new GatewayError('noHealthyRoute', { param: 'model', headers, message: USED_UP + next });
}

const USED_UP =
  'All routes of this model have reached a limit that the operator has set. Nothing was sent to a provider and nothing is charged.';
