import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Logger } from '../lib/logger.ts';
import { type AccountTerms, decideAccount } from './account-decision.ts';
import type { AccountNoticeStore } from './account-notice-store.ts';
import type { SliceResult } from './finder-lock-store.ts';
import type { NewNotices } from './notice-store.ts';

interface AccountFinderParts {
  /** Of one partition. */
  readonly accounts: AccountNoticeStore;
  /** What decides which notices are due; read anew at each slice. */
  readonly terms: () => Omit<AccountTerms, 'nowMs'>;
  /** How notices are stored, read anew each time. */
  readonly options: () => NewNotices;
  readonly logger: Logger;
  /** Notices may have been stored. */
  readonly onNotices: () => void;
  readonly intervalMs: number;
}

/**
 * Finds what the accounts of a partition are told of: in the background, slice by slice, from what changed since it last looked. No call
 * waits for it, or tells it anything. Each partition has one of its own, so one that fails, or says nothing, keeps no other waiting.
 */
export function createAccountFinder(parts: AccountFinderParts): BackgroundJob {
  const { accounts, terms, options, logger, onNotices, intervalMs } = parts;

  async function lookAtChanges(): Promise<SliceResult> {
    const now = options();
    return accounts.noticeChanges(
      (facts, states) => decideAccount(facts, states, { ...terms(), nowMs: now.atMs }),
      now,
    );
  }

  return createBackgroundJob({
    intervalMs,
    async run(isStopping) {
      // A node that stops leaves what is left to the next one: it is in the database.
      while (!isStopping() && (await lookAtChanges()) === 'more') onNotices();
    },
    logger,
    failing: 'notices of accounts could not be looked for; it is tried again, and calls go on',
    recovered: 'notices of accounts are looked for again',
  });
}
