import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.ts';
import {
  addFailure,
  type Blame,
  blame,
  type FailureKind,
  type FailuresInARow,
  isOfRoute,
  noFailures,
  RecentCallers,
} from './blame.ts';
import { Breaker, type BreakerPermit, type BreakerState } from './breaker.ts';

export interface BreakerTerms {
  readonly failuresMax: number;
  readonly probeAfterMs: number;
}

export interface RouteStatus {
  readonly state: BreakerState;
  readonly failuresInARow: number;
  readonly lastFailure: { readonly reason: string; readonly atMs: number } | null;
  readonly probeAtMs: number | null;
  readonly accounts: readonly AccountStatus[];
}

interface AccountStatus {
  readonly accountId: string;
  readonly state: BreakerState;
  readonly failuresInARow: number;
  readonly probeAtMs: number | null;
}

/** A call in flight on a route. Only the first result that is reported counts. */
export interface RoutePermit {
  /** Called when a success begins. If the call is a probe, this closes the breaker, so a long stream does not delay it. */
  began(): void;
  succeeded(): void;
  failed(reason: string, kind: FailureKind): void;
  /** Called if the call ends without a result for the route, for example after a client abort. */
  ended(): void;
}

/** How long a call counts as recent. If other accounts called recently, only failures of two accounts count against the route. */
const CALLERS_WINDOW_MS = 60_000;

/** Maximum number of accounts that are tracked per route. The least recently active one is forgotten. */
export const ACCOUNT_BREAKERS_MAX = 256;

/** After a route's breaker closes, sessions return to the route gradually over this time. */
export const COMEBACK_MS = 60_000;

const healthy: RouteStatus = { state: 'closed', failuresInARow: 0, lastFailure: null, probeAtMs: null, accounts: [] };

export interface BreakerTransition {
  readonly routeId: string;
  readonly accountId: string | null;
  readonly isOpen: boolean;
  readonly reason: string | null;
}

/**
 * Tracks the health of routes by the results of their calls. A route has one breaker for all accounts, and one for each account whose calls
 * keep failing while others succeed. `blame.ts` decides which breaker a failure opens. Calls never wait for a probe; they use another
 * route.
 */
export class RouteHealth {
  readonly #clock: Clock;
  readonly #terms: () => BreakerTerms;
  readonly #onTransition: (transition: BreakerTransition) => void;
  readonly #routes = new Map<string, RouteBreakers>();

  /** @param onTransition called when a breaker opens and when it closes again, but not when a probe fails */
  constructor(
    clock: Clock,
    terms: () => BreakerTerms,
    onTransition: (transition: BreakerTransition) => void = () => undefined,
  ) {
    this.#clock = clock;
    this.#terms = terms;
    this.#onTransition = onTransition;
  }

  status(routeId: string): RouteStatus {
    return this.#routes.get(routeId)?.status() ?? healthy;
  }

  allows(routeId: string, accountId: string): boolean {
    return this.#routes.get(routeId)?.allows(accountId) ?? true;
  }

  /** Returns when a blocked account may try again: now, if a probe is in flight. */
  retryAtMs(routeId: string, accountId: string): number {
    return this.#routes.get(routeId)?.retryAtMs(accountId) ?? this.#clock.nowMs();
  }

  /** Whether the route is blocked only for this account, so that its calls may be the cause. */
  isClosedForAccountOnly(routeId: string, accountId: string): boolean {
    return this.#routes.get(routeId)?.isClosedForAccountOnly(accountId) ?? false;
  }

  /** Returns the share of its sessions that a route serves. After an outage, it rises gradually from 0 to 1. */
  sessionShare(routeId: string): number {
    return this.#routes.get(routeId)?.sessionShare() ?? 1;
  }

  enter(routeId: string, accountId: string): RoutePermit | null {
    let route = this.#routes.get(routeId);
    if (route === undefined) {
      route = new RouteBreakers(this.#clock, this.#terms, (transition) =>
        this.#onTransition({ routeId, ...transition }),
      );
      this.#routes.set(routeId, route);
    }
    return route.enter(accountId);
  }

  keepOnly(routeIds: ReadonlySet<string>): void {
    for (const routeId of this.#routes.keys()) {
      if (!routeIds.has(routeId)) this.#routes.delete(routeId);
    }
  }
}

interface AccountHealth {
  readonly breaker: Breaker;
  responses: number;
}

