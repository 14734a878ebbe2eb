import { pageTexts } from '../../parts/texts.ts';

export const usageTexts = pageTexts(
  {
    by: 'Grouped by',
    measure: 'Metric',
    calls: 'Calls',
    tokens: 'Tokens',
    unknownKey: 'unknown key',
    noGroup: 'no group',
    completeUntil: (at: string) => `Includes calls that ended before ${at}.`,
    summing: 'Older calls are still being aggregated.',
    dimensions: {
      model: 'Model',
      provider: 'Provider',
      route: 'Route',
      group: 'Group',
      account: 'Account',
      key: 'Key',
      day: 'Day',
      status: 'Status',
      context: 'Paid by',
    },
  },
  {
    by: '分组方式',
    measure: '指标',
    calls: '调用次数',
    tokens: 'token',
    unknownKey: '未知密钥',
    noGroup: '无分组',
    completeUntil: (at: string) => `已统计 ${at} 之前结束的调用。`,
    summing: '较早的调用仍在汇总中。',
    dimensions: {
      model: '模型',
      provider: '供应商',
      route: '路由',
      group: '分组',
      account: '账户',
      key: '密钥',
      day: '日期',
      status: '状态',
      context: '付费方式',
    },
  },
);

export type Dimension = keyof (typeof usageTexts)['en']['dimensions'];

export const GROUPINGS = [
  'model',
  'provider',
  'route',
  'group',
  'account',
  'day',
  'status',
] as const satisfies readonly Dimension[];
export type Grouping = (typeof GROUPINGS)[number];

/** The `groupBy` of a grouping. A route is a model at a provider. */
export const dimensionsOf = (by: Grouping): string => (by === 'route' ? 'model,provider' : by);
