import { pageTexts } from '../../parts/texts.ts';

export const backupTexts = pageTexts(
  {
    lead: 'The whole database in one file. The gateway keeps serving.',
    contains:
      'The file contains accounts, hashes of keys and passwords, webhook secrets, balances, the ledger, call records, subscriptions, price lists, the audit log and stored responses. Keep it where nobody else can read it.',
    left: 'Not included: calls in flight, the configuration, and the credential files that it names.',
    restore: 'To restore into a new database: faregate db import',
    download: 'Download a backup',
    received: (size: string) => `${size} received`,
    saved: (size: string) => `The backup is complete and saved: ${size}.`,
    personOnly: 'Only operators can download it.',
  },
  {
    lead: '网关运行时将整个数据库导出为一个文件。',
    contains:
      '包含账户、密钥与密码的哈希、Webhook 密钥、余额、账本、调用记录、订阅、价格表、审计日志，以及为重复请求保存的响应。请将文件存放在他人无法读取的位置。',
    left: '不包含：进行中的调用、配置，以及配置所引用的凭据文件。',
    restore: '恢复到新数据库的命令：faregate db import',
    download: '下载备份',
    received: (size: string) => `已接收 ${size}`,
    saved: (size: string) => `备份完整并已保存：${size}。`,
    personOnly: '仅管理员可下载。',
  },
);
