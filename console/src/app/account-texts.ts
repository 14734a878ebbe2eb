import { pageTexts } from '../parts/texts.ts';

export const accountTexts = pageTexts(
  {
    all: 'All accounts',
    tabs: {
      summary: 'Summary',
      money: 'Money',
      keys: 'API keys',
      plan: 'Coding Plan',
      people: 'People',
      statement: 'Statement',
    },
    calls: 'Calls',
    topUp: 'Top up',
    changes: 'Audit log',
  },
  {
    all: '全部账户',
    tabs: { summary: '概况', money: '资金', keys: 'API 密钥', plan: '编码套餐', people: '成员', statement: '对账单' },
    calls: '调用记录',
    topUp: '充值',
    changes: '审计日志',
  },
);
