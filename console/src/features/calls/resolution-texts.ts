import { pageTexts } from '../../parts/texts.ts';

export const correctionTexts = pageTexts(
  {
    resolve: 'Resolve',
    resolveTitle: 'Resolve this call',
    resolveHint:
      'The node failed, so it is unknown whether the provider ran this call. Look for it in the provider’s usage list by time, model and size. Your decision is final. The reservation is already released.',
    decision: 'Decision',
    charge: 'Charge an amount: the provider ran it',
    count: 'Count tokens on its Coding Plan: the provider ran it',
    release: 'Release: it did not run, or costs nothing',
    chargeHint: (held: string) => `At most the reserved amount: ${held}.`,
    tokens: 'Tokens',
    tokensHint: (held: string) => `At most the reserved amount: ${held}.`,
    tokensUnknown: 'The reserved amount is not recorded, so the call can only be released.',
    resolved: 'Call resolved.',
  },
  {
    resolve: '处理',
    resolveTitle: '处理此调用',
    resolveHint:
      '运行该调用的节点已终止，网关无法得知供应商是否执行了它。请在供应商自己的记录中按时间、模型和大小查找。处理只能进行一次；此前的预留已经释放，不受影响。',
    decision: '处理方式',
    charge: '扣费：供应商已执行',
    count: '计入套餐 token：供应商已执行',
    release: '释放：未执行，或不应扣费',
    chargeHint: (held: string) => `最多为其预留金额：${held}。`,
    tokens: 'token 数',
    tokensHint: (held: string) => `最多为其预留数量：${held}。`,
    tokensUnknown: '没有记录其预留数量，只能释放。',
    resolved: '调用已处理。',
  },
);
