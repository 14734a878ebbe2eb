import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Clock } from '../lib/clock.ts';
import { firstIdAt, type Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { type AccountTerms, decideAccount } from './account-decision.ts';
import type { AccountNotices } from './account-notices.ts';
import type { SliceResult } from './finder-lock-store.ts';
import type { NodeStatus, NodeWatch } from './node-watch.ts';
import type { DueNotice } from './notice.ts';
import type { ExpiringKey, NewNotices, NoticeStore } from './notice-store.ts';

/** What decides which notices are due; read anew at each round. */
interface FinderTerms extends Omit<AccountTerms, 'nowMs'> {
  readonly routeDownAfterMs: number;
  /** How long notices are kept. */
  readonly keptMs: number;
  readonly hasMail: boolean;
}

interface FinderParts {
  readonly store: NoticeStore;
  readonly accounts: AccountNotices;
  readonly terms: () => FinderTerms;
  /** What this node knows of its routes and credentials. */
  readonly status: () => NodeStatus;
  readonly watch: NodeWatch;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Something was stored that may be sent. */
  readonly onNotices: () => void;
  readonly intervalMs?: number;
}

/** Keys are told of when they have so many days left. */
const KEY_DAYS = [7, 1] as const;

const DAY_MS = 86_400_000;
const INTERVAL_MS = 2_000;
/** Looking for keys and for what is old is a question to an index. */
const SELDOM_MS = 60_000;

/**
 * Finds what accounts and operators are told of: in the background, slice by slice, from what changed since it last looked. No
 * call waits for it, or tells it anything.
 */
export function createFinder(parts: FinderParts): BackgroundJob {
  const { store, accounts, terms, status, watch, clock, ids, logger, onNotices, intervalMs = INTERVAL_MS } = parts;
  let seldomAtMs = Number.NEGATIVE_INFINITY;

  const options = (): NewNotices => ({
    atMs: clock.nowMs(),
    nextId: () => ids.next('ntc'),
    hasMail: terms().hasMail,
  });

  /** A node that stops leaves what is left to the next one: it is in the database. */
  async function all(slice: () => Promise<SliceResult>, isStopping: () => boolean): Promise<void> {
    while (!isStopping() && (await slice()) === 'more') {
      onNotices();
    }
  }

  /** What is due is stored after each slice, and what an earlier round has left, too. */
  async function lookAtAccounts(isStopping: () => boolean): Promise<void> {
    await accounts.queueMarked();
    const changes = async (): Promise<SliceResult> => {
      const nowMs = clock.nowMs();
      const found = await accounts.noticeChanges(
        (facts, states) => decideAccount(facts, states, { ...terms(), nowMs }),
        nowMs,
      );
      await all(() => accounts.storeDue(options()), isStopping);
      return found;
    };
    while (!isStopping() && (await changes()) === 'more');
  }

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
      await all(() => store.noticeKeys(days, nowMs + days * DAY_MS, decide, options()), isStopping);
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
      await lookAtAccounts(isStopping);
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
