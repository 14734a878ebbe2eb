import { noPlanSnapshot, planSnapshot, usableAgainMs } from '../../accounting/plans/snapshot.ts';
import { resetHeaders } from '../../calls/relay/call-headers.ts';
import { BALANCE_QUERY, type Query } from './query.ts';
import { codingBalanceResponse } from './schemas.ts';

/** What remains of the plan (contract 2.3, 4.10). The contract fixes the body, so a header tells when a used-up plan can be used again. */
export const codingBalance: Query = {
  name: BALANCE_QUERY,
  document: {
    summary: 'Read what remains of the Coding Plan',
    tag: 'Balance',
    response: codingBalanceResponse,
    query: null,
  },
  async response({ principal }, sources) {
    const current = await sources.subscription(principal!.accountId);
    const { nowMs } = current;
    if (current.plan === null) return { body: noPlanSnapshot(nowMs, current.reason) };
    const body = planSnapshot(current.plan, current.state, nowMs);
    const againMs = usableAgainMs(current.state, body);
    const isShown = againMs !== null && sources.config().server.callHeaders;
    return { body, headers: isShown ? resetHeaders(againMs) : {} };
  },
};
