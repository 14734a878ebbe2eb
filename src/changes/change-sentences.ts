import {
  type Bilingual,
  ChangeFacts,
  type DescribedChange,
  type KnownNames,
  NOTHING,
  quotedName,
  remark,
  roleOf,
  yuan,
} from './change-facts.ts';
import type { Recorded } from './recorded-value.ts';

/** A sentence about a change, without the actor. It begins with a participle, so that it can follow "may have". */
type Sentence = (facts: ChangeFacts) => Bilingual;

/** Sentence for a change of an account or a user. */
const changed =
  (en: string, zh: string): Sentence =>
  (facts) => {
    const [old, name] = [quotedName(facts.was('name')), facts.name];
    const [was, is] = [facts.was('status'), facts.is('status')];
    const reason = remark(facts.is('statusReason'));
    if (is === 'suspended' && was !== is) {
      return { en: `suspended ${en} ${name}${reason.en}`, zh: `停用${zh}${name}${reason.zh}` };
    }
    if (was === 'suspended' && is === 'active') {
      return { en: `reactivated ${en} ${name}`, zh: `恢复${zh}${name}` };
    }
    if (facts.is('name') !== null && old !== '' && old !== name) {
      return { en: `renamed ${en} ${old} to ${name}`, zh: `将${zh}${old}改名为${name}` };
    }
    return { en: `changed ${en} ${name}`, zh: `修改${zh}${name}` };
  };

type Named = 'name' | 'account' | 'plan' | 'issuer';

/** A sentence with placeholders in braces. */
const fixed = (en: string, zh: string): Sentence => {
  const filled = (text: string, language: keyof Bilingual, facts: ChangeFacts): string =>
    text.replaceAll(/\{(\w+)\}/g, (_braces, name: Named) => {
      const fact = facts[name];
      return typeof fact === 'string' ? fact : fact[language];
    });
  return (facts) => ({ en: filled(en, 'en', facts), zh: filled(zh, 'zh', facts) });
};

const posted =
  (write: (amount: Recorded, account: Bilingual) => Bilingual): Sentence =>
  (facts) => {
    const [said, { en, zh }] = [remark(facts.is('memo')), write(facts.is('amountYuan'), facts.account)];
    return { en: `${en}${said.en}`, zh: `${zh}${said.zh}` };
  };

const announcement =
  (en: string, zh: string): Sentence =>
  (facts) => ({
    en: `${en} announcement ${quotedName(facts.either('textEn') ?? facts.either('textZh'))}`,
    zh: `${zh}公告${quotedName(facts.either('textZh') ?? facts.either('textEn'))}`,
  });

const refunded: Sentence = (facts) => {
  const [call, said, amount] = [facts.call, remark(facts.is('memo')), yuan(facts.is('amountYuan'))];
  return {
    en: `refunded ${amount === '' ? 'the charge' : amount} of ${call.en}${said.en}`,
    zh: `退还${call.zh}的扣费${amount === '' ? '' : ` ${amount}`}${said.zh}`,
  };
};

const resolved: Sentence = (facts) => {
  const call = facts.call;
  const made = facts.is('resolution') as { readonly action?: string; readonly tokens?: number; memo?: Recorded } | null;
  const [said, charge] = [remark(made?.memo ?? null), yuan(facts.is('chargeYuan'))];
  const ways: Readonly<Record<string, Bilingual>> = {
    charge: { en: `, charged ${charge}`, zh: `，扣费 ${charge}` },
    count: { en: `, counted ${made?.tokens} tokens`, zh: `，计入 ${made?.tokens} 个 token` },
    release: { en: ', released it', zh: '，释放预留' },
  };
  const way = ways[made?.action ?? ''] ?? NOTHING;
  return { en: `resolved ${call.en}${way.en}${said.en}`, zh: `处理${call.zh}${way.zh}${said.zh}` };
};

/** Sentence for a drain of a provider, of a model at all providers or at one, or of a route. */
const drain =
  (en: string, zh: string): Sentence =>
  (facts) => {
    const [provider, model, at] = [facts.either('provider'), facts.either('model'), facts.either('providerModel')];
    const said = remark(facts.is('reason'));
    const parts: Bilingual[] = [];
    if (model !== null) parts.push({ en: `model ${quotedName(model)}`, zh: `模型${quotedName(model)}` });
    if (at !== null) parts.push({ en: `its model ${quotedName(at)}`, zh: `供应商端模型${quotedName(at)}` });
    if (provider !== null) parts.push({ en: `provider ${quotedName(provider)}`, zh: `供应商${quotedName(provider)}` });
    return {
      en: `${en} ${parts.map((part) => part.en).join(' at ')}${said.en}`,
      zh: `${zh}${parts
        .toReversed()
        .map((part) => part.zh)
        .join('的')}${said.zh}`,
    };
  };

