import type { Notice } from './notice.ts';

export const LANGUAGES = ['en', 'zh'] as const;
export type NoticeLanguage = (typeof LANGUAGES)[number];

export interface Words {
  readonly subject: string;
  readonly text: string;
}

/** Returns a member of a notice's data as text for people. */
export type DataText = (name: string) => string;

/** Returns what a notice says. */
export function wordsOf(kind: Notice['kind'], of: DataText, language: NoticeLanguage): Words {
  return (language === 'zh' ? chinese : english)(kind, of);
}

function english(kind: Notice['kind'], of: DataText): Words {
  switch (kind) {
    case 'balance.low':
      return {
        subject: `Balance low: ${of('balanceYuan')} yuan`,
        text: `The balance of your account is ${of('balanceYuan')} yuan, which is below ${of('thresholdYuan')} yuan. Calls are refused once the balance is used up.`,
      };
    case 'budget.nearly_used': {
      const budget = BUDGETS_EN[of('scope')]?.(of) ?? 'A budget';
      const model = of('model') === '' ? '' : ` for ${of('model')}`;
      const period = PERIODS_EN[of('period')] ?? '';
      const renewal =
        of('resetsAt') === '' ? 'The budget is not renewed.' : `A new period begins at ${of('resetsAt')}.`;
      const refusal = isUsedUp(of) ? 'Further calls are refused.' : 'Calls are refused once it is used up.';
      return {
        subject: `${budget}${model}: ${of('percent')} % used`,
        text: `${budget}${model} ${period} has used ${of('usedYuan')} of ${of('limitYuan')} yuan. ${refusal} ${renewal}`,
      };
    }
    case 'plan.nearly_used':
      return {
        subject: `${of('planName')}: ${of('percent')} % used`,
        text: `Your plan ${of('planName')} has used ${of('used')} of ${of('limit')} ${MEASURES_EN[of('measure')] ?? ''}. ${of('measure') === 'five_hour_calls' ? 'The first of these calls leaves the window' : 'The limit resets'} at ${of('resetsAt')}.`,
      };
    case 'key.expiring':
      return {
        subject: `The API key ${of('name')} expires soon`,
        text: `Your API key ${of('name')} (${of('prefix')}) expires at ${of('expiresAt')}. Calls with it are refused from then on.`,
      };
    case 'invoice.closed': {
      const what = of('month') === '' ? 'top-ups' : of('month');
      return of('state') === 'issued'
        ? {
            subject: `Invoice ${of('invoiceNumber')} is issued`,
            text: `The invoice that your account requested for ${what}, ${of('amountYuan')} yuan, has the number ${of('invoiceNumber')}. ${of('note')}`,
          }
        : {
            subject: 'Your request for an invoice was refused',
            text: `The invoice that your account requested for ${what}, ${of('amountYuan')} yuan, is not issued. You can request it again. Reason: ${of('note')}`,
          };
    }
    case 'invoice.requested':
      return {
        subject: `${of('companyName')} requests an invoice`,
        text: `An account requests an invoice of ${of('amountYuan')} yuan. Issue it, then close the request.`,
      };
    case 'route.down':
      return {
        subject: `Route down: ${of('model')} at ${of('provider')}`,
        text: `Calls to ${of('model')} at ${of('provider')} have been failing since ${of('since')}.`,
      };
    case 'provider.refused_account':
      return {
        subject: `${of('provider')} refuses the credential ${of('credential')}`,
        text: `The provider ${of('provider')} refuses the credential ${of('credential')}, or the account it belongs to, with status ${of('status')}.`,
      };
    case 'provider.budget_nearly_used': {
      const budget = `${of('period') === 'day' ? 'Daily' : 'Monthly'} budget of ${LIMITED_EN[of('of')]?.(of) ?? of('provider')}`;
      const consequence = 'calls use other routes or credentials, and are refused if there are none.';
      return {
        subject: `${budget}: ${of('percent')} % used`,
        text: `${budget}: calls have cost ${of('usedYuan')} of ${of('limitYuan')} yuan. ${isUsedUp(of) ? 'Until it resets' : 'Once it is used up'}, ${consequence} It resets at ${of('resetsAt')}.`,
      };
    }
    case 'catalog.failed':
      return {
        subject: `Revision ${of('revision')} of the catalog cannot be used`,
        text: `The node ${of('node')} cannot use revision ${of('revision')} of the catalog. It keeps the earlier one, with its prices, and tries again.`,
      };
    case 'catalog.recovered':
      return {
        subject: `Revision ${of('revision')} of the catalog is in force`,
        text: `The node ${of('node')} could not use a revision of the catalog. It now applies revision ${of('revision')}.`,
      };
    case 'prices.changed': {
      const text = {
        draft: `Revision ${of('revision')} of the catalog is a draft with the new prices. It comes into force when you apply it.`,
        in_force: `Revision ${of('revision')} of the catalog with the new prices is in force.`,
      }[of('state')];
      return {
        subject: `Prices have changed at the price source: ${of('changeCount')} changes`,
        text: text ?? 'The catalog is in the configuration file, and keeps its prices until you change the file.',
      };
    }
    case 'prices.failed':
      return {
        subject: 'The price source cannot be read',
        text: `The price source ${of('source')} cannot be read. The present prices stay in force. ${of('reason')}`,
      };
    case 'webhook.test':
      return { subject: 'Test', text: 'This is a test.' };
  }
}

