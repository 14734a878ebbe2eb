import type { DueNotice } from './notice.ts';

export interface NodeStatus {
  readonly routes: readonly WatchedRoute[];
  readonly credentials: readonly WatchedCredential[];
  readonly catalog: WatchedCatalog;
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

interface WatchedCatalog {
  /** The number of the revision of the catalog that the node applies; `null`: none. */
  readonly inForce: number | null;
  /** The revision that the node cannot use. The message contains no secrets. */
  readonly failed: { readonly number: number; readonly message: string } | null;
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

/** The message of an invalid catalog has a line for each problem. */
const MESSAGE_CHARS_MAX = 1_000;

interface Problem {
  readonly sinceMs: number;
  isNotified: boolean;
}

/**
 * Finds problems of this node. A route that stays down, a credential that a provider refuses, or a revision of the catalog that the node
 * cannot use causes one notice until it works again. If a revision works again, another notice says so, because the node had other prices
 * until then. Only current problems are remembered.
 */
export class NodeWatch {
  readonly #problems = new Map<string, Problem>();
  readonly #nodeId: string;
  /** Whether the end of a problem of the catalog is to be notified. */
  #hasCatalogRecovered = false;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  /** Returns due notices; each one again until it is passed to `markStored`. */
  findDue({ routes, credentials, catalog }: NodeStatus, { nowMs, routeDownAfterMs }: WatchTerms): DueNotice[] {
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
          since: sinceOf(known),
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
          since: sinceOf(known),
        }),
      );
    }
    const { inForce, failed } = catalog;
    if (failed !== null) {
      const subject = `${failed.number} ${this.#nodeId}`;
      const known = problemOf(`catalog.failed ${subject}`, true)!;
      if (!known.isNotified) {
        const message = failed.message.slice(0, MESSAGE_CHARS_MAX);
        const data = { node: this.#nodeId, revision: failed.number, inForce, message, since: sinceOf(known) };
        due.push(this.#notice('catalog.failed', subject, known, data));
      }
    }
    for (const [subject, { isNotified }] of this.#problems) {
      if (present.has(subject)) continue;
      this.#problems.delete(subject);
      if (isNotified && subject.startsWith('catalog.failed ')) this.#hasCatalogRecovered = true;
    }
    if (failed === null && this.#hasCatalogRecovered) {
      const data = { node: this.#nodeId, revision: inForce };
      due.push(this.#notice('catalog.recovered', `${inForce} ${this.#nodeId}`, { sinceMs: nowMs }, data));
    }
    return due;
  }

  /** Called when this or another node has stored the notices. */
  markStored(notices: readonly DueNotice[]): void {
    for (const { kind, subject } of notices) {
      if (kind === 'catalog.recovered') this.#hasCatalogRecovered = false;
      const known = this.#problems.get(`${kind} ${subject}`);
      if (known !== undefined) known.isNotified = true;
    }
  }

  #notice(
    kind: 'route.down' | 'provider.refused_account' | 'catalog.failed' | 'catalog.recovered',
    subject: string,
    { sinceMs }: Pick<Problem, 'sinceMs'>,
    data: DueNotice['data'],
  ): DueNotice {
    const dedupeKey = `${kind} ${subject} ${sinceMs} ${this.#nodeId}`;
    return { kind, accountId: null, subject, dedupeKey, quietMs: QUIET_MS, data };
  }
}

function sinceOf({ sinceMs }: Problem): string {
  return new Date(sinceMs).toISOString();
}
