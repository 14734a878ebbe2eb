import { pageTexts } from '../../parts/texts.ts';

export const attemptFieldTexts = pageTexts(
  {
    failures: 'Keep-alive, retries, fallbacks',
    keepAlive: 'Keep-alive comment after a silence of',
    keepAliveHint: 'Also before the provider responds. Empty: never.',
    retryOn: 'Attempt again after',
    retryHint: 'The call might have run. The vendor might bill both attempts; the account is charged once.',
    retried: { timeout: 'timeout', reset: 'broken connection', silence: 'silence' } as Readonly<Record<string, string>>,
    within: 'Further attempts',
    firstByte: 'Longest silence before the first byte',
    firstByteHint: 'Required for “silence”.',
  },
  {
    failures: '路由无响应、失败或关闭时',
    keepAlive: '流静默多久后发送注释',
    keepAliveHint: '供应商尚未响应时同样适用。留空则不发送。',
    retryOn: '再次尝试的情形',
    retryHint: '调用可能已执行：供应商可能对两次尝试都计费，账户只扣费一次。',
    retried: { timeout: '超时', reset: '连接中断', silence: '静默' } as Readonly<Record<string, string>>,
    within: '最多追加尝试次数',
    firstByte: '首字节前的静默时长',
    firstByteHint: '选择“静默”时必填。',
  },
);