const isUsedUp = (of: DataText): boolean => Number(of('percent')) >= 100;

type Texts = Readonly<Record<string, string>>;
type BudgetTexts = Readonly<Record<string, (of: DataText) => string>>;

const BUDGETS_EN: BudgetTexts = {
  account: () => 'The daily spend cap of the account',
  member: (of) => `The budget of ${of('name')}`,
  key: (of) => `The budget of the API key ${of('name')} (${of('prefix')})`,
  endUser: (of) =>
    of('name') === ''
      ? 'The budget shared by end users beyond the daily maximum'
      : `The budget of the end user ${of('name')}`,
  tag: (of) =>
    of('name') === '' ? 'The budget shared by tags beyond the daily maximum' : `The budget of the tag ${of('name')}`,
};
const LIMITED_EN: BudgetTexts = {
  provider: (of) => `the provider ${of('provider')}`,
  route: (of) => `the route of ${of('model')} to ${of('provider')} (${of('providerModel')})`,
  credential: (of) => `the credential ${of('credential')} of ${of('provider')}`,
};
const PERIODS_EN: Texts = { day: 'for the day', week: 'for the week', month: 'for the month', total: 'in total' };
const MEASURES_EN: Texts = {
  tokens: 'tokens in this period',
  weekly_calls: 'calls this week',
  five_hour_calls: 'calls in five hours',
};