const membership: Sentence = (facts) => {
  const [{ name, account }, as] = [facts, roleOf(facts.is('role'))];
  return facts.wasThere
    ? { en: `made ${name} ${as.en} of${account.en}`, zh: `将${account.zh}的${name}设为${as.zh}` }
    : { en: `added ${name} to${account.en} as ${as.en}`, zh: `将${name}加入${account.zh}，身份为${as.zh}` };
};

const memberChanged: Sentence = (facts) => {
  if (facts.was('role') !== facts.is('role')) return membership(facts);
  const { name, account } = facts;
  return { en: `changed the limits of ${name} in${account.en}`, zh: `修改${name}在${account.zh}中的限额` };
};

const callerBudgets = fixed(
  'changed the budgets of end users and tags of{account}',
  '修改{account}的终端用户和标签预算',
);

const memberRemoved: Sentence = (facts) => {
  const { name, account } = facts;
  const isRevoked: Bilingual = { en: ', and revoked their keys', zh: '，并吊销其密钥' };
  const isHanded: Bilingual = { en: ', and transferred their keys to another member', zh: '，并将其密钥移交他人' };
  const keys = facts.is('keysTo') !== null ? isHanded : facts.is('areKeysRevoked') === true ? isRevoked : NOTHING;
  return { en: `removed ${name} from${account.en}${keys.en}`, zh: `将${name}移出${account.zh}${keys.zh}` };
};

const webhook =
  (en: string, zh: string, zhEnd = ''): Sentence =>
  (facts) => {
    const [url, { account }] = [String(facts.either('url') ?? ''), facts];
    const of =
      account.en === '' ? { en: ' of the operators', zh: '管理员' } : { en: ` of${account.en}`, zh: account.zh };
    return { en: `${en} ${url}${of.en}`, zh: `${zh}${of.zh}的 Webhook 端点 ${url}${zhEnd}` };
  };

const webhookChanged: Sentence = (facts) => {
  const isAltered = facts.was('status') !== facts.is('status');
  if (isAltered && facts.is('status') === 'disabled') return webhook('disabled the webhook endpoint', '停用')(facts);
  if (isAltered && facts.is('status') === 'active') return webhook('enabled the webhook endpoint', '启用')(facts);
  return webhook('changed the webhook endpoint', '修改')(facts);
};

const lowBalance: Sentence = (facts) => {
  const [threshold, { account }] = [facts.is('thresholdYuan'), facts];
  return threshold === null
    ? {
        en: `reset the low-balance threshold of${account.en} to the configured value`,
        zh: `将${account.zh}的余额不足通知恢复为配置值`,
      }
    : {
        en: `set the low-balance threshold of${account.en} to ${yuan(threshold)}`,
        zh: `将${account.zh}的余额不足通知设为低于 ${yuan(threshold)}`,
      };
};

const redeemed: Sentence = (facts) => {
  const [given, end] = [facts.gift, facts.is('codeEnd')];
  const code = end === null ? NOTHING : { en: ` …${end}`, zh: ` …${end} ` };
  return {
    en: `redeemed voucher${code.en} for${facts.account.en}${given.en === '' ? '' : `: ${given.en}`}`,
    zh: `为${facts.account.zh}使用兑换码${code.zh.trimEnd()}${given.zh === '' ? '' : `：${given.zh.trim()}`}`,
  };
};

const vouchersMade: Sentence = (facts) => {
  const [given, count] = [facts.gift, Number(facts.is('count') ?? 0)];
  if (count === 0) return { en: `created vouchers ${facts.name}`, zh: `生成兑换码${facts.name}` };
  return {
    en: `created ${count} ${count === 1 ? 'voucher' : 'vouchers'} ${facts.name} of ${given.en}`,
    zh: `生成 ${count} 个兑换码${facts.name}，每个可兑换${given.zh}`,
  };
};

const invitation =
  (en: string, zh: string): Sentence =>
  (facts) => {
    const [email, { account }, as] = [facts.either('email'), facts, roleOf(facts.either('role'))];
    const whom = email === null ? { en: 'somebody', zh: '他人' } : { en: String(email), zh: ` ${email} ` };
    return { en: `${en} ${whom.en} to${account.en} as ${as.en}`, zh: `${zh}${whom.zh}以${as.zh}身份加入${account.zh}` };
  };

const signedOut: Sentence = (facts) => {
  if (facts.subjectKind === 'session') return { en: 'ended a session of their own', zh: '结束自己的一个会话' };
  const left = facts.is('sessions');
  return Array.isArray(left) && left.length > 0
    ? { en: 'signed out everywhere else', zh: '退出其他所有登录' }
    : { en: 'signed out everywhere', zh: '退出所有登录' };
};

