import { pageTexts } from '../../parts/texts.ts';

export const plansTexts = pageTexts(
  {
    lead: 'Coding Plans are defined in the catalog. Grant a plan on the page of an account.',
    none: 'The catalog has no plans',
    noneHint: 'Add one here; it needs a model.',
    active: 'Active subscriptions',
    moreThan: (count: string) => `more than ${count}`,
    add: 'Add a plan',
    editTitle: (id: string) => `Edit plan ${id}`,
    notInForce: 'Not in force yet.',
    modelNeeded: 'Choose at least one model.',
    periodDays: 'Days in a period',
    price: 'Price of a period',
    inputHint: 'Such as 4MiB.',
    outputHint: 'In tokens.',
  },
  {
    lead: '目录中的编码套餐。在账户页面为账户开通。',
    none: '目录中没有套餐',
    noneHint: '请在此处添加。套餐至少需要一个模型。',
    active: '生效中的订阅',
    moreThan: (count: string) => `超过 ${count}`,
    add: '添加套餐',
    editTitle: (id: string) => `编辑套餐 ${id}`,
    notInForce: '尚未生效。',
    modelNeeded: '请至少选择一个模型。',
    periodDays: '周期天数',
    price: '每周期价格',
    inputHint: '例如 4MiB。',
    outputHint: '单位为 token。',
  },
);
