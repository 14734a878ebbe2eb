import type { AccountDecision, AccountFacts, NoticeState } from './account-decision.ts';
import type { AccountNoticeStore } from './account-notice-store.ts';
import type { SliceResult } from './finder-lock-store.ts';
import type { NewNotices, NoticeStore } from './notice-store.ts';
import type { ThresholdStore } from './threshold-store.ts';

/** Finds what the accounts of a partition are told of, in slices. */
export interface AccountNotices {
  /** Has some accounts looked at whose threshold was set. */
  queueMarked(): Promise<void>;
  /**
   * Looks at some accounts that have changed. What is due is stored later, by `storeDue`: it is in the partition
   * then, with what was said.
   */
  noticeChanges(
    decide: (facts: AccountFacts, states: ReadonlyMap<string, NoticeState>) => AccountDecision,
    atMs: number,
  ): Promise<SliceResult>;
  /** Stores some of what is due, also what an earlier node has left. */
  storeDue(options: NewNotices): Promise<SliceResult>;
}

interface AccountNoticesParts {
  /** The number of the partition whose changes these are; by default the first one. */
  readonly partition?: number;
  readonly changes: AccountNoticeStore;
  readonly thresholds: Pick<ThresholdStore, 'ofAccounts' | 'listMarks' | 'clearMarks'>;
  readonly notices: Pick<NoticeStore, 'add'>;
}

/**
 * Thresholds and notices are in the directory, balances and what was said of them in a partition. Each step is of one home, and done again
 * where nobody knows whether it was: an account that is queued twice is looked at twice, which says nothing new, and a notice is stored once
 * for each occurrence. So an end between two steps loses nothing and says nothing twice. Nodes may do the same at the same time.
 */
export function createAccountNotices({ partition, changes, thresholds, notices }: AccountNoticesParts): AccountNotices {
  return {
    async queueMarked() {
      const marks = await thresholds.listMarks(partition);
      if (marks.length === 0) return;
      await changes.queue(marks.map(({ accountId }) => accountId));
      await thresholds.clearMarks(marks);
    },
    async noticeChanges(decide, atMs) {
      const read = await changes.readChanges();
      if (read === null) return 'idle';
      // Behind the changes: a threshold that is set later has a change of its own.
      const known = await thresholds.ofAccounts(read.accountIds);
      return changes.decideChanges(read, known, decide, atMs);
    },
    async storeDue(options) {
      const due = await changes.listDue();
      if (due.length === 0) return 'idle';
      await notices.add(due, options);
      await changes.deleteDue(due);
      return 'more';
    },
  };
}
