import { pageTexts } from '../../parts/texts.ts';

export const priceSourceTexts = pageTexts(
  {
    title: 'Price source',
    readNow: 'Check prices now',
    address: 'Prices follow',
    terms: 'Terms',
    termsOf: (every: string, usdCny: string, marginPercent: string) =>
      `read every ${every}, ¥${usdCny} per dollar, margin ${marginPercent} %`,
    applies: 'Comes into force',
    neverApplies: 'never by itself',
    appliesBelow: (percent: string) => `by itself if every change is at most ${percent} %`,
    lastRead: 'Last read',
    reading: 'in progress',
    outcomes: {
      unchanged: 'nothing to change',
      draft: 'differences wait in a draft',
      applied: 'new prices put in force',
      changed: 'the source has other prices',
      failed: 'the source could not be used',
    },
    pricesStay: 'The present prices stay in force.',
    notFollowed: 'Does not follow the source, or only in part',
  },
  {
    title: '价格源',
    readNow: '立即检查价格',
    address: '价格跟随',
    terms: '条件',
    termsOf: (every: string, usdCny: string, marginPercent: string) =>
      `每 ${every} 读取一次，1 美元 = ¥${usdCny}，加价 ${marginPercent}%`,
    applies: '生效方式',
    neverApplies: '不会自动生效',
    appliesBelow: (percent: string) => `每项变动都不超过 ${percent}% 时自动生效`,
    lastRead: '最近读取',
    reading: '进行中',
    outcomes: {
      unchanged: '无需变更',
      draft: '差异已存为草稿，等待处理',
      applied: '新价格已生效',
      changed: '价格源的价格不同',
      failed: '无法使用价格源',
    },
    pricesStay: '当前价格保持不变。',
    notFollowed: '未跟随或仅部分跟随价格源',
  },
);
