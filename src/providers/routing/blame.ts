/**
 * Decides whether a failed call counts against its route or against the calling account. A call can cause an error response: some servers
 * return 500 for text that they cannot decode, and a relay may forward the 401 of a server that the request names. Error responses
 * therefore count against a route only if they affect at least two accounts, or if no other account has called the route recently.
 */

/**
 * How a call failed. `connection`: nothing was sent. `operator`: the provider refused the operator's credential or account. `response`: the
 * response was an error, was invalid, or arrived too late.
 */
export type FailureKind = 'connection' | 'operator' | 'response';

/** Whether the failure is certainly the route's. `othersToo`: the provider also refused the operator in recent calls of other accounts. */
export function isOfRoute(kind: FailureKind, othersToo: boolean): boolean {
  return kind === 'connection' || (kind === 'operator' && othersToo);
}

interface RouteFailure {
  readonly accountId: string;
  readonly isOfRoute: boolean;
}

export interface FailuresInARow {
  readonly ofRoute: number;
  readonly responses: number;
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
 * Which circuit breaker opens after a failure:
 * - `route`: that of the route, which applies to all accounts
 * - `onlyAccount`: that of the account, which is the route's only recent caller; calls of others still pass and show the cause
 * - `account`: that of the account on this route
 */
export type Blame = 'route' | 'onlyAccount' | 'account' | 'nobody';

interface BlameFacts {
  readonly row: FailuresInARow;
  readonly accountResponses: number;
  readonly isAccountProbe: boolean;
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

export class RecentCallers {
  #last: { readonly accountId: string; readonly atMs: number } | null = null;
  /** Time of the latest call by any account other than the last caller. */
  #otherAtMs = Number.NEGATIVE_INFINITY;

  add(accountId: string, atMs: number): void {
    if (this.#last !== null && this.#last.accountId !== accountId) this.#otherAtMs = this.#last.atMs;
    this.#last = { accountId, atMs };
  }

  isOnly(accountId: string, sinceMs: number): boolean {
    const othersAtMs =
      this.#last?.accountId === accountId ? this.#otherAtMs : (this.#last?.atMs ?? Number.NEGATIVE_INFINITY);
    return othersAtMs < sinceMs;
  }
}
