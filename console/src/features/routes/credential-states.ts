import type { Route } from '../../api/types.ts';

type CredentialStatus = Route['credentials'][number];

const SEVERITY: Readonly<Record<CredentialStatus['state'], number>> = { active: 0, resting: 1, refused: 2, missing: 3 };

/** A credential that rests for one model can be active for another. The worst state counts. */
export function worstStates(routes: readonly Route[], provider: string): CredentialStatus[] {
  const worst = new Map<string, CredentialStatus>();
  for (const route of routes.filter((each) => each.provider === provider)) {
    for (const status of route.credentials) {
      const found = worst.get(status.name);
      if (found === undefined || SEVERITY[status.state] > SEVERITY[found.state]) worst.set(status.name, status);
    }
  }
  return [...worst.values()];
}
