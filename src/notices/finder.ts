import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Clock } from '../lib/clock.ts';
import { firstIdAt } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { BudgetWatch, WatchedBudget } from './budget-watch.ts';
import type { NodeStatus, NodeWatch } from './node-watch.ts';
import type { DueNotice } from './notice.ts';
import type { ExpiringKey, NewNotices, NoticeStore } from './notice-store.ts';

export interface FinderTerms {
  readonly routeDownAfterMs: number;
  readonly keptMs: number;
  /** Shares of budgets at which a notice is sent, in ascending order. */
  readonly budgetPercents: readonly number[];
}

interface FinderDependencies {
  readonly store: NoticeStore;
  readonly terms: () => FinderTerms;
  readonly options: () => NewNotices;
  readonly status: () => NodeStatus;
  readonly watch: NodeWatch;
  /** Budgets of providers, routes and credentials. */
  readonly budgets: () => readonly WatchedBudget[];
  readonly budgetWatch: BudgetWatch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onNotices: () => void;
  readonly intervalMs: number;
}

/** Days before the end of a key at which its owners get a notice. */
const KEY_DAYS = [7, 1] as const;

const DAY_MS = 86_400_000;
/** Longer than any month. */
const BUDGETS_KEPT_MS = 32 * DAY_MS;
/** Interval of scans for expiring keys and old notices. They use indexes, so they are cheap. */
const SCAN_INTERVAL_MS = 60_000;

/** Finds notices that `account-finder.ts` does not: those not about balances and plans. Also deletes old notices. */
export function createFinder(dependencies: FinderDependencies): BackgroundJob {
  const { store, terms, options, status, watch, budgets, budgetWatch, clock, logger, onNotices, intervalMs } =
    dependencies;
  let lastScanAtMs = Number.NEGATIVE_INFINITY;

  async function checkNode(): Promise<void> {
    const { routeDownAfterMs, budgetPercents } = terms();
    const due = watch.findDue(status(), { nowMs: clock.nowMs(), routeDownAfterMs });
    const ofBudgets = budgetWatch.findDue(budgets(), budgetPercents);
    if (due.length + ofBudgets.notices.length === 0) return;
    await store.add([...due, ...ofBudgets.notices], options());
    watch.markStored(due);
    budgetWatch.markStored(ofBudgets);
    onNotices();
  }

  async function scanDatabase(isStopping: () => boolean): Promise<void> {
    const nowMs = clock.nowMs();
    if (nowMs < lastScanAtMs + SCAN_INTERVAL_MS) return;
    for (const days of KEY_DAYS) {
      const decide = (key: ExpiringKey) => decideKey(key, days, nowMs);
      const runBatch = () => store.noticeKeys(days, nowMs + days * DAY_MS, decide, options());
      // If this node stops, another one continues.
      while (!isStopping() && (await runBatch()) === 'more') onNotices();
    }
    onNotices();
    const before = firstIdAt('ntc', nowMs - terms().keptMs);
    const budgetsBefore = firstIdAt('ntc', nowMs - BUDGETS_KEPT_MS);
    while (!isStopping() && (await store.deleteBefore(before, budgetsBefore)) > 0);
    lastScanAtMs = nowMs;
  }

  return createBackgroundJob({
    intervalMs,
    async run(isStopping) {
      await checkNode();
      await scanDatabase(isStopping);
    },
    logger,
    failing: 'failed to check for events; retrying (calls are not affected)',
    recovered: 'the gateway checks for events again',
  });
}

/** Decides on a key. One that is found on its last day gets only the notice for that day. */
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
