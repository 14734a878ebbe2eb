import { pageTexts } from '../texts.ts';

export const limitFieldTexts = pageTexts(
  {
    names: {
      requestsPerMinute: 'Max. requests per minute',
      tokensPerMinute: 'Max. tokens per minute',
      concurrentCalls: 'Max. calls in flight',
      dailyCostYuan: 'Max. cost per day',
      monthlyCostYuan: 'Max. cost per month',
    },
    none: 'no limit',
    passedOver: {
      provider: 'For all calls to the provider. At a limit, calls use other routes.',
      route: 'In addition to those of the provider.',
    },
    tokensHint: 'Input and output.',
    callsHint: 'On all nodes together.',
    costHint: 'By the cost prices of routes.',
    vendorLimits: 'Rate limits of the vendor',
    vendorLimitsHint: 'If its headers say that nothing is left.',
    vendor: { ignore: 'ignore', follow: 'prefer other credentials' },
  },
  {
    names: {
      requestsPerMinute: '每分钟请求数上限',
      tokensPerMinute: '每分钟 token 数上限',
      concurrentCalls: '进行中的调用上限',
      dailyCostYuan: '每日成本上限',
      monthlyCostYuan: '每月成本上限',
    },
    none: '不限',
    passedOver: {
      provider: '针对该供应商的全部调用。达到限额后，调用改走其他路由。',
      route: '与供应商的限额同时生效。',
    },
    tokensHint: '输入与输出合计。',
    callsHint: '所有节点合计。',
    costHint: '按路由的成本计算。',
    vendorLimits: '厂商的速率限额',
    vendorLimitsHint: '响应头表明已无余量时。',
    vendor: { ignore: '忽略', follow: '优先使用其他凭据' },
  },
);