function chinese(kind: Notice['kind'], of: DataText): Words {
  switch (kind) {
    case 'balance.low':
      return {
        subject: `余额不足：${of('balanceYuan')} 元`,
        text: `账户余额为 ${of('balanceYuan')} 元，低于 ${of('thresholdYuan')} 元。余额用尽后，调用将被拒绝。`,
      };
    case 'budget.nearly_used': {
      const budget = BUDGETS_ZH[of('scope')]?.(of) ?? '预算';
      const model = of('model') === '' ? '' : `（模型 ${of('model')}）`;
      const period = PERIODS_ZH[of('period')] ?? '';
      const renewal = of('resetsAt') === '' ? '该预算不会重置。' : `将于 ${of('resetsAt')} 重置。`;
      const refusal = isUsedUp(of) ? '后续调用将被拒绝。' : '用尽后，调用将被拒绝。';
      return {
        subject: `${budget}${model}已用 ${of('percent')}%`,
        text: `${budget}${model}${period}已用 ${of('usedYuan')} 元，上限 ${of('limitYuan')} 元。${refusal}${renewal}`,
      };
    }
    case 'plan.nearly_used':
      return {
        subject: `套餐 ${of('planName')} 已用 ${of('percent')}%`,
        text: `套餐 ${of('planName')} ${MEASURES_ZH[of('measure')] ?? ''}已用 ${of('used')}，上限 ${of('limit')}。${of('measure') === 'five_hour_calls' ? '其中最早的调用将移出窗口的时间' : '重置时间'}：${of('resetsAt')}。`,
      };
    case 'key.expiring':
      return {
        subject: `API 密钥 ${of('name')} 即将过期`,
        text: `API 密钥 ${of('name')}（${of('prefix')}）将于 ${of('expiresAt')} 过期，此后使用它的调用将被拒绝。`,
      };
    case 'invoice.closed': {
      const what = of('month') === '' ? '充值' : of('month');
      return of('state') === 'issued'
        ? {
            subject: `发票 ${of('invoiceNumber')} 已开具`,
            text: `账户申请的发票（${what}，${of('amountYuan')} 元）已开具，发票号码：${of('invoiceNumber')}。${of('note')}`,
          }
        : {
            subject: '开票申请被拒绝',
            text: `账户申请的发票（${what}，${of('amountYuan')} 元）未开具，可以重新申请。原因：${of('note')}`,
          };
    }
    case 'invoice.requested':
      return {
        subject: `${of('companyName')} 申请开票`,
        text: `有账户申请开具 ${of('amountYuan')} 元的发票。请开具发票，然后关闭申请。`,
      };
    case 'route.down':
      return {
        subject: `路由不可用：${of('model')}，供应商 ${of('provider')}`,
        text: `自 ${of('since')} 起，经供应商 ${of('provider')} 调用 ${of('model')} 持续失败。`,
      };
    case 'provider.refused_account':
      return {
        subject: `供应商 ${of('provider')} 拒绝凭据 ${of('credential')}`,
        text: `供应商 ${of('provider')} 拒绝凭据 ${of('credential')} 或其所属账户，状态码 ${of('status')}。`,
      };
    case 'provider.budget_nearly_used': {
      const budget = `${LIMITED_ZH[of('of')]?.(of) ?? of('provider')} 的${of('period') === 'day' ? '每日' : '每月'}预算`;
      return {
        subject: `${budget}已用 ${of('percent')}%`,
        text: `${budget}：调用成本已达 ${of('usedYuan')} 元，上限 ${of('limitYuan')} 元。${isUsedUp(of) ? '重置之前' : '用尽后'}，调用改用其他路由或凭据；没有可用的，则被拒绝。将于 ${of('resetsAt')} 重置。`,
      };
    }
    case 'catalog.failed':
      return {
        subject: `目录修订 ${of('revision')} 无法使用`,
        text: `节点 ${of('node')} 无法使用目录修订 ${of('revision')}，将沿用上一修订及其价格，并继续重试。`,
      };
    case 'catalog.recovered':
      return {
        subject: `目录修订 ${of('revision')} 已生效`,
        text: `节点 ${of('node')} 此前无法使用目录的一个修订，现已启用修订 ${of('revision')}。`,
      };
    case 'prices.changed': {
      const text = {
        draft: `目录修订 ${of('revision')} 是包含新价格的草稿，应用后生效。`,
        in_force: `包含新价格的目录修订 ${of('revision')} 已生效。`,
      }[of('state')];
      return {
        subject: `价格源的价格有变：${of('changeCount')} 处`,
        text: text ?? '目录在配置文件中，修改文件之前沿用现有价格。',
      };
    }
    case 'prices.failed':
      return {
        subject: '无法读取价格源',
        text: `无法读取价格源 ${of('source')}，现有价格继续有效。${of('reason')}`,
      };
    case 'webhook.test':
      return { subject: '测试', text: '这是一条测试通知。' };
  }
}

const BUDGETS_ZH: BudgetTexts = {
  account: () => '账户的每日消费上限',
  member: (of) => `成员 ${of('name')} 的预算`,
  key: (of) => `API 密钥 ${of('name')}（${of('prefix')}）的预算`,
  endUser: (of) => (of('name') === '' ? '其余终端用户共用的预算' : `终端用户 ${of('name')} 的预算`),
  tag: (of) => (of('name') === '' ? '其余标签共用的预算' : `标签 ${of('name')} 的预算`),
};
const LIMITED_ZH: BudgetTexts = {
  provider: (of) => `供应商 ${of('provider')}`,
  route: (of) => `模型 ${of('model')} 到供应商 ${of('provider')} 的路由 ${of('providerModel')}`,
  credential: (of) => `供应商 ${of('provider')} 的凭据 ${of('credential')}`,
};
const PERIODS_ZH: Texts = { day: '今日', week: '本周', month: '本月', total: '累计' };
const MEASURES_ZH: Texts = { tokens: '本周期的 token ', weekly_calls: '本周的调用', five_hour_calls: '五小时内的调用' };
