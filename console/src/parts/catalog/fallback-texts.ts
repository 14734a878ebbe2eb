import { pageTexts } from '../texts.ts';

export const fallbackTexts = pageTexts(
  {
    fallbacks: 'Fallbacks',
    hints: {
      model: 'Models that serve the call if this one cannot, in this order.',
      group: 'Models that serve the call if the requested one cannot and has no fallbacks of its own, in this order.',
    },
    fallbackOn: 'Use a fallback if',
    reasons: {
      unavailable: 'no route is available',
      context: 'the context is too long',
      filter: 'a content filter refuses',
    },
    fallbackCharge: 'Prices of a fallback',
    charges: { served: 'of the model that served', asked: 'of the requested model' },
  },
  {
    fallbacks: '备用模型',
    hints: {
      model: '本模型无法服务时依次使用的模型。',
      group: '请求的模型无法服务且自身未设备用模型时，依次使用的模型。',
    },
    fallbackOn: '使用备用模型的情形',
    reasons: { unavailable: '无可用路由', context: '上下文过长', filter: '被内容过滤拒绝' },
    fallbackCharge: '备用模型的价格',
    charges: { served: '按实际服务的模型', asked: '按请求的模型' },
  },
);
