import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Clock } from '../lib/clock.ts';
import { firstIdAt } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { NodeStatus, NodeWatch } from './node-watch.ts';
import type { DueNotice } from './notice.ts';
import type { ExpiringKey, NewNotices, NoticeStore } from './notice-store.ts';

/** Read anew at each round. */
interface FinderTerms {
  readonly routeDownAfterMs: number;
  /** How long notices are kept. */
  readonly keptMs: number;
}

interface FinderParts {
  readonly store: NoticeStore;
  readonly terms: () => FinderTerms;
  /** How notices are stored, read anew each time. */
  readonly options: () => NewNotices;
  /** What this node knows of its routes and credentials. */
  readonly status: () => NodeStatus;
  readonly watch: NodeWatch;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something was stored that may be sent. */
  readonly onNotices: () => void;
  readonly intervalMs: number;
}

/** Keys are told of when they have so many days left. */
const KEY_DAYS = [7, 1] as const;

const DAY_MS = 86_400_000;
/** Looking for keys and for what is old is a question to an index. */
const SELDOM_MS = 60_000;

/**
 * Finds what is to be told of keys that expire, and of the routes and credentials of this node, and forgets old notices: in the background,
 * slice by slice. What follows from balances and plans is found by `account-finder.ts`.
 */
export function createFinder(parts: FinderParts): BackgroundJob {
  const { store, terms, options, status, watch, clock, logger, onNotices, intervalMs } = parts;
  let seldomAtMs = Number.NEGATIVE_INFINITY;

  async function lookAtNode(): Promise<void> {
    const due = watch.look(status(), { nowMs: clock.nowMs(), routeDownAfterMs: terms().routeDownAfterMs });
    if (due.length === 0) return;
    await store.add(due, options());
    watch.said(due);
    onNotices();
  }

  async function lookSeldom(isStopping: () => boolean): Promise<void> {
    const nowMs = clock.nowMs();
    if (nowMs < seldomAtMs + SELDOM_MS) return;
    for (const days of KEY_DAYS) {
      const decide = (key: ExpiringKey) => decideKey(key, days, nowMs);
      const slice = () => store.noticeKeys(days, nowMs + days * DAY_MS, decide, options());
      // A node that stops leaves what is left to the next one: it is in the database.
      while (!isStopping() && (await slice()) === 'more') onNotices();
    }
    onNotices();
    const before = firstIdAt('ntc', nowMs - terms().keptMs);
    while (!isStopping() && (await store.forgetBefore(before)) > 0);
    seldomAtMs = nowMs;
  }

  return createBackgroundJob({
    intervalMs,
    async run(isStopping) {
      await lookAtNode();
      await lookSeldom(isStopping);
    },
    logger,
    failing: 'notices could not be looked for; it is tried again, and calls go on',
    recovered: 'notices are looked for again',
  });
}

/** With a day left only the second of the two is said. */
function decideKey(key: ExpiringKey, daysLeft: number, nowMs: number): DueNotice | null {
  const { accountId, id, name, prefix, expiresAtMs } = key;
  if (expiresAtMs <= nowMs || KEY_DAYS.some((days) => days < daysLeft && expiresAtMs <= nowMs + days * DAY_MS))
    return null;
  const expiresAt = new Date(expiresAtMs).toISOString();
  return {
    kind: 'key.expiring',
    accountId,
    subject: id,
    dedupeKey: `key.expiring ${id} ${expiresAt} ${daysLeft}`,
    quietMs: 0,
    data: { accountId, keyId: id, name, prefix, expiresAt, daysLeft },
  };
}
