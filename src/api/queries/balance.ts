import { BALANCE_QUERY, type Query, type QueryRequest, type QuerySources } from './query.ts';
import { balanceResponse, billingSubscriptionResponse, billingUsageResponse } from './schemas.ts';

/**
 * The general balance (contract 2.4, 4.11). A key that may not see the balance gets what is left of its own and its owner's budgets.
 * `balance` is a JSON number, because the tools that read it accept no other type.
 */
export const balance: Query = {
  name: BALANCE_QUERY,
  document: { summary: 'Read the balance', tag: 'Balance', response: balanceResponse, query: null },
  async response(request, sources) {
    const { isActive, nano } = await shownBalance(request, sources);
    return { body: { is_active: isActive, balance: toYuanNumber(nano), unit: 'CNY' } };
  },
};

/**
 * The same amount for tools that know only the former addresses of OpenAI, which show `hard_limit_usd` minus a hundredth of `total_usage`.
 * The amounts are yuan; these responses cannot say so.
 */
export const billingSubscription: Query = {
  name: BALANCE_QUERY,
  document: {
    summary: 'Read the balance as a subscription',
    tag: 'Balance',
    response: billingSubscriptionResponse,
    query: null,
  },
  async response(request, sources) {
    const { nano } = await shownBalance(request, sources);
    const yuan = toYuanNumber(nano);
    const limits = { soft_limit_usd: yuan, hard_limit_usd: yuan, system_hard_limit_usd: yuan };
    return { body: { object: 'billing_subscription', has_payment_method: true, ...limits, access_until: 0 } };
  },
};

/** Always 0, because the limit above is already what is left. */
export const billingUsage: Query = {
  name: BALANCE_QUERY,
  document: {
    summary: 'Read the usage of such a subscription',
    tag: 'Balance',
    response: billingUsageResponse,
    query: null,
  },
  response: async () => ({ body: { object: 'list', total_usage: 0 } }),
};

interface ShownBalance {
  readonly isActive: boolean;
  readonly nano: bigint;
}

async function shownBalance(request: QueryRequest, sources: QuerySources): Promise<ShownBalance> {
  const principal = request.principal!;
  const balanceNano = await sources.balanceNano(principal.accountId);
  const isPositive = balanceNano > 0n;
  if (principal.seesBalance) return { isActive: isPositive, nano: balanceNano };
  const leftNano = await sources.budgetLeftNano(principal);
  // The smaller of budget and balance is not shown, because it would reveal a balance that is lower than the budget.
  return leftNano === null
    ? { isActive: isPositive, nano: 0n }
    : { isActive: isPositive && leftNano > 0n, nano: leftNano };
}

const NANO_PER_MICRO = 1_000n;
const MICRO_PER_YUAN = 1_000_000;

/** Rounded down to a millionth of a yuan. Such a number is printed exactly, and never exceeds the balance. */
function toYuanNumber(amountNano: bigint): number {
  const belowMicro = ((amountNano % NANO_PER_MICRO) + NANO_PER_MICRO) % NANO_PER_MICRO;
  return Number((amountNano - belowMicro) / NANO_PER_MICRO) / MICRO_PER_YUAN;
}
