import type { Route } from '../api/types.ts';

/** Names a route in page addresses. */
export const routeName = ({ provider, model, providerModel }: Route): string =>
  [provider, model, providerModel].join(' ');
