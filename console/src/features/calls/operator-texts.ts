import { pageTexts } from '../../parts/texts.ts';

export const operatorCallsTexts = pageTexts(
  {
    lead: 'Calls of all accounts, newest first, and requests that were refused before they became calls.',
    refusals: 'Refusals',
    anyStatus: 'Any',
    requestIdHint: 'of the gateway, the provider or the client',
    requestAlone: 'A request id is searched for alone; the other filters do not count.',
    noCalls: 'No call fits',
    noCallsHint: 'Take a filter away, or choose a longer time. Requests that were refused are in the other tab.',
    noRefusals: 'No refusal fits',
    noRefusalsHint: 'Refusals are kept as long as the configuration says (retention.refusals).',
    code: 'Code',
    noCall: 'There is no record of this call',
    noCallHint:
      'A call in flight has its record when it has ended; old records are dropped after the time that the configuration says (retention.calls).',
    forOperators: 'For operators only',
    resolvedBy: 'Resolved by',
    changesOfCall: 'Refunds and resolutions in the change log',
  },
  {
    lead: '所有账户的调用，最新在前；以及在成为调用之前被拒绝的请求。',
    refusals: '拒绝记录',
    anyStatus: '不限',
    requestIdHint: '网关、供应商或客户端的',
    requestAlone: '按请求 ID 查找时，其他筛选条件不起作用。',
    noCalls: '没有符合条件的调用',
    noCallsHint: '请减少筛选条件或放宽时间范围。被拒绝的请求见另一标签页。',
    noRefusals: '没有符合条件的拒绝记录',
    noRefusalsHint: '拒绝记录按配置的时长保留（retention.refusals）。',
    code: '错误码',
    noCall: '没有此调用的记录',
    noCallHint: '进行中的调用结束后才有记录；旧记录在配置的期限（retention.calls）后删除。',
    forOperators: '仅管理员可见',
    resolvedBy: '处理者',
    changesOfCall: '变更日志中的退款与处理',
  },
);