class RouteBreakers {
  readonly #clock: Clock;
  readonly #terms: () => BreakerTerms;
  readonly #onTransition: (transition: Omit<BreakerTransition, 'routeId'>) => void;
  readonly #shared = new Breaker();
  /** Breakers of accounts. The cache takes 20 KB and is created at the first failure, because most routes never need it. */
  #accounts: LRUCache<string, AccountHealth> | null = null;
  readonly #callers = new RecentCallers();
  #refused = new RecentCallers();
  #row: FailuresInARow = noFailures;
  #lastFailure: RouteStatus['lastFailure'] = null;
  /** The account whose breaker opened while it was the only caller. The route's status shows this breaker until the next result. */
  #onlyAccountId: string | null = null;
  #closedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    clock: Clock,
    terms: () => BreakerTerms,
    onTransition: (transition: Omit<BreakerTransition, 'routeId'>) => void,
  ) {
    this.#clock = clock;
    this.#terms = terms;
    this.#onTransition = onTransition;
  }

  status(): RouteStatus {
    const own = this.#onlyAccountId === null ? undefined : this.#accounts?.get(this.#onlyAccountId);
    const { state, probeAtMs } = this.#shared.state === 'closed' && own !== undefined ? own.breaker : this.#shared;
    return {
      state,
      failuresInARow: this.#row.ofRoute + this.#row.responses,
      lastFailure: this.#lastFailure,
      probeAtMs,
      // Entries are in the order of activity, the least recently active account first.
      accounts: [...(this.#accounts?.entries() ?? [])]
        .reverse()
        .filter(([, { breaker }]) => breaker.state !== 'closed')
        .map(([accountId, { breaker, responses }]) => ({
          accountId,
          state: breaker.state,
          failuresInARow: responses,
          probeAtMs: breaker.probeAtMs,
        })),
    };
  }

  allows(accountId: string): boolean {
    const nowMs = this.#clock.nowMs();
    const { probeAfterMs } = this.#terms();
    const own = this.#accounts?.get(accountId)?.breaker;
    if (this.#shared.letsThroughAtMs(accountId, probeAfterMs) > nowMs) return false;
    return own === undefined || own.letsThroughAtMs(accountId, probeAfterMs) <= nowMs;
  }

  sessionShare(): number {
    return Math.min(1, (this.#clock.nowMs() - this.#closedAtMs) / COMEBACK_MS);
  }

  retryAtMs(accountId: string): number {
    const nowMs = this.#clock.nowMs();
    const own = this.#accounts?.get(accountId)?.breaker.probeAtMs;
    return Math.max(this.#shared.probeAtMs ?? nowMs, own ?? nowMs);
  }

  isClosedForAccountOnly(accountId: string): boolean {
    const own = this.#accounts?.get(accountId)?.breaker.state ?? 'closed';
    return own !== 'closed' && this.#shared.state === 'closed' && this.#onlyAccountId !== accountId;
  }

  enter(accountId: string): RoutePermit | null {
    if (!this.allows(accountId)) return null;
    const nowMs = this.#clock.nowMs();
    this.#callers.add(accountId, nowMs);
    const call: CallInFlight = {
      accountId,
      shared: this.#shared.enter(accountId, nowMs),
      own: this.#accounts?.get(accountId)?.breaker.enter(accountId, nowMs) ?? null,
      openingsBefore: this.#openingsOf(accountId),
    };
    return new Permit(this, call);
  }

  began({ accountId, shared, own }: CallInFlight): void {
    const isOwnProbe = own?.isProbe === true;
    if (shared.isProbe || (isOwnProbe && this.#onlyAccountId === accountId)) this.#closeShared();
    if (isOwnProbe) this.#closeAccount(accountId);
  }

  succeeded(call: CallInFlight): void {
    if (!call.shared.isOutdated) this.#closeShared();
    if (!this.#isOutdatedForAccount(call)) this.#closeAccount(call.accountId);
  }

  failed(call: CallInFlight, reason: string, kind: FailureKind): void {
    const { accountId, shared, own } = call;
    const { failuresMax, probeAfterMs } = this.#terms();
    const nowMs = this.#clock.nowMs();
    const probeAtMs = nowMs + probeAfterMs;
    this.#lastFailure = { reason, atMs: nowMs };
    if (kind === 'operator') this.#refused.add(accountId, nowMs);
    const isOfAll = isOfRoute(kind, !this.#refused.isOnly(accountId, nowMs - CALLERS_WINDOW_MS));

    const isOwnProbe = own?.isProbe === true;
    const countsForAccount = !this.#isOutdatedForAccount(call) && own?.mayBlame !== false;
    if (countsForAccount && !isOfAll) this.#healthOf(accountId).responses++;
    let verdict: Blame = isOwnProbe ? 'account' : 'nobody';
    if (shared.isProbe) {
      this.#row = addFailure(this.#row, { accountId, isOfRoute: isOfAll });
      // An error response of a probe counts against the route only if another account caused the breaker to open.
      const bound = this.#shared.boundAccountId;
      const isConfirmed = isOfAll || (bound !== null && bound !== accountId);
      this.#open(this.#shared, null, probeAtMs, isConfirmed ? null : accountId);
    } else if (shared.mayBlame) {
      this.#row = addFailure(this.#row, { accountId, isOfRoute: isOfAll });
      verdict = blame({
        row: this.#row,
        accountResponses: countsForAccount ? (this.#accounts?.get(accountId)?.responses ?? 0) : 0,
        isAccountProbe: isOwnProbe,
        isOnlyCaller: this.#callers.isOnly(accountId, nowMs - CALLERS_WINDOW_MS),
        failuresMax,
      });
      if (verdict === 'route') this.#open(this.#shared, null, probeAtMs);
      this.#onlyAccountId = verdict === 'onlyAccount' ? accountId : null;
      if (verdict === 'onlyAccount') this.#shared.outdateCalls();
    }
    if (isOwnProbe || verdict === 'account' || verdict === 'onlyAccount') {
      this.#open(this.#healthOf(accountId).breaker, accountId, probeAtMs);
    }
  }

  #open(breaker: Breaker, accountId: string | null, probeAtMs: number, onlyFor: string | null = null): void {
    const wasClosed = breaker.state === 'closed';
    breaker.open(probeAtMs, onlyFor);
    if (wasClosed) this.#onTransition({ accountId, isOpen: true, reason: this.#lastFailure?.reason ?? null });
  }

  #close(breaker: Breaker, accountId: string | null): void {
    const wasClosed = breaker.state === 'closed';
    breaker.close();
    if (!wasClosed) this.#onTransition({ accountId, isOpen: false, reason: null });
  }

  #closeShared(): void {
    if (this.#shared.state !== 'closed') this.#closedAtMs = this.#clock.nowMs();
    this.#close(this.#shared, null);
    this.#row = noFailures;
    this.#refused = new RecentCallers();
    this.#onlyAccountId = null;
  }

  #closeAccount(accountId: string): void {
    const account = this.#accounts?.get(accountId);
    if (account === undefined) return;
    account.responses = 0;
    this.#close(account.breaker, accountId);
    // A breaker that has opened before is kept: its number of openings shows which calls are outdated.
    if (account.breaker.openings === 0) this.#accounts?.delete(accountId);
  }

  #healthOf(accountId: string): AccountHealth {
    let account = this.#accounts?.get(accountId);
    if (account === undefined) {
      account = { breaker: new Breaker(), responses: 0 };
      this.#accounts ??= new LRUCache({ max: ACCOUNT_BREAKERS_MAX });
      this.#accounts.set(accountId, account);
    }
    return account;
  }

  #openingsOf(accountId: string): number {
    return this.#accounts?.get(accountId)?.breaker.openings ?? 0;
  }

  #isOutdatedForAccount({ accountId, openingsBefore }: CallInFlight): boolean {
    return this.#openingsOf(accountId) !== openingsBefore;
  }
}

interface CallInFlight {
  readonly accountId: string;
  readonly shared: BreakerPermit;
  /** Permit of the account's own breaker; `null` if the account had no failures when the call began. */
  readonly own: BreakerPermit | null;
  readonly openingsBefore: number;
}

class Permit implements RoutePermit {
  readonly #breakers: RouteBreakers;
  readonly #call: CallInFlight;
  #isOver = false;

  constructor(breakers: RouteBreakers, call: CallInFlight) {
    this.#breakers = breakers;
    this.#call = call;
  }

  began(): void {
    if (!this.#isOver) this.#breakers.began(this.#call);
  }

  succeeded(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#breakers.succeeded(this.#call);
    this.#leave();
  }

  failed(reason: string, kind: FailureKind): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#breakers.failed(this.#call, reason, kind);
    this.#leave();
  }

  ended(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leave();
  }

  #leave(): void {
    this.#call.shared.end();
    this.#call.own?.end();
  }
}
