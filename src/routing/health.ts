import type { Clock } from '../lib/clock.ts';

/** When a route is taken out of service and tried again (design 9). */
export interface BreakerTerms {
  /** Failures in a row that open the breaker. */
  readonly failuresMax: number;
  /** How long an open breaker waits before it lets one call through to see. */
  readonly probeAfterMs: number;
}

/**
 * - `closed`: calls go through.
 * - `open`: none does, until it is time for a probe.
 * - `probing`: one call is under way to see; the others wait for what becomes of it, elsewhere.
 */
export type BreakerState = 'closed' | 'open' | 'probing';

/** What is known of a route. */
export interface RouteStanding {
  readonly state: BreakerState;
  readonly failuresInARow: number;
  readonly lastFailure: { readonly reason: string; readonly atMs: number } | null;
  /** When an open breaker lets a probe through; `null` where it is not open. */
  readonly probeAtMs: number | null;
}

/** A call on its way over a route. Told once how it went. */
export interface Passage {
  /** A success has begun to arrive. The others need not wait for the end of a long stream that is a probe. */
  began(): void;
  succeeded(): void;
  /** The route is to blame: no connection, no answer in time, or an answer of 5xx. */
  failed(reason: string): void;
  /** It ended without saying anything about the route, as where the client left. */
  ended(): void;
}

/**
 * The health of routes, by what became of the calls over them. A breaker opens after some failures in a row; after a while
 * it lets one call through, which closes it or opens it again. Calls never wait for a probe: they take another route.
 */
export interface RouteHealth {
  standing(routeId: string): RouteStanding;
  /** Whether the breaker of a route lets a call through now. */
  allows(routeId: string): boolean;
  /** Enters a route; `null` where its breaker does not let the call through. */
  enter(routeId: string): Passage | null;
  /** Forgets the routes that a new configuration no longer has. */
  keepOnly(routeIds: ReadonlySet<string>): void;
}

export function createRouteHealth(clock: Clock, terms: () => BreakerTerms): RouteHealth {
  const breakers = new Map<string, Breaker>();
  const healthy: RouteStanding = { state: 'closed', failuresInARow: 0, lastFailure: null, probeAtMs: null };
  return {
    standing: (routeId) => breakers.get(routeId)?.standing() ?? healthy,
    allows: (routeId) => breakers.get(routeId)?.allows(clock.nowMs()) ?? true,
    enter(routeId) {
      let breaker = breakers.get(routeId);
      if (breaker === undefined) {
        breaker = new Breaker();
        breakers.set(routeId, breaker);
      }
      return breaker.enter(clock, terms);
    },
    keepOnly(routeIds) {
      for (const routeId of breakers.keys()) {
        if (!routeIds.has(routeId)) breakers.delete(routeId);
      }
    },
  };
}

class Breaker {
  #failuresInARow = 0;
  #lastFailure: RouteStanding['lastFailure'] = null;
  /** Set while the breaker is not closed. */
  #probeAtMs: number | null = null;
  #isProbing = false;
  /** How often the breaker has opened; calls from before the last time are outdated. */
  #openings = 0;

  standing(): RouteStanding {
    const state = this.#probeAtMs === null ? 'closed' : this.#isProbing ? 'probing' : 'open';
    return {
      state,
      failuresInARow: this.#failuresInARow,
      lastFailure: this.#lastFailure,
      probeAtMs: state === 'open' ? this.#probeAtMs : null,
    };
  }

  allows(nowMs: number): boolean {
    return this.#probeAtMs === null || (!this.#isProbing && nowMs >= this.#probeAtMs);
  }

  enter(clock: Clock, terms: () => BreakerTerms): Passage | null {
    if (!this.allows(clock.nowMs())) return null;
    const openings = this.#openings;
    /** Whether this call is the one under way to see. */
    let isProbe = this.#probeAtMs !== null;
    if (isProbe) this.#isProbing = true;
    let isTold = false;
    const once = (tell: () => void): void => {
      if (isTold) return;
      isTold = true;
      if (isProbe) this.#isProbing = false;
      tell();
    };
    /** A call that began before the breaker opened says nothing about what came after. */
    const isOutdated = (): boolean => openings !== this.#openings;
    return {
      began: () => {
        if (isTold || !isProbe) return;
        isProbe = false;
        this.#isProbing = false;
        this.#close();
      },
      succeeded: () =>
        once(() => {
          if (!isOutdated()) this.#close();
        }),
      failed: (reason) =>
        once(() => {
          const { failuresMax, probeAfterMs } = terms();
          const nowMs = clock.nowMs();
          this.#lastFailure = { reason, atMs: nowMs };
          if (isOutdated()) return;
          this.#failuresInARow++;
          if (isProbe || this.#failuresInARow >= failuresMax) {
            this.#probeAtMs = nowMs + probeAfterMs;
            this.#openings++;
          }
        }),
      ended: () => once(() => undefined),
    };
  }

  #close(): void {
    this.#failuresInARow = 0;
    this.#probeAtMs = null;
  }
}
