import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Logger } from '../lib/logger.ts';
import type { AccountTerms } from './account-facts.ts';
import type { AccountNoticeStore } from './account-notice-store.ts';
import type { BatchResult } from './finder-lock-store.ts';
import type { NewNotices } from './notice-store.ts';

interface AccountFinderDependencies {
  readonly accounts: AccountNoticeStore;
  readonly terms: (nowMs: number) => AccountTerms;
  readonly options: () => NewNotices;
  readonly logger: Logger;
  readonly onNotices: () => void;
  readonly intervalMs: number;
}

/**
 * Takes changed accounts from a queue and finds notices for them, in the background. Each partition has its own finder, so that one that is
 * unavailable does not delay others.
 */
export function createAccountFinder(dependencies: AccountFinderDependencies): BackgroundJob {
  const { accounts, terms, options, logger, onNotices, intervalMs } = dependencies;

  async function processBatch(): Promise<BatchResult> {
    const now = options();
    return accounts.noticeChanges(terms(now.atMs), now);
  }

  return createBackgroundJob({
    intervalMs,
    async run(isStopping) {
      // If this node stops, another one continues with the queue.
      while (!isStopping() && (await processBatch()) === 'more') onNotices();
    },
    logger,
    failing: 'failed to check accounts for events; retrying (calls are not affected)',
    recovered: 'accounts are checked for events again',
  });
}
