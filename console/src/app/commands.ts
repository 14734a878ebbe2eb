import type { Command, CommandSubject } from '../layout/command.ts';
import type { PageFor } from '../layout/page-for.ts';
import { DIALOG, DIALOG_OF, hashOf } from '../parts/location.ts';
import type { Language } from '../text/language.tsx';

type Title = Readonly<Record<Language, string>>;

const command = (pageFor: PageFor, title: Title, subject: CommandSubject | null, place: Command['place']): Command => ({
  title,
  for: pageFor,
  subject,
  place,
});

/** A dialog of a page. */
const atPage = (pageFor: PageFor, title: Title, path: string, dialog: string, query = {}): Command =>
  command(pageFor, title, null, () => hashOf(path, { ...query, [DIALOG]: dialog }));

/** A dialog on a tab of an account's page. */
const ofAccount = (title: Title, tab: string, dialog: string): Command =>
  command('operator', title, 'account', (id) => hashOf(`/operator/accounts/${id}`, { tab, [DIALOG]: dialog }));

/** A dialog about an entry of the catalog. */
const ofEntry = (title: Title, subject: CommandSubject, path: string, dialog: string): Command =>
  command('operator', title, subject, (name) => hashOf(path, { [DIALOG]: dialog, [DIALOG_OF]: name }));

/** All commands, in the order of the palette. */
export const COMMANDS: readonly Command[] = [
  atPage('member', { en: 'Create a key', zh: '创建密钥' }, '/keys', 'new'),
  atPage('owner', { en: 'Invite a member', zh: '邀请成员' }, '/members', 'invite'),
  atPage('owner', { en: 'Add a webhook endpoint', zh: '添加 Webhook 端点' }, '/webhooks', 'new'),
  atPage('operator', { en: 'New account', zh: '创建账户' }, '/operator/accounts', 'new'),
  ofAccount({ en: 'Top up an account', zh: '为账户充值' }, 'money', 'top-up'),
  ofAccount({ en: 'Adjust a balance', zh: '账户调账' }, 'money', 'adjust'),
  ofAccount({ en: 'New key for an account', zh: '为账户创建密钥' }, 'keys', 'new'),
  ofAccount({ en: 'Grant a plan', zh: '为账户开通套餐' }, 'plan', 'grant'),
  ofAccount({ en: 'Invite a user to an account', zh: '邀请用户加入账户' }, 'people', 'invite'),
  ofEntry({ en: 'Drain a route', zh: '排空路由' }, 'route', '/operator/routes', 'drain'),
  atPage('operator', { en: 'Add a provider', zh: '添加供应商' }, '/operator/providers', 'new'),
  ofEntry({ en: 'Test a provider', zh: '测试供应商' }, 'provider', '/operator/providers', 'test'),
  ofEntry({ en: 'Edit a provider', zh: '编辑供应商' }, 'provider', '/operator/providers', 'edit'),
  atPage('operator', { en: 'Add a model', zh: '添加模型' }, '/operator/models', 'new'),
  atPage('operator', { en: 'Add models of a provider', zh: '从供应商添加模型' }, '/operator/models', 'offers'),
  ofEntry({ en: 'Edit a model', zh: '编辑模型' }, 'model', '/operator/models', 'edit'),
  ofEntry({ en: 'Change prices from a date', zh: '设置定时生效的价格' }, 'model', '/operator/models', 'later'),
  atPage('operator', { en: 'Add a plan', zh: '添加套餐' }, '/operator/plans', 'new'),
  atPage('operator', { en: 'Add a group', zh: '添加分组' }, '/operator/groups', 'new'),
  atPage('operator', { en: 'New batch of vouchers', zh: '创建兑换码批次' }, '/operator/vouchers', 'new'),
  atPage('operator', { en: 'New user', zh: '创建用户' }, '/operator/users', 'new'),
  atPage('operator', { en: 'New admin token', zh: '创建管理令牌' }, '/operator/users', 'new-token', { tab: 'tokens' }),
  atPage('operator', { en: 'Add an endpoint for notices', zh: '添加通知端点' }, '/operator/notices', 'new'),
];
