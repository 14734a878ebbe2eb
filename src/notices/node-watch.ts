import type { DueNotice } from './notice.ts';

export interface NodeStatus {
  readonly routes: readonly WatchedRoute[];
  readonly credentials: readonly WatchedCredential[];
}

interface WatchedRoute {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly isUp: boolean;
  readonly reason: string | null;
}

interface WatchedCredential {
  readonly provider: string;
  /** Name of the credential in the configuration, never its value. */
  readonly name: string;
  readonly isRefused: boolean;
  readonly status: number | null;
}

interface WatchTerms {
  readonly nowMs: number;
  readonly routeDownAfterMs: number;
}

/**
 * Milliseconds between notices about one subject. Nodes detect an outage at different times, and a route may fail and recover again and
 * again.
 */
const QUIET_MS = 3_600_000;

interface Problem {
  readonly sinceMs: number;
  isNotified: boolean;
}

/**
 * Finds problems of this node. A route that stays down, or a credential that a provider refuses, causes one notice until it works again.
 * Only current problems of configured routes and credentials are remembered.
 */
export class NodeWatch {
  readonly #problems = new Map<string, Problem>();
  readonly #nodeId: string;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  /** Returns due notices; each one again until it is passed to `markStored`. */
  findDue({ routes, credentials }: NodeStatus, { nowMs, routeDownAfterMs }: WatchTerms): DueNotice[] {
    const due: DueNotice[] = [];
    const present = new Set<string>();
    const problemOf = (subject: string, isPresent: boolean): Problem | null => {
      if (!isPresent) return null;
      present.add(subject);
      let known = this.#problems.get(subject);
      if (known === undefined) {
        known = { sinceMs: nowMs, isNotified: false };
        this.#problems.set(subject, known);
      }
      return known;
    };
    for (const route of routes) {
      const known = problemOf(`route.down ${route.id}`, !route.isUp);
      if (known === null || known.isNotified || nowMs - known.sinceMs < routeDownAfterMs) continue;
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
      const known = problemOf(`provider.refused_account ${subject}`, isRefused);
      if (known === null || known.isNotified) continue;
      due.push(
        this.#notice('provider.refused_account', subject, known, {
          provider,
          credential: name,
          status,
          since: new Date(known.sinceMs).toISOString(),
        }),
      );
    }
    for (const subject of this.#problems.keys()) {
      if (!present.has(subject)) this.#problems.delete(subject);
    }
    return due;
  }

  /** Called when this or another node has stored the notices. */
  markStored(notices: readonly DueNotice[]): void {
    for (const { kind, subject } of notices) {
      const known = this.#problems.get(`${kind} ${subject}`);
      if (known !== undefined) known.isNotified = true;
    }
  }

  #notice(
    kind: 'route.down' | 'provider.refused_account',
    subject: string,
    { sinceMs }: Problem,
    data: DueNotice['data'],
  ): DueNotice {
    const dedupeKey = `${kind} ${subject} ${sinceMs} ${this.#nodeId}`;
    return { kind, accountId: null, subject, dedupeKey, quietMs: QUIET_MS, data };
  }
}
