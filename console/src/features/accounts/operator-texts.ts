import { pageTexts } from '../../parts/texts.ts';

export const accountsTexts = pageTexts(
  {
    lead: 'An account has a balance, API keys, members and optionally a Coding Plan.',
    create: 'New account',
    none: 'No accounts yet',
    noneHint: 'Create one here, or import many from CSV with the command line.',
    noMatch: 'No account matches',
    verified: 'Verified',
    verifiedHint: 'Calls of an account that is not verified are refused.',
    balanceNow: 'First top-up',
  },
  {
    lead: '付费主体：每个账户有余额、密钥、成员，也可以有编码套餐。',
    create: '创建账户',
    none: '暂无账户',
    noneHint: '可在此创建，也可用命令行从 CSV 批量导入。',
    noMatch: '没有匹配的账户',
    verified: '已核实',
    verifiedHint: '未核实账户的调用会被拒绝。',
    balanceNow: '首次充值',
  },
);
