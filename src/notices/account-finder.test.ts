import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_TERMS } from '../../test/notices/told-accounts.ts';
import { createIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { createAccountFinder } from './account-finder.ts';
import type { AccountNoticeStore } from './account-notice-store.ts';

describe('the finder of notices', () => {
  it('stops with its node, however long the queue is', { timeout: 10_000 }, async () => {
    const clock = { nowMs: () => Date.parse('2026-11-20T12:00:00Z') };
    const ids = createIds(clock);
    let slices = 0;
    let begun = (): void => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const accounts: AccountNoticeStore = {
      // More than any node can process; bounded only so that a failing test ends.
      noticeChanges: async () => {
        begun();
        return ++slices < 100_000 ? 'more' : 'idle';
      },
    };
    const finder = createAccountFinder({
      accounts,
      terms: () => NO_TERMS,
      options: () => ({ atMs: clock.nowMs(), nextId: () => ids.next('ntc'), hasMail: false }),
      logger: silentLogger,
      onNotices: () => undefined,
      intervalMs: 0,
    });
    finder.start();
    await isBegun;
    await finder.stop();
    assert.ok(slices < 100_000, `${slices} slices`);
  });
});
