import { limitsTexts } from '../../parts/limits/texts.ts';
import { commonTexts } from '../../parts/texts.ts';
import { useFormat } from '../../text/format.ts';
import { defineTexts, useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';

/** Names of the fields that change most often, except limits. Other fields keep their API names. */
const fieldTexts = defineTexts(
  {
    name: 'Name',
    email: 'E-mail',
    status: 'Status',
    statusReason: 'Reason',
    verified: 'Verified',
    role: 'Role',
    operatorRole: 'Role',
    balanceYuan: 'Balance',
    refundedYuan: 'Refunded',
    chargeYuan: 'Charge',
    thresholdYuan: 'Threshold',
    dailySpendCapYuan: 'Daily limit',
    ownDailySpendCapYuan: 'Daily limit of the owners',
    dailySpendCapInForceYuan: 'Daily limit in force',
    weeklySpendCapYuan: 'Weekly budget',
    monthlySpendCapYuan: 'Monthly budget',
    totalSpendCapYuan: 'Budget in all',
    priceFactorBasisPoints: 'Price factor (basis points)',
    membersSeeBalance: 'Members see the balance',
    recording: 'Recorded about callers',
    recordingInForce: 'Recorded about callers, in force',
    concurrency: 'Concurrency',
    modelLimits: 'Limits of models',
    modelBudgets: 'Budgets of models',
    callerBudgets: 'Budgets of end users and tags',
    defaultBudgets: 'Default budgets',
    allowedModels: 'Models',
    allowedNetworks: 'Networks',
    scopes: 'Scopes',
    prefix: 'Prefix',
    expiresAt: 'Expires',
    revokedAt: 'Revoked',
    canceledAt: 'Canceled',
    endsAt: 'End',
    url: 'Address',
    events: 'Events',
    sessions: 'Sessions',
  },
  {
    name: '名称',
    email: '邮箱',
    status: '状态',
    statusReason: '原因',
    verified: '已核实',
    role: '角色',
    operatorRole: '角色',
    balanceYuan: '余额',
    refundedYuan: '已退款',
    chargeYuan: '扣费',
    thresholdYuan: '阈值',
    dailySpendCapYuan: '每日上限',
    ownDailySpendCapYuan: '所有者设置的每日上限',
    dailySpendCapInForceYuan: '生效的每日上限',
    weeklySpendCapYuan: '每周预算',
    monthlySpendCapYuan: '每月预算',
    totalSpendCapYuan: '累计预算',
    priceFactorBasisPoints: '价格系数（基点）',
    membersSeeBalance: '成员可查余额',
    recording: '调用方信息记录',
    recordingInForce: '生效的调用方信息记录',
    concurrency: '并发',
    modelLimits: '各模型限额',
    modelBudgets: '各模型预算',
    callerBudgets: '终端用户和标签的预算',
    defaultBudgets: '默认预算',
    allowedModels: '模型',
    allowedNetworks: '网络',
    scopes: '用途',
    prefix: '密钥开头',
    expiresAt: '到期时间',
    revokedAt: '吊销时间',
    canceledAt: '取消时间',
    endsAt: '结束',
    url: '地址',
    events: '事件',
    sessions: '登录会话',
  },
);

const valueTexts = defineTexts(
  {
    active: 'active',
    suspended: 'suspended',
    disabled: 'disabled',
    canceled: 'canceled',
    unresolved: 'unresolved',
    resolved: 'resolved',
    owner: 'owner',
    member: 'member',
    operator: 'operator',
    auditor: 'auditor',
  },
  {
    active: '正常',
    suspended: '已停用',
    disabled: '已停用',
    canceled: '已取消',
    unresolved: '待处理',
    resolved: '已处理',
    owner: '所有者',
    member: '成员',
    operator: '管理员',
    auditor: '审计员',
  },
);

interface FieldWriter {
  /** The field path with its first member translated. */
  nameOf(path: string): string;
  shownOf(path: string, value: unknown): string;
}

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$/;
const AMOUNT = /^-?\d+(?:\.\d+)?$/;
/** Fields whose values are enumerated by the API and translated. Values of other fields may be user input. */
const WORDS: ReadonlySet<string> = new Set(['status', 'role', 'operatorRole']);

export function useFieldWriter(): FieldWriter {
  const { limits } = useTexts(limitsTexts);
  const names: Readonly<Record<string, string>> = { ...limits, ...useTexts(fieldTexts) };
  const values: Readonly<Record<string, string>> = useTexts(valueTexts);
  const common = useTexts(commonTexts);
  const format = useFormat();
  return {
    nameOf(path) {
      const [first = '', ...rest] = path.split('.');
      const name = ownValue(names, first) ?? first;
      return rest.length === 0 ? name : `${name} · ${rest.join('.')}`;
    },
    shownOf(path, value) {
      if (value === undefined) return '–';
      if (value === null) return common.none;
      if (typeof value === 'boolean') return value ? common.yes : common.no;
      if (typeof value !== 'string') return JSON.stringify(value);
      if (WORDS.has(path)) return ownValue(values, value) ?? value;
      if (path.endsWith('Yuan') && AMOUNT.test(value)) return format.yuan(value);
      return path.endsWith('At') && INSTANT.test(value) ? format.instant(value) : value;
    },
  };
}
