import { pageTexts } from '../../parts/texts.ts';
import { counted } from '../../text/counted.ts';

export const auditTexts = pageTexts(
  {
    lead: 'Checks that balances, ledger entries, call records, plans and usage totals are consistent. Calls continue, and nothing is changed.',
    warning:
      'An audit reads the whole database: seconds for thousands of calls, minutes for millions. You can stop it. It continues while you use other pages.',
    run: 'Run the audit',
    runAgain: 'Run again',
    none: 'No audit in this session',
    noneHint: 'Run an audit after an incident, a restore or a migration, and before you close a month.',
    running: 'The audit is running',
    progress: 'Progress',
    entries: 'Ledger entries read',
    calls: 'Call records read',
    began: 'Began',
    took: 'Duration',
    stopped: 'The audit was stopped before it completed.',
    sound: 'All data is consistent',
    soundHint: (count: number) => `All ${count} invariants hold.`,
    broken: (count: number) => (count === 1 ? 'One invariant is broken' : `${count} invariants are broken`),
    brokenHint:
      'Check the accounts below, their ledgers and audit logs before you correct anything. Up to 100 violations of each invariant are listed.',
    invariants: 'Invariants',
    invariant: 'Invariant',
    holds: 'holds',
    breaches: (count: number) => counted(count, 'breach', 'breaches'),
    breachesOf: 'Violations',
    detail: 'Detail',
  },
  {
    lead: '在调用持续进行的同时，核对余额、账本、调用记录、套餐与用量汇总是否一致。审计不会更改任何数据。',
    warning: '审计会读取整个数据库：数千条调用需要数秒，数百万条需要数分钟。可随时停止；切换到其他页面时审计会继续。',
    run: '开始审计',
    runAgain: '重新审计',
    none: '尚未在此运行审计',
    noneHint: '建议在故障、恢复或迁移之后，以及月末结账之前运行。',
    running: '审计进行中',
    progress: '进度',
    entries: '已读账目',
    calls: '已读调用记录',
    began: '开始时间',
    took: '耗时',
    stopped: '审计在得出结果前被停止。',
    sound: '账务一致',
    soundHint: (count: number) => `全部 ${count} 项不变式均成立。`,
    broken: (count: number) => `${count} 项不变式被破坏`,
    brokenHint: '更正之前，请先查看下列账户及其账本与审计日志。每项不变式最多列出 100 处问题。',
    invariants: '不变式',
    invariant: '不变式',
    holds: '成立',
    breaches: (count: number) => `${count} 处问题`,
    breachesOf: '问题明细',
    detail: '问题',
  },
);

/** Chinese names of the invariants, by the name that the gateway returns. Others are shown as returned. */
export const INVARIANTS_ZH: Readonly<Record<string, string>> = {
  'the balance is the sum of the ledger entries': '余额等于账目之和',
  'reserved money is the sum of the open reservations': '预留金额等于未结预留之和',
  'ledger entries are numbered without gaps, and each continues from the balance of the entry before it':
    '账目编号连续，余额逐条结转',
  'the last entry number of every balance matches the ledger': '余额记录的末条编号与账本一致',
  'every settled call has a ledger entry with its charge': '每笔已结算调用都有相应扣费账目',
  'every charge belongs to a call': '每笔扣费都有对应调用',
  'for months whose call records were dropped, the stored sums equal the charges in the ledger':
    '记录已删除的调用，其扣费与删除时的汇总一致',
  'unresolved calls have no charge, resolved calls are charged at most their reserved amount, and all other records have no reserved amount':
    '待处理调用不扣费；已处理调用的扣费不超过其预留金额，且不与其他记录重复',
  'every refund belongs to a charged call of the same account, and refunds never exceed its charge':
    '退款对应本账户已扣费的调用，且不超过扣费金额',
  'the price list of every call record is stored': '每条调用记录的价目均存在',
  'subscriptions correctly count their coding calls in flight': '套餐订阅的进行中调用数正确',
  'subscriptions correctly count the tokens that calls in flight have reserved in the current period':
    '套餐订阅统计的本周期预留 token 数正确',
  'subscriptions correctly count the slots of their five-hour windows': '套餐订阅的五小时窗口计数正确',
  'keys with limits correctly count their calls in flight and the amounts reserved by these calls':
    '受限密钥的进行中调用数及预留金额正确',
  'every account has a balance, and every balance has an account': '账户与余额一一对应',
  'accounts correctly count their charges of the current day': '账户的当日扣费计数正确',
  'subscriptions correctly count the calls of the current week': '套餐订阅的本周调用数正确',
  'subscriptions correctly count the tokens of the current period': '套餐订阅的本周期 token 数正确',
  'keys with limits correctly count the calls of the current day': '受限密钥的当日调用数正确',
  'keys with limits correctly count their charges by day, week and month, and in total':
    '受限密钥的日、周、月及总扣费计数正确',
  'the call records agree with the counters of subscriptions and keys with limits':
    '套餐订阅和受限密钥的调用记录计数正确',
  'a coding call has no charge': '套餐内调用不扣费',
  'an ended call has no reservation': '已结束的调用没有预留',
  'every redeemed voucher has a matching ledger entry or subscription, and every entry or subscription from a voucher has a matching redemption':
    '每个已兑换的兑换码都有对应的账目或订阅，且每个来自兑换码的账目或订阅都有对应的兑换记录',
  'usage sums match the charges and refunds of the ledger': '用量汇总与账本的扣费和退款一致',
};
