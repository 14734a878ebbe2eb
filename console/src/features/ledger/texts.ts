import { pageTexts } from '../../parts/texts.ts';

export const ledgerTexts = pageTexts(
  {
    lead: 'Every change of the balance is an immutable entry. The balance is their sum.',
    ledger: 'Ledger',
    statement: 'Statement',
    balanceAfter: 'Balance after',
    callOrReference: 'Call or payment reference',
    nothing: 'No entries yet',
    nothingHint: 'The first top-up or call creates an entry.',
    noneFits: 'No matching entries',
    noneFitsHint: 'Remove a filter or choose a longer period.',
    daysOf: (timezone: string) => `Entries of these days (${timezone}).`,
  },
  {
    lead: '余额的每次变动都是一条不可修改的账目，余额即所有账目之和。',
    ledger: '账本',
    statement: '对账单',
    balanceAfter: '变动后余额',
    callOrReference: '调用或付款参考号',
    nothing: '暂无账目',
    nothingHint: '首次充值或首次调用后会产生账目。',
    noneFits: '没有符合条件的账目',
    noneFitsHint: '请减少筛选条件或放宽时间范围。',
    daysOf: (timezone: string) => `按 ${timezone} 的日期筛选账目。`,
  },
);