const linkUsed: Sentence = (facts) => {
  const issuer = facts.issuer;
  return issuer === ''
    ? { en: 'used a one-time link', zh: '使用一次性链接' }
    : { en: `used a one-time link, and signs in by ${issuer}`, zh: `使用一次性链接，以 ${issuer} 登录` };
};

const madeWithRole =
  (en: string, zh: string, member: string): Sentence =>
  (facts) => {
    const as = roleOf(facts.is(member));
    return as === NOTHING
      ? fixed(`${en} {name}`, `${zh}{name}`)(facts)
      : { en: `${en} ${facts.name} (${as.en})`, zh: `${zh}${facts.name}（${as.zh}）` };
  };

/** Sentence about a request for an invoice: its number or reason, its month and amount. */
const invoiceRequest =
  (en: string, zh: string): Sentence =>
  (facts) => {
    const { account } = facts;
    const [month, amount] = [facts.either('month'), yuan(facts.either('amountYuan'))];
    const of = month === null ? amount : `${month}, ${amount}`;
    const said = remark([facts.is('invoiceNumber'), facts.is('note')].filter((text) => text !== null).join(', '));
    return { en: `${en} of${account.en} (${of})${said.en}`, zh: `${account.zh}：${zh}（${of}）${said.zh}` };
  };

const CHANGES_SHOWN = 3;

/** Sentence for another revision of the catalog, or another configuration, with the first of its changes. */
const catalogChanged =
  (en: string, zh: string): Sentence =>
  (facts) => {
    // Rows of earlier versions have the names of the changed sections instead.
    const changes = facts.is('changes') ?? facts.is('changed');
    const list = Array.isArray(changes) ? changes.map(String) : [];
    const shown = list.slice(0, CHANGES_SHOWN);
    const hidden = list.length - shown.length;
    const number = facts.is('number');
    const said = facts.is('reason');
    const reason = typeof said === 'string' ? { en: ` (${said})`, zh: `（${said}）` } : NOTHING;
    return {
      en: `${en}${number === null ? '' : ` to revision ${number}`}${reason.en}${remark([...shown, ...(hidden > 0 ? [`and ${hidden} more`] : [])].join('; ')).en}`,
      zh: `${zh}${number === null ? '' : `（版本 ${number}）`}${reason.zh}${remark([...shown, ...(hidden > 0 ? [`另有 ${hidden} 项`] : [])].join('；')).zh}`,
    };
  };

const published = catalogChanged('changed the catalog', '修改目录');
const drafted = catalogChanged('drafted a change of the catalog', '起草目录修改');
const followed = catalogChanged('updated the catalog from the price source', '按价格源更新目录');

