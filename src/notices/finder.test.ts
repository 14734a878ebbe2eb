import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import type { AccountNotices } from './account-notices.ts';
import { createFinder } from './finder.ts';
import { NodeWatch } from './node-watch.ts';
import type { NoticeStore } from './notice-store.ts';

describe('the finder of notices', () => {
  it('ends with its node, however much waits', { timeout: 10_000 }, async () => {
    const clock = { nowMs: () => Date.parse('2026-11-20T12:00:00Z') };
    let slices = 0;
    let begun = (): void => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const store: NoticeStore = {
      noticeKeys: async () => 'idle',
      add: async () => undefined,
      forgetBefore: async () => 0,
    };
    const accounts: AccountNotices = {
      queueMarked: async () => undefined,
      // More than any node can look at; the last one only so that a failure ends.
      noticeChanges: async () => {
        begun();
        return ++slices < 100_000 ? 'more' : 'idle';
      },
      storeDue: async () => 'idle',
    };
    const finder = createFinder({
      store,
      accounts,
      terms: () => ({
        lowBalanceNano: null,
        planPercents: [],
        plans: new Map(),
        routeDownAfterMs: 0,
        keptMs: 86_400_000,
        hasMail: false,
      }),
      status: () => ({ routes: [], credentials: [] }),
      watch: new NodeWatch('node_1'),
      clock,
      ids: createIds(clock),
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
