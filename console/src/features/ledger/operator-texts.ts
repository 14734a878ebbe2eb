import { pageTexts } from '../../parts/texts.ts';

export const moneyTexts = pageTexts(
  {
    topUp: 'Top up',
    topUpOf: (amount: string) => `Top up ${amount}`,
    adjust: 'Adjust',
    adjustBy: (amount: string) => `Adjust by ${amount}`,
    adjustHint: 'A correction, positive or negative. To give back the charge of a call, refund the call below.',
    amountHint: 'A negative amount reduces the balance: -5.',
    memoHint: 'Operators see it in the ledger.',
    balanceNow: 'Balance now',
    balanceThen: 'Balance afterwards',
    done: (amount: string) => `The balance is now ${amount}.`,
    ledgerLead: 'Every change of the balance, newest first. Entries are immutable.',
    none: 'No entries yet',
    noneHint: 'The first entry is a top-up.',
  },
  {
    topUp: '充值',
    topUpOf: (amount: string) => `充值 ${amount}`,
    adjust: '调账',
    adjustBy: (amount: string) => `调账 ${amount}`,
    adjustHint: '增加或减少余额的更正。退还某次调用的扣费请在下方对该调用退款。',
    amountHint: '负数为扣减，例如 -5。',
    memoHint: '管理员可在账本中看到。',
    balanceNow: '当前余额',
    balanceThen: '操作后余额',
    done: (amount: string) => `当前余额为 ${amount}。`,
    ledgerLead: '余额的每一次变动，最新的在前。账目不可更改。',
    none: '暂无账目',
    noneHint: '第一条通常是充值。',
  },
);