const SENTENCES: Readonly<Record<string, Sentence>> = {
  'account.change': changed('account', '账户'),
  'accounts.change': changed('account', '账户'),
  'accounts.create': fixed('created account {name}', '创建账户{name}'),
  'accounts.keys.create': fixed('created key {name} of{account}', '创建{account}的密钥{name}'),
  'accounts.imported-keys.create': fixed('imported key {name} of{account}', '接管{account}的密钥{name}'),
  'keys.create': fixed('created key {name} of{account}', '创建{account}的密钥{name}'),
  'keys.change': fixed('changed key {name} of{account}', '修改{account}的密钥{name}'),
  'keys.replacement.create': fixed('replaced key {name} of{account}', '轮换{account}的密钥{name}'),
  'keys.delete': fixed('revoked key {name} of{account}', '吊销{account}的密钥{name}'),
  'accounts.top-ups.create': posted((amount, account) => ({
    en: `added ${yuan(amount)} to${account.en}`,
    zh: `为${account.zh}充值 ${yuan(amount)}`,
  })),
  'accounts.adjustments.create': posted((amount, account) => ({
    en: `adjusted the balance of${account.en} by ${yuan(amount, true)}`,
    zh: `将${account.zh}的余额调账 ${yuan(amount, true)}`,
  })),
  'invoice-requests.create': invoiceRequest('requested an invoice', '申请发票'),
  'invoice-requests.issue': invoiceRequest('issued the invoice', '开具发票'),
  'invoice-requests.refuse': invoiceRequest('refused the request for an invoice', '拒绝开票申请'),
  'calls.refunds.create': refunded,
  'calls.resolution': resolved,
  'accounts.subscriptions.create': fixed('granted plan {plan} to{account}', '为{account}开通套餐{plan}'),
  'subscriptions.renewals.create': fixed('renewed plan {plan} of{account}', '续期{account}的套餐{plan}'),
  'subscriptions.delete': fixed('canceled plan {plan} of{account}', '取消{account}的套餐{plan}'),
  'routes.drain': drain('drained', '排空'),
  'routes.resume': drain('resumed', '恢复'),
  'secrets.replace': fixed('set sealed secret {name}', '设置密封机密{name}'),
  'secrets.delete': fixed('deleted sealed secret {name}', '删除密封机密{name}'),
  'secrets.rotate': fixed('sealed all secrets with the current key', '用当前密钥重新密封所有机密'),
  'tokens.create': madeWithRole('created admin token', '创建管理令牌', 'role'),
  'tokens.delete': fixed('revoked admin token {name}', '吊销管理令牌{name}'),
  'users.create': madeWithRole('created user', '创建用户', 'operatorRole'),
  'users.change': changed('user', '用户'),
  'users.confirm': fixed('confirmed user {name}', '确认用户{name}'),
  'users.delete': fixed('deleted user {name}', '删除用户{name}'),
  'users.links.create': fixed('created a one-time link for user {name}', '为用户{name}生成一次性链接'),
  'users.sessions.delete': fixed('signed user {name} out everywhere', '使用户{name}退出所有登录'),
  'user.change': changed('user', '用户'),
  'accounts.members.create': membership,
  'accounts.members.change': memberChanged,
  'accounts.members.delete': memberRemoved,
  'members.change': memberChanged,
  'members.delete': memberRemoved,
  'accounts.caller-budgets.change': callerBudgets,
  'caller-budgets.change': callerBudgets,
  'announcements.create': announcement('created', '创建'),
  'announcements.change': announcement('changed', '修改'),
  'announcements.delete': announcement('deleted', '删除'),
  'webhooks.create': webhook('created the webhook endpoint', '添加'),
  'webhooks.change': webhookChanged,
  'webhooks.delete': webhook('deleted the webhook endpoint', '删除'),
  'webhooks.test.create': webhook('sent a test to the webhook endpoint', '向', ' 发送测试'),
  'webhooks.redeliver.create': webhook('resent a notice to the webhook endpoint', '向', ' 重新发送通知'),
  'accounts.low-balance.replace': lowBalance,
  'low-balance.replace': lowBalance,
  // This action is that of the admin API, which creates batches, and of the account API, which redeems codes.
  'vouchers.create': (facts) => (facts.is('redeemedAt') === null ? vouchersMade : redeemed)(facts),
  'vouchers.delete': fixed('canceled vouchers {name}', '作废兑换码{name}'),
  'accounts.vouchers.create': redeemed,
  'invitations.create': invitation('invited', '邀请'),
  'invitations.delete': invitation('revoked the invitation of', '撤回邀请：'),
  'sessions.delete': signedOut,
  'password.replace': fixed('changed their own password', '修改自己的密码'),
  'password-resets.create': fixed('asked for a link to reset a password', '申请重置密码的链接'),
  'links.use': linkUsed,
  'links.use.create': linkUsed,
  'identities.create': fixed('added sign-in by {issuer}', '添加登录方式 {issuer}'),
  'identities.delete': fixed('removed sign-in by {issuer}', '移除登录方式 {issuer}'),
  'config.reload': catalogChanged('reloaded the configuration', '重新加载配置'),
  'config.refused': fixed('kept the earlier configuration, because the file is not valid', '配置文件无效，保留原配置'),
  'catalog.revisions.create': (facts) =>
    (facts.is('number') !== null && facts.is('inForceAt') === null ? drafted : published)(facts),
  'catalog.revisions.rollback.create': catalogChanged('rolled the catalog back', '回滚目录'),
  'catalog.revisions.apply': catalogChanged('applied a draft and changed the catalog', '采用草稿，修改目录'),
  'catalog.price-source.read': (facts) => (facts.is('outcome') === 'draft' ? drafted : followed)(facts),
  'catalog.prices.follow': followed,
  'catalog.revisions.delete': (facts) => ({
    en: `canceled revision ${facts.subjectId} of the catalog`,
    zh: `取消目录的版本 ${facts.subjectId}`,
  }),
  export: fixed('downloaded a backup of the database', '下载数据库备份'),
  // An action that only earlier versions recorded.
  'export.read': fixed('downloaded a backup of the database', '下载数据库备份'),
  'db.import': (facts) => ({
    en: `imported a database of ${facts.is('accounts')} accounts`,
    zh: `导入含 ${facts.is('accounts')} 个账户的数据库`,
  }),
};

/** Describes a change. The sentence begins with "may have" if the outcome is unknown. An action of another version is shown as it is. */
export function changeSentence(change: DescribedChange, names: KnownNames): Bilingual {
  const sentence = Object.hasOwn(SENTENCES, change.action) ? SENTENCES[change.action] : undefined;
  if (sentence === undefined) return { en: change.action, zh: change.action };
  const text = sentence(new ChangeFacts(change, names));
  // If a change was not completed, a name may be missing.
  const [en, zh] = [text.en.trim(), text.zh.trim()];
  return change.outcome === 'done' ? { en, zh } : { en: `may have ${en}`, zh: `可能已${zh}` };
}
