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

/** When a route is taken out of service and tried again. */
export interface BreakerTerms {
  /** Failures in a row that open a breaker. */
  readonly failuresMax: number;
  /** How long an open breaker waits before it lets a probe through. */
  readonly probeAfterMs: number;
}

/** What is known of a route. */
export interface RouteStatus {
  readonly state: BreakerState;
  readonly failuresInARow: number;
  readonly lastFailure: { readonly reason: string; readonly atMs: number } | null;
  /** When an open breaker lets a probe through; `null` if it is not open. */
  readonly probeAtMs: number | null;
  /** The accounts that are not let through, because their own calls keep failing. */
  readonly accounts: readonly AccountStatus[];
}

interface AccountStatus {
  readonly accountId: string;
  readonly state: BreakerState;
  readonly failuresInARow: number;
  readonly probeAtMs: number | null;
}

/** A call under way over a route. Only its first result counts. */
export interface RoutePermit {
  /**
   * First data of a success. It closes the breakers whose probe the call is: other calls do not wait for the end of a
   * long stream.
   */
  began(): void;
  succeeded(): void;
  failed(reason: string, kind: FailureKind): void;
  /** It ended without a result that counts for the route, such as after a client abort. */
  ended(): void;
}

/**
 * Failed responses of one account count against a route if no other account has called it for this time; refusals of the
 * operator, where they met another account within it.
 */
const CALLERS_WINDOW_MS = 60_000;

/**
 * Accounts whose failures are known on a route. Beyond it the one that called least recently is forgotten, and has to fail
 * several times in a row again.
 */
export const ACCOUNT_BREAKERS_MAX = 256;

/** How long it takes until a route whose breaker has closed has all its sessions again. */
export const COMEBACK_MS = 60_000;

const healthy: RouteStatus = { state: 'closed', failuresInARow: 0, lastFailure: null, probeAtMs: null, accounts: [] };

/** A breaker that has opened or closed: that of a route, or of one account on it. */
export interface BreakerTurn {
  readonly routeId: string;
  /** `null` for the breaker of all. */
  readonly accountId: string | null;
  readonly isOpen: boolean;
  /** What the last failure was; `null` if the breaker has closed. */
  readonly reason: string | null;
}

/**
 * The health of routes, by the results of the calls over them. A route has a breaker for all, and one for each account whose
 * calls keep failing there while those of others succeed; `blame.ts` decides which of them a failure opens. Calls never wait
 * for a probe: they take another route.
 */
export class RouteHealth {
  readonly #clock: Clock;
  readonly #terms: () => BreakerTerms;
  readonly #onTurn: (turn: BreakerTurn) => void;
  readonly #routes = new Map<string, RouteBreakers>();

  /** `onTurn` hears of each breaker that opens, and that closes after it was open; not of probes that fail. */
  constructor(clock: Clock, terms: () => BreakerTerms, onTurn: (turn: BreakerTurn) => void = () => undefined) {
    this.#clock = clock;
    this.#terms = terms;
    this.#onTurn = onTurn;
  }

  status(routeId: string): RouteStatus {
    return this.#routes.get(routeId)?.status() ?? healthy;
  }

  /** Whether a call of the account is let through over a route now. */
  allows(routeId: string, accountId: string): boolean {
    return this.#routes.get(routeId)?.allows(accountId) ?? true;
  }

  /** When an account that is not let through may try again; now, if a probe is under way. */
  retryAtMs(routeId: string, accountId: string): number {
    return this.#routes.get(routeId)?.retryAtMs(accountId) ?? this.#clock.nowMs();
  }

  /** Whether calls of this account alone are not let through, and as far as is known the route is not to blame. */
  isClosedForAccountOnly(routeId: string, accountId: string): boolean {
    return this.#routes.get(routeId)?.isClosedForAccountOnly(accountId) ?? false;
  }

  /** The share of its sessions that a route serves: from 0 to 1 while they come back after it was out of service. */
  sessionShare(routeId: string): number {
    return this.#routes.get(routeId)?.sessionShare() ?? 1;
  }

