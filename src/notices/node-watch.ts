import type { DueNotice } from './notice.ts';

/** What a node knows by itself: the state of its routes, and of the credentials of providers. */
export interface NodeStatus {
  readonly routes: readonly WatchedRoute[];
  readonly credentials: readonly WatchedCredential[];
}

interface WatchedRoute {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  /** Whether its breaker is closed. */
  readonly isUp: boolean;
  readonly reason: string | null;
}

interface WatchedCredential {
  readonly provider: string;
  /** As the configuration names it; never its value. */
  readonly name: string;
  readonly isRefused: boolean;
  readonly status: number | null;
}

interface WatchTerms {
  readonly nowMs: number;
  /** How long a route has to be down before it is said. */
  readonly routeDownAfterMs: number;
}

/** Nodes see the same outage, each a little later, and a route may come and go: it is said once in this time. */
const QUIET_MS = 3_600_000;

interface Trouble {
  readonly sinceMs: number;
  isSaid: boolean;
}

/**
 * Watches a node: tells of a route that stays down, and of a credential that its provider refuses, once until it works again.
 * It looks at what the node knows anyway, from time to time, so that no call has to tell it anything. It remembers what is
 * in trouble now, of the routes and credentials of the configuration alone.
 */
export class NodeWatch {
  readonly #troubles = new Map<string, Trouble>();
  readonly #nodeId: string;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  /** What is due now. It comes again at each look until `said` is called for it. */
  look({ routes, credentials }: NodeStatus, { nowMs, routeDownAfterMs }: WatchTerms): DueNotice[] {
    const due: DueNotice[] = [];
    const present = new Set<string>();
    const trouble = (subject: string, isTrouble: boolean): Trouble | null => {
      if (!isTrouble) return null;
      present.add(subject);
      let known = this.#troubles.get(subject);
      if (known === undefined) {
        known = { sinceMs: nowMs, isSaid: false };
        this.#troubles.set(subject, known);
      }
      return known;
    };
    for (const route of routes) {
      const known = trouble(`route.down ${route.id}`, !route.isUp);
      if (known === null || known.isSaid || nowMs - known.sinceMs < routeDownAfterMs) continue;
      const isModelDown = routes.every(({ model, isUp }) => model !== route.model || !isUp);
      due.push(
        this.#notice('route.down', route.id, known, {
          model: route.model,
          provider: route.provider,
          providerModel: route.providerModel,
          reason: route.reason,
          since: new Date(known.sinceMs).toISOString(),
          isModelDown,
        }),
      );
    }
    for (const { provider, name, isRefused, status } of credentials) {
      const subject = `${provider} ${name}`;
      const known = trouble(`provider.refused_account ${subject}`, isRefused);
      if (known === null || known.isSaid) continue;
      due.push(
        this.#notice('provider.refused_account', subject, known, {
          provider,
          credential: name,
          status,
          since: new Date(known.sinceMs).toISOString(),
        }),
      );
    }
    for (const subject of this.#troubles.keys()) {
      if (!present.has(subject)) this.#troubles.delete(subject);
    }
    return due;
  }

  /** These are stored, or another node has said them. */
  said(notices: readonly DueNotice[]): void {
    for (const { kind, subject } of notices) {
      const known = this.#troubles.get(`${kind} ${subject}`);
      if (known !== undefined) known.isSaid = true;
    }
  }

  #notice(
    kind: 'route.down' | 'provider.refused_account',
    subject: string,
    { sinceMs }: Trouble,
    data: DueNotice['data'],
  ): DueNotice {
    const dedupeKey = `${kind} ${subject} ${sinceMs} ${this.#nodeId}`;
    return { kind, accountId: null, subject, dedupeKey, quietMs: QUIET_MS, data };
  }
}
