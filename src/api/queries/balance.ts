import { BALANCE_QUERY, type Query, type QueryResponse } from './query.ts';
import { balanceResponse } from './schemas.ts';

/**
 * The general balance (contract 2.4, 4.11). A key that may not see the balance gets what is left of its own and its owner's budgets.
 * `balance` is a JSON number, because the tools that read it accept no other type.
 */
export const balance: Query = {
  name: BALANCE_QUERY,
  document: { summary: 'Read the balance', tag: 'Balance', response: balanceResponse, query: null },
  async response(request, sources) {
    const principal = request.principal!;
    const balanceNano = await sources.balanceNano(principal.accountId);
    const isPositive = balanceNano > 0n;
    if (principal.seesBalance) return snapshot(isPositive, balanceNano);
    const leftNano = await sources.budgetLeftNano(principal);
    // The smaller of budget and balance is not shown, because it would reveal a balance that is lower than the budget.
    return leftNano === null ? snapshot(isPositive, 0n) : snapshot(isPositive && leftNano > 0n, leftNano);
  },
};

function snapshot(isActive: boolean, nano: bigint): QueryResponse {
  return { body: { is_active: isActive, balance: toYuanNumber(nano), unit: 'CNY' } };
}

const NANO_PER_MICRO = 1_000n;
const MICRO_PER_YUAN = 1_000_000;

/** Rounded down to a millionth of a yuan. Such a number is printed exactly, and never exceeds the balance. */
function toYuanNumber(amountNano: bigint): number {
  const belowMicro = ((amountNano % NANO_PER_MICRO) + NANO_PER_MICRO) % NANO_PER_MICRO;
  return Number((amountNano - belowMicro) / NANO_PER_MICRO) / MICRO_PER_YUAN;
}
