import type { Route } from '../api/types.ts';

/** Whether something is wrong with a route that nobody has wanted so. */
export function isUnhealthy({ state, accountBreakers, credentials }: Route): boolean {
  return (
    state === 'open' ||
    state === 'probing' ||
    accountBreakers.some((breaker) => breaker.state !== 'closed') ||
    credentials.some((credential) => credential.state !== 'active')
  );
}
