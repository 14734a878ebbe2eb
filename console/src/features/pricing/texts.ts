import { pageTexts } from '../../parts/texts.ts';

export const pricingTexts = pageTexts(
  {
    title: 'Models and prices',
    lead: 'Prices are in yuan per million tokens unless stated otherwise.',
    signIn: 'Sign in',
    print: 'Print',
  },
  {
    title: '模型与价格',
    lead: '未注明时，价格单位为元 / 百万 token。',
    signIn: '登录',
    print: '打印',
  },
);
