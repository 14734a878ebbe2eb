import type { Route } from '../api/types.ts';

/** Whether a route has a problem that is not intentional. */
export function isUnhealthy({ state, accountBreakers, credentials }: Route): boolean {
  return (
    state === 'open' ||
    state === 'probing' ||
    accountBreakers.some((breaker) => breaker.state !== 'closed') ||
    credentials.some((credential) => credential.state !== 'active')
  );
}
