import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { shareReads } from '../../lib/shared-reads.ts';
import type { CatalogText } from '../load.ts';
import type { Config } from '../schema.ts';
import type { RevisionStore } from './revisions-store.ts';
import type { DatedRevision } from './tables.ts';

export interface CatalogNotifications {
  readonly isConnected: boolean;
  close(): Promise<void>;
}

/** The sealed secrets that the configuration can use. */
export interface FollowedSecrets {
  /** Whether this node can open all sealed secrets. */
  readonly areOpen: boolean;
  /** Reads the secrets. Returns whether those that this node can open have changed. */
  read(): Promise<boolean>;
}

export interface FollowerOptions {
  readonly store: Pick<RevisionStore, 'latest'>;
  readonly secrets: FollowedSecrets;
  /** Called if secrets have changed that no revision of the database uses. */
  readonly onSecrets?: () => void;
  /** Subscribes to notifications. `onChange` is called for each change, and when the process may have missed changes. */
  readonly listen: (onChange: () => void) => Promise<CatalogNotifications>;
  /** Returns the node's configuration with a catalog. @throws ConfigError */
  readonly parse: (catalog: CatalogText) => Config;
  /** Puts a catalog in force from an instant of the database's clock on. @throws ConfigError */
  readonly apply: (catalog: CatalogText, fromMs: number) => void;
  /** Announces the configurations that are scheduled, in order of time. */
  readonly schedule: (scheduled: readonly ScheduledConfig[]) => void;
  /** This node's estimate of the database's clock. */
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pollMs?: number;
}

export interface ScheduledConfig {
  readonly config: Config;
  /** The instant of the database's clock from which it is in force. */
  readonly fromMs: number;
}

export interface CatalogStatus {
  /** Number of the revision that this node uses; `null`: none. */
  readonly inForce: number | null;
  readonly scheduled: number | null;
  /** A revision that this node cannot use; the one before it stays in force. `null`: there is none. */
  readonly failed: { readonly number: number; readonly message: string; readonly atMs: number } | null;
}

const POLL_MS = 1_000;
/** After this many polls, an unusable revision or secret is tried again: a missing file, key or network may have become available. */
const RETRY_POLLS = 10;

/**
 * Keeps a node's configuration at the revision of the catalog that is in force, with the sealed secrets of the database. The database is
 * read after each notification, at the instant of a scheduled revision, and every second while notifications are unavailable or the last
 * read has failed. While the database is down, a scheduled revision that is known still comes into force.
 */
