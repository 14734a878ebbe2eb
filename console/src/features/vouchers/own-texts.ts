import { defineTexts } from '../../text/language.tsx';

export const redeemTexts = defineTexts(
  {
    lead: 'A voucher adds money or a Coding Plan to the account. It works once.',
    code: 'Voucher code',
    codeHint: 'Case, spaces and hyphens are ignored.',
    redeem: 'Redeem',
    redeemed: 'Voucher redeemed',
    gaveMoney: (amount: string) => `${amount} was added to the balance.`,
    gavePlan: (plan: string, until: string) => `The plan ${plan} is active until ${until}.`,
    gavePlanAlone: (plan: string) => `The plan ${plan} is active.`,
    codeEnd: (end: string, at: string) => `The voucher that ends in ${end}, redeemed ${at}.`,
    showLedger: 'Show the ledger',
    showPlan: 'Show the plan',
    errors: {
      '400': 'The code is mistyped. Compare it with the voucher.',
      '404': 'This voucher does not exist or was redeemed by another account.',
      '429': 'Too many wrong codes. Wait a few seconds and try again.',
    } as { readonly [status: string]: string },
  },
  {
    lead: '兑换码可为账户充值或开通编码套餐，每个只能使用一次。',
    code: '兑换码',
    codeHint: '不区分大小写，空格和连字符可省略。',
    redeem: '兑换',
    redeemed: '兑换成功',
    gaveMoney: (amount: string) => `余额已增加 ${amount}。`,
    gavePlan: (plan: string, until: string) => `套餐 ${plan} 已生效，有效至 ${until}。`,
    gavePlanAlone: (plan: string) => `套餐 ${plan} 已生效。`,
    codeEnd: (end: string, at: string) => `尾号 ${end} 的兑换码，兑换时间 ${at}。`,
    showLedger: '查看账本',
    showPlan: '查看套餐',
    errors: {
      '400': '兑换码输入有误，请与原码核对。',
      '404': '兑换码不存在，或已被其他账户兑换。',
      '429': '错误次数过多，请稍候再试。',
    } as { readonly [status: string]: string },
  },
);
