import { defineTexts } from '../../text/language.tsx';

export const ledgerKindTexts = defineTexts(
  { top_up: 'Top-up', charge: 'Charge', refund: 'Refund', adjustment: 'Adjustment' },
  { top_up: '充值', charge: '扣费', refund: '退款', adjustment: '调账' },
);
