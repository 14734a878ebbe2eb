import type { Reservations } from '../accounting/reservations/reservations.ts';
import type { Clock } from '../lib/clock.ts';
import type { EndpointPolicy } from './endpoint-policy.ts';
import { refusalError } from './refusal.ts';
import type { Settings } from './settings.ts';

/** What is known about a call before its body is read. */
interface LookRequest {
  readonly accountId: string;
  readonly keyId: string;
  readonly isKeyLimited: boolean;
  readonly policy: EndpointPolicy;
  readonly settings: Settings;
}

/**
 * Checks the balance and limits of a call before its body is read. Nothing is reserved, and no limit changes.
 *
 * @throws GatewayError the refusal that an admission would return now, whatever the body says.
 */
export type CallLook = (request: LookRequest) => Promise<void>;

export function createCallLook(reservations: Pick<Reservations, 'look'>, clock: Clock): CallLook {
  return async function look({ accountId, keyId, isKeyLimited, policy, settings }) {
    const isOnPlan = policy.context === 'coding';
    const refusal = await reservations.look({ accountId, keyId, isKeyLimited, isOnPlan });
    if (refusal !== null) throw refusalError(refusal, { policy, settings, nowMs: clock.nowMs() });
  };
}
