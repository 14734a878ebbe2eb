import { pageTexts } from '../texts.ts';

export const refundTexts = pageTexts(
  {
    title: 'Refund a call',
    refundOf: (amount: string) => `Refund ${amount}`,
    refundAll: 'Refund the rest',
    charged: 'Charged',
    refunded: 'Already refunded',
    left: 'Refundable',
    amountHint: 'Leave empty to refund the rest.',
    nothingLeft: 'This charge is already fully refunded.',
    done: (amount: string, balance: string) => `${amount} refunded. The balance of the account is ${balance}.`,
  },
  {
    title: '调用退款',
    refundOf: (amount: string) => `退款 ${amount}`,
    refundAll: '退还全部剩余金额',
    charged: '已扣费',
    refunded: '已退款',
    left: '可退金额',
    amountHint: '留空则退还全部剩余金额。',
    nothingLeft: '该笔扣费已全部退还。',
    done: (amount: string, balance: string) => `已退还 ${amount}，账户余额为 ${balance}。`,
  },
);
