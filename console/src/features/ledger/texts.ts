import { defineTexts } from '../../text/language.tsx';

export const ledgerTexts = defineTexts(
  {
    title: 'Ledger and statements',
    lead: 'Every change of the balance is an entry that stays as it is. The balance is their sum.',
    ledger: 'Ledger',
    statement: 'Statement',
    when: 'When',
    kind: 'Kind',
    amount: 'Amount',
    balanceAfter: 'Balance after',
    call: 'Call',
    nothing: 'No entries yet',
    nothingHint: 'The first top-up or the first call makes one.',
  },
  {
    title: '账本与对账单',
    lead: '余额的每次变动都是一条不可修改的账目，余额即所有账目之和。',
    ledger: '账本',
    statement: '对账单',
    when: '时间',
    kind: '类型',
    amount: '金额',
    balanceAfter: '变动后余额',
    call: '调用',
    nothing: '暂无账目',
    nothingHint: '首次充值或首次调用后会产生账目。',
  },
);
