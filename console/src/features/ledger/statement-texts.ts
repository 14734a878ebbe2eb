import { pageTexts } from '../../parts/texts.ts';

export const statementTexts = pageTexts(
  {
    of: (month: string) => `Statement of ${month}`,
    ofAccount: (name: string, month: string) => `${name}: statement of ${month}`,
    month: 'Month',
    opening: 'Opening balance',
    closing: 'Closing balance',
    entries: 'Entries',
    models: 'By model',
    calls: 'Calls',
    netCharge: 'Charged less refunds',
    notOver: 'The month is not complete; the figures still change.',
    timezone: (zone: string) => `Days of ${zone}`,
  },
  {
    of: (month: string) => `${month} 对账单`,
    ofAccount: (name: string, month: string) => `${name}：${month} 对账单`,
    month: '月份',
    opening: '期初余额',
    closing: '期末余额',
    entries: '笔数',
    models: '按模型',
    calls: '调用次数',
    netCharge: '扣费减退款',
    notOver: '本月尚未结束，数据还会变化。',
    timezone: (zone: string) => `日期按 ${zone}`,
  },
);
