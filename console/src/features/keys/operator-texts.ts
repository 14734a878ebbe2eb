import { pageTexts } from '../../parts/texts.ts';

export const operatorKeysTexts = pageTexts(
  {
    lead: 'Keys are shown once, when they are created.',
    create: 'New key',
    none: 'No keys yet',
    noneHint: 'Programs need a key to make calls for this account.',
  },
  {
    lead: '密钥仅在创建时显示一次。',
    create: '创建密钥',
    none: '暂无密钥',
    noneHint: '程序需要密钥才能为此账户发起调用。',
  },
);
