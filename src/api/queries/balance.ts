import { BALANCE_QUERY, type Query } from './query.ts';
import { balanceAnswer } from './schemas.ts';

/**
 * The general balance (contract 2.4, 4.11). `balance` is a JSON number, because the tools that read it accept no other
 * type; inside the gateway money is an integer of nano-yuan.
 */
export const balance: Query = {
  name: BALANCE_QUERY,
  document: { summary: 'Read the balance', tag: 'Balance', answer: balanceAnswer, query: null },
  async answer({ accountId }, sources) {
    const balanceNano = await sources.balanceNano(accountId!);
    return { body: { is_active: balanceNano > 0n, balance: toYuanNumber(balanceNano), unit: 'CNY' } };
  },
};

const NANO_PER_MICRO = 1_000n;
const MICRO_PER_YUAN = 1_000_000;

/** Rounds down to a millionth of a yuan: the number prints without artefacts, and is never more than the balance. */
function toYuanNumber(amountNano: bigint): number {
  const belowMicro = ((amountNano % NANO_PER_MICRO) + NANO_PER_MICRO) % NANO_PER_MICRO;
  return Number((amountNano - belowMicro) / NANO_PER_MICRO) / MICRO_PER_YUAN;
}
