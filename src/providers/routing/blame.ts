/**
 * Decides whether failures of calls over a route count against the route or against the account that calls it. A
 * provider that cannot be reached fails for all. A failed response may be caused by the call: some servers return 500 for a
 * text that they cannot decode, any model can be made to think for longer than the time limit, and a relay may pass on the
 * 401 of a server that the request itself names. So failed responses count against a route only where they come from at least
 * two accounts, or where no other account has called it lately.
 */

/**
 * What failed: nothing could be sent, the provider refused the operator's credential or account, or the response was an error,
 * broken, or too late.
 */
export type FailureKind = 'connection' | 'operator' | 'response';

/**
 * Whether no call can have caused a failure. `othersToo`: another account has met a refusal of the operator lately, and no call
 * has succeeded since. Without it such a refusal is a failed response like any other.
 */
export function isOfRoute(kind: FailureKind, othersToo: boolean): boolean {
  return kind === 'connection' || (kind === 'operator' && othersToo);
}

interface RouteFailure {
  readonly accountId: string;
  readonly isOfRoute: boolean;
}

/** The failures since the last success on a route. */
export interface FailuresInARow {
  /** Failures that no call can have caused. */
  readonly ofRoute: number;
  readonly responses: number;
  /** The only account that they come from. */
  readonly accountId: string | null;
  readonly isFromSeveralAccounts: boolean;
}

export const noFailures: FailuresInARow = {
  ofRoute: 0,
  responses: 0,
  accountId: null,
  isFromSeveralAccounts: false,
};

export function addFailure(row: FailuresInARow, { accountId, isOfRoute }: RouteFailure): FailuresInARow {
  const isFromAnother = row.accountId !== null && row.accountId !== accountId;
  return {
    ofRoute: row.ofRoute + (isOfRoute ? 1 : 0),
    responses: row.responses + (isOfRoute ? 0 : 1),
    accountId: row.accountId ?? accountId,
    isFromSeveralAccounts: row.isFromSeveralAccounts || isFromAnother,
  };
}

/**
 * - `route`: the breaker of the route opens for all.
 * - `onlyAccount`: so far the route fails for the only account that calls it. The breaker of the account opens; calls
 *   of another account are let through, and show whether the route or the account is to blame.
 * - `account`: the breaker of the account on this route opens.
 * - `nobody`: no breaker opens.
 */
export type Blame = 'route' | 'onlyAccount' | 'account' | 'nobody';

interface BlameFacts {
  /** Includes the failure that is judged. */
  readonly row: FailuresInARow;
  /** Failed responses in a row of the account that it comes from. */
  readonly accountResponses: number;
  /** Whether it was the probe of the breaker of the account. */
  readonly isAccountProbe: boolean;
  /** Whether no other account has called the route lately. */
  readonly isOnlyCaller: boolean;
  readonly failuresMax: number;
}

export function blame({ row, accountResponses, isAccountProbe, isOnlyCaller, failuresMax }: BlameFacts): Blame {
  const { ofRoute, responses, isFromSeveralAccounts } = row;
  if (ofRoute + (isFromSeveralAccounts ? responses : 0) >= failuresMax) return 'route';
  const isAlone = isOnlyCaller && !isFromSeveralAccounts;
  if (isAlone && ofRoute + responses >= failuresMax) return 'onlyAccount';
  if (!isAccountProbe && accountResponses < failuresMax) return 'nobody';
  return isAlone ? 'onlyAccount' : 'account';
}

/** Remembers who has called a route lately, as far as is needed: whether an account is the only one. */
export class RecentCallers {
  #last: { readonly accountId: string; readonly atMs: number } | null = null;
  /** When an account other than the last one called last. */
  #otherAtMs = Number.NEGATIVE_INFINITY;

  add(accountId: string, atMs: number): void {
    if (this.#last !== null && this.#last.accountId !== accountId) this.#otherAtMs = this.#last.atMs;
    this.#last = { accountId, atMs };
  }

  /** Whether no other account has called since. */
  isOnly(accountId: string, sinceMs: number): boolean {
    const othersAtMs =
      this.#last?.accountId === accountId ? this.#otherAtMs : (this.#last?.atMs ?? Number.NEGATIVE_INFINITY);
    return othersAtMs < sinceMs;
  }
}