export class CatalogFollower {
  readonly #options: FollowerOptions;
  readonly #read: (key: string) => Promise<void>;
  #notifications: CatalogNotifications | null = null;
  #timer: NodeJS.Timeout | undefined;
  #switchTimer: NodeJS.Timeout | undefined;
  #isStale = true;
  #polls = 0;
  #inForce: number | null = null;
  /** All scheduled revisions, because the database may not be read between two of them. */
  #scheduled: readonly DatedRevision[] = [];
  #failed: CatalogStatus['failed'] = null;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#read = shareReads(async () => {
      const { current, scheduled } = await options.store.latest();
      // Secrets are read after the revisions, so that those that the revisions use are included.
      const haveSecretsChanged = await options.secrets.read();
      this.#isStale = false;
      if (current === null && haveSecretsChanged) options.onSecrets?.();
      this.#use(current, haveSecretsChanged);
      this.#expect(scheduled);
    });
  }

  get status(): CatalogStatus {
    return { inForce: this.#inForce, scheduled: this.#scheduled[0]?.number ?? null, failed: this.#failed };
  }

  /**
   * Applies the revision in force, and follows later ones from now on.
   *
   * @throws ConfigError if the revision in force cannot be used, or if the database is down
   */
  async start(): Promise<void> {
    const { listen, pollMs = POLL_MS } = this.#options;
    this.#notifications = await listen(() => void this.refresh());
    await this.#read('');
    this.#timer = setInterval(() => this.#poll(), pollMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#switchTimer);
    await this.#notifications?.close();
  }

  /** Reads the database now. If this fails, logs the failure and tries again later. */
  async refresh(): Promise<void> {
    try {
      await this.#read('');
    } catch (error) {
      // Only the first failure of an outage is logged.
      if (!this.#isStale)
        this.#options.logger.warn({ err: error }, 'failed to read the catalog; the last known one stays in force');
      this.#isStale = true;
    }
  }

  #poll(): void {
    this.#polls++;
    const isUnusable = this.#failed !== null || !this.#options.secrets.areOpen;
    const isRetry = isUnusable && this.#polls % RETRY_POLLS === 0;
    if (isRetry || this.#isStale || this.#notifications?.isConnected === false) void this.refresh();
  }

  #use(revision: DatedRevision | null, haveSecretsChanged = false): void {
    if (revision === null) return;
    const isKnown = this.#failed?.number === revision.number;
    if (revision.number === this.#inForce && !haveSecretsChanged && !isKnown) return;
    const { apply, logger } = this.#options;
    try {
      apply(catalogOf(revision), revision.inForceAtMs);
      this.#inForce = revision.number;
      if (this.#failed !== null && this.#failed.number <= revision.number) this.#failed = null;
      logger.info({ revision: revision.number }, 'the catalog has changed');
    } catch (error) {
      if (!isKnown)
        logger.error(
          { revision: revision.number, err: error },
          'a revision of the catalog cannot be used; the one before stays in force',
        );
      this.#fail(revision, error);
      if (this.#inForce === null && this.#timer === undefined) throw error;
    }
  }

  /** Announces scheduled revisions, and applies the first one when its instant comes. */
  #expect(revisions: readonly DatedRevision[]): void {
    const isRetry = revisions.some(({ number }) => number === this.#failed?.number);
    if (numbersOf(revisions) === numbersOf(this.#scheduled) && !isRetry) return;
    clearTimeout(this.#switchTimer);
    this.#scheduled = revisions;
    this.#options.schedule(revisions.flatMap((revision) => this.#parsed(revision)));
    const [next] = revisions;
    if (next === undefined) return;
    const waitMs = Math.min(Math.max(next.inForceAtMs - this.#options.clock.nowMs(), 0), TIMER_MS_MAX);
    this.#switchTimer = setTimeout(() => void this.#atSwitch(next), waitMs);
    this.#switchTimer.unref();
  }

  /** Empty if this node cannot use the revision. */
  #parsed(revision: DatedRevision): readonly ScheduledConfig[] {
    const isKnown = this.#failed?.number === revision.number;
    try {
      const config = this.#options.parse(catalogOf(revision));
      if (isKnown) this.#failed = null;
      return [{ config, fromMs: revision.inForceAtMs }];
    } catch (error) {
      if (!isKnown) {
        const { number } = revision;
        this.#options.logger.error(
          { revision: number, err: error },
          'a scheduled revision of the catalog cannot be used',
        );
      }
      this.#fail(revision, error);
      return [];
    }
  }

  async #atSwitch(revision: DatedRevision): Promise<void> {
    await this.refresh();
    const scheduled = this.#scheduled;
    if (scheduled[0]?.number !== revision.number) return;
    this.#scheduled = [];
    if (this.#isStale && this.#options.clock.nowMs() >= revision.inForceAtMs) {
      this.#use(revision);
      this.#options.schedule([]);
      this.#expect(scheduled.slice(1));
    } else {
      // Waits again: the database's clock has not reached the instant yet, or a timer cannot wait for that long.
      this.#expect(scheduled);
    }
  }

  #fail({ number }: DatedRevision, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#failed = { number, message, atMs: this.#options.clock.nowMs() };
  }
}

const numbersOf = (revisions: readonly DatedRevision[]): string => revisions.map(({ number }) => number).join();

/** Maximum delay of a Node timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Returns the catalog of a revision, which messages name by its number. */
export function catalogOf({ number, text }: Pick<DatedRevision, 'number' | 'text'>): CatalogText {
  return { name: `revision ${number}`, text };
}
