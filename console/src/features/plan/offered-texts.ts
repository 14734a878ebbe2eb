import { defineTexts } from '../../text/language.tsx';

export const plansTexts = defineTexts(
  {
    lead: 'Coding Plans are defined in the configuration. Grant a plan on the page of an account.',
    none: 'The configuration has no plans',
    noneHint: 'Add one under “plans” in the configuration file. It applies as soon as you save the file.',
    toConfig: 'Configuration',
    active: 'Active subscriptions',
    moreThan: (count: string) => `more than ${count}`,
  },
  {
    lead: '配置中的编码套餐。请在配置中修改；在账户页面为账户开通。',
    none: '配置中没有套餐',
    noneHint: '在配置文件的 plans 下添加，保存后即生效。',
    toConfig: '查看配置',
    active: '生效中的订阅',
    moreThan: (count: string) => `超过 ${count}`,
  },
);
