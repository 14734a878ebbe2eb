import { pageTexts } from '../../parts/texts.ts';

export const usageTexts = pageTexts(
  {
    by: 'Grouped by',
    measure: 'Metric',
    calls: 'Calls',
    tokens: 'Tokens',
    unknownKey: 'unknown key',
    noGroup: 'no group',
    otherValues: 'all others',
    countsForEachTag: 'A call with several tags counts for each of them.',
    noCallers:
      'Only calls with this fact are counted here. Owners decide in the settings of the account what is recorded.',
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
      endUser: 'End user',
      program: 'Program',
      tag: 'Tag',
    },
  },
  {
    by: '分组方式',
    measure: '指标',
    calls: '调用次数',
    tokens: 'token',
    unknownKey: '未知密钥',
    noGroup: '无分组',
    otherValues: '其余全部',
    countsForEachTag: '带多个标签的调用会分别计入每个标签。',
    noCallers: '此处仅统计带有该信息的调用。记录哪些信息由所有者在账户设置中决定。',
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
      endUser: '终端用户',
      program: '客户端程序',
      tag: '标签',
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
  'endUser',
  'program',
  'tag',
] as const satisfies readonly Dimension[];
export type Grouping = (typeof GROUPINGS)[number];

/** Whether callers choose the values of the dimension. The sums then include only calls that have one. */
export const isOfCallers = (by: Dimension): by is 'endUser' | 'program' | 'tag' =>
  by === 'endUser' || by === 'program' || by === 'tag';

/** The `groupBy` of a grouping. A route is a model at a provider. */
export const dimensionsOf = (by: Grouping): string => (by === 'route' ? 'model,provider' : by);
