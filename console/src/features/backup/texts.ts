import { pageTexts } from '../../parts/texts.ts';

export const backupTexts = pageTexts(
  {
    lead: 'All of the database in one file, while the gateway serves.',
    contains:
      'Accounts, hashes of keys and passwords, secrets of webhooks, balances, ledger, call records, subscriptions, price lists, the change log, and responses that are stored for repeats. Keep the file where nobody else can read it.',
    left: 'Not in it: calls in flight, the configuration, and the files of credentials that it names.',
    restore: 'A new database is filled from it with: faregate db import',
    download: 'Download a backup',
    received: (size: string) => `${size} received`,
    saved: (size: string) => `The backup is whole and saved: ${size}.`,
    personOnly: 'Only operators may download it.',
  },
  {
    lead: '网关运行时将整个数据库导出为一个文件。',
    contains:
      '包含账户、密钥与密码的哈希、Webhook 密钥、余额、账本、调用记录、订阅、价格表、变更日志，以及为重复请求保存的响应。请将文件存放在他人无法读取的位置。',
    left: '不包含：进行中的调用、配置，以及配置所引用的凭据文件。',
    restore: '恢复到新数据库的命令：faregate db import',
    download: '下载备份',
    received: (size: string) => `已接收 ${size}`,
    saved: (size: string) => `备份完整并已保存：${size}。`,
    personOnly: '仅管理员可下载。',
  },
);