  /** Lets a call through over a route; `null` if a breaker is open. */
  enter(routeId: string, accountId: string): RoutePermit | null {
    let route = this.#routes.get(routeId);
    if (route === undefined) {
      route = new RouteBreakers(this.#clock, this.#terms, (turn) => this.#onTurn({ routeId, ...turn }));
      this.#routes.set(routeId, route);
    }
    return route.enter(accountId);
  }

  /** Forgets the routes that a new configuration no longer has. */
  keepOnly(routeIds: ReadonlySet<string>): void {
    for (const routeId of this.#routes.keys()) {
      if (!routeIds.has(routeId)) this.#routes.delete(routeId);
    }
  }
}

/** What is known of an account on a route if its calls have failed. */
interface AccountHealth {
  readonly breaker: Breaker;
  /** Failed responses in a row. */
  responses: number;
}

class RouteBreakers {
  readonly #clock: Clock;
  readonly #terms: () => BreakerTerms;
  readonly #onTurn: (turn: Omit<BreakerTurn, 'routeId'>) => void;
  readonly #shared = new Breaker();
  /** Made at the first failure: most routes never need it, and it takes 20 KB. */
  #accounts: LRUCache<string, AccountHealth> | null = null;
  readonly #callers = new RecentCallers();
  /** The accounts whose calls met a refusal of the operator since the last success. */
  #refused = new RecentCallers();
  #row: FailuresInARow = noFailures;
  #lastFailure: RouteStatus['lastFailure'] = null;
  /**
   * The account that was the only caller when its failures opened its breaker; the route shows this until another
   * result.
   */
  #onlyAccountId: string | null = null;
  /** When the breaker for all closed last. */
  #closedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, terms: () => BreakerTerms, onTurn: (turn: Omit<BreakerTurn, 'routeId'>) => void) {
    this.#clock = clock;
    this.#terms = terms;
    this.#onTurn = onTurn;
  }

  status(): RouteStatus {
    const own = this.#onlyAccountId === null ? undefined : this.#accounts?.get(this.#onlyAccountId);
    const { state, probeAtMs } = this.#shared.state === 'closed' && own !== undefined ? own.breaker : this.#shared;
    return {
      state,
      failuresInARow: this.#row.ofRoute + this.#row.responses,
      lastFailure: this.#lastFailure,
      probeAtMs,
      // Least recently called first.
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
    const call: CallUnderWay = {
      accountId,
      shared: this.#shared.enter(accountId, nowMs),
      own: this.#accounts?.get(accountId)?.breaker.enter(accountId, nowMs) ?? null,
      openingsBefore: this.#openingsOf(accountId),
    };
    return new Permit(this, call);
  }

  began({ accountId, shared, own }: CallUnderWay): void {
    const isOwnProbe = own?.isProbe === true;
    if (shared.isProbe || (isOwnProbe && this.#onlyAccountId === accountId)) this.#closeShared();
    if (isOwnProbe) this.#closeAccount(accountId);
  }

  succeeded(call: CallUnderWay): void {
    if (!call.shared.isOutdated) this.#closeShared();
    if (!this.#isOutdatedForAccount(call)) this.#closeAccount(call.accountId);
  }

  failed(call: CallUnderWay, reason: string, kind: FailureKind): void {
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
      // Failed responses are evidence against the route only where they come from a second account.
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
    if (wasClosed) this.#onTurn({ accountId, isOpen: true, reason: this.#lastFailure?.reason ?? null });
  }

  #close(breaker: Breaker, accountId: string | null): void {
    const wasClosed = breaker.state === 'closed';
    breaker.close();
    if (!wasClosed) this.#onTurn({ accountId, isOpen: false, reason: null });
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
    // An account whose breaker has opened stays known: calls that began before that must not count later.
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

  #isOutdatedForAccount({ accountId, openingsBefore }: CallUnderWay): boolean {
    return this.#openingsOf(accountId) !== openingsBefore;
  }
}

/** A call that the breakers of a route have let through. */
interface CallUnderWay {
  readonly accountId: string;
  readonly shared: BreakerPermit;
  /** `null` if no call of the account had failed. */
  readonly own: BreakerPermit | null;
  /** How often the breaker of the account had opened. */
  readonly openingsBefore: number;
}

/** Its first result counts. */
class Permit implements RoutePermit {
  readonly #breakers: RouteBreakers;
  readonly #call: CallUnderWay;
  #isOver = false;

  constructor(breakers: RouteBreakers, call: CallUnderWay) {
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
