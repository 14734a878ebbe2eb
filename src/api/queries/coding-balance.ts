import { noPlanSnapshot, planSnapshot } from '../../accounting/plans/snapshot.ts';
import type { Query } from './query.ts';

/** What remains of an account's plan (contract 2.3, 4.10). Nothing is reserved, charged or recorded. */
export const codingBalance: Query = {
  async answer({ accountId }, sources) {
    const current = await sources.subscription(accountId!);
    const nowMs = sources.nowMs();
    const body =
      current.plan === null ? noPlanSnapshot(nowMs, current.reason) : planSnapshot(current.plan, current.state, nowMs);
    return { body };
  },
};
