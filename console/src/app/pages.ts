import {
  AlertIcon,
  BookIcon,
  BroadcastIcon,
  CheckCircleIcon,
  CodeIcon,
  CreditCardIcon,
  DatabaseIcon,
  FileDirectoryIcon,
  GearIcon,
  GiftIcon,
  GraphIcon,
  HistoryIcon,
  HomeIcon,
  type Icon,
  KeyIcon,
  ListUnorderedIcon,
  OrganizationIcon,
  PeopleIcon,
  PersonIcon,
  PulseIcon,
  RocketIcon,
  SearchIcon,
  ServerIcon,
  TagIcon,
  WebhookIcon,
} from '@primer/octicons-react';
import type { FunctionComponent } from 'react';
import type { ConsolePage, MenuGroup, PageFor, PageProps } from '../layout/console-page.ts';
import { loadedLater } from '../parts/loaded-later.tsx';
import type { Language } from '../text/language.tsx';

/** A page that is loaded when it is first wanted: the component of that name in what is loaded. */
function page<Name extends string>(
  path: string,
  pageFor: PageFor,
  group: MenuGroup,
  icon: Icon | null,
  title: Readonly<Record<Language, string>>,
  name: Name,
  load: () => Promise<Record<Name, FunctionComponent<PageProps>>>,
): ConsolePage {
  return { path, title, for: pageFor, group, icon, code: loadedLater(async () => (await load())[name]) };
}

/** All pages; within a group of the menu they have this order. */
export const PAGES: readonly ConsolePage[] = [
  page(
    '/',
    'member',
    'calling',
    HomeIcon,
    { en: 'Overview', zh: '概览' },
    'OverviewPage',
    () => import('../features/overview/own.tsx'),
  ),
  page(
    '/quickstart',
    'member',
    'calling',
    RocketIcon,
    { en: 'Quickstart', zh: '快速开始' },
    'QuickstartPage',
    () => import('../features/quickstart/own.tsx'),
  ),
  page(
    '/keys',
    'member',
    'calling',
    KeyIcon,
    { en: 'API keys', zh: 'API 密钥' },
    'KeysPage',
    () => import('../features/keys/own.tsx'),
  ),
  page(
    '/usage',
    'member',
    'calling',
    GraphIcon,
    { en: 'Usage', zh: '用量' },
    'UsagePage',
    () => import('../features/usage/own.tsx'),
  ),
  page(
    '/calls',
    'member',
    'calling',
    ListUnorderedIcon,
    { en: 'Calls', zh: '调用记录' },
    'CallsPage',
    () => import('../features/calls/own.tsx'),
  ),
  page(
    '/calls/:id',
    'member',
    'calling',
    null,
    { en: 'Call', zh: '调用详情' },
    'CallPage',
    () => import('../features/calls/own-call.tsx'),
  ),
  page(
    '/ledger',
    'owner',
    'money',
    BookIcon,
    { en: 'Ledger and statements', zh: '账本与对账单' },
    'LedgerPage',
    () => import('../features/ledger/own.tsx'),
  ),
  page(
    '/plan',
    'member',
    'money',
    CreditCardIcon,
    { en: 'Coding Plan', zh: '编码套餐' },
    'PlanPage',
    () => import('../features/plan/own.tsx'),
  ),
  page(
    '/vouchers',
    'member',
    'money',
    GiftIcon,
    { en: 'Vouchers', zh: '兑换码' },
    'RedeemPage',
    () => import('../features/vouchers/own.tsx'),
  ),
  page(
    '/models',
    'member',
    'money',
    TagIcon,
    { en: 'Models and prices', zh: '模型与价格' },
    'ModelsPage',
    () => import('../features/models/own.tsx'),
  ),
  page(
    '/members',
    'owner',
    'account',
    PeopleIcon,
    { en: 'Members', zh: '成员' },
    'MembersPage',
    () => import('../features/members/own.tsx'),
  ),
  page(
    '/webhooks',
    'owner',
    'account',
    WebhookIcon,
    { en: 'Webhooks', zh: 'Webhook 通知' },
    'WebhooksPage',
    () => import('../features/webhooks/own.tsx'),
  ),
  page(
    '/settings',
    'owner',
    'account',
    GearIcon,
    { en: 'Account settings', zh: '账户设置' },
    'AccountSettingsPage',
    () => import('../features/accounts/own.tsx'),
  ),
  page(
    '/profile',
    'anyone',
    'account',
    null,
    { en: 'Your profile', zh: '个人资料' },
    'ProfilePage',
    () => import('../features/profile/own.tsx'),
  ),

  page(
    '/operator',
    'operator',
    'watch',
    BroadcastIcon,
    { en: 'Live', zh: '实时' },
    'LivePage',
    () => import('../features/live/operator.tsx'),
  ),
  page(
    '/operator/accounts',
    'operator',
    'accounts',
    OrganizationIcon,
    { en: 'Accounts', zh: '账户' },
    'AccountsPage',
    () => import('../features/accounts/operator.tsx'),
  ),
  page(
    '/operator/accounts/:id',
    'operator',
    'accounts',
    null,
    { en: 'Account', zh: '账户详情' },
    'AccountPage',
    () => import('./account-page.tsx'),
  ),
  page(
    '/operator/find',
    'operator',
    'watch',
    SearchIcon,
    { en: 'Find', zh: '查找' },
    'FindPage',
    () => import('../features/find/operator.tsx'),
  ),
  page(
    '/operator/calls',
    'operator',
    'watch',
    ListUnorderedIcon,
    { en: 'All calls', zh: '全部调用' },
    'AllCallsPage',
    () => import('../features/calls/operator.tsx'),
  ),
  page(
    '/operator/calls/:id',
    'operator',
    'watch',
    null,
    { en: 'Call', zh: '调用详情' },
    'OperatorCallPage',
    () => import('../features/calls/operator-call.tsx'),
  ),
  page(
    '/operator/unresolved',
    'operator',
    'watch',
    AlertIcon,
    { en: 'Unresolved calls', zh: '待处理调用' },
    'UnresolvedPage',
    () => import('../features/calls/unresolved.tsx'),
  ),
  page(
    '/operator/routes',
    'operator',
    'gateway',
    ServerIcon,
    { en: 'Providers and routes', zh: '供应商与路由' },
    'RoutesPage',
    () => import('../features/routes/operator.tsx'),
  ),
  page(
    '/operator/latency',
    'operator',
    'watch',
    PulseIcon,
    { en: 'Latency', zh: '延迟' },
    'LatencyPage',
    () => import('../features/latency/operator.tsx'),
  ),
  page(
    '/operator/usage',
    'operator',
    'watch',
    GraphIcon,
    { en: 'Usage and margin', zh: '用量与毛利' },
    'OperatorUsagePage',
    () => import('../features/usage/operator.tsx'),
  ),
  page(
    '/operator/vouchers',
    'operator',
    'accounts',
    GiftIcon,
    { en: 'Vouchers', zh: '兑换码批次' },
    'VoucherBatchesPage',
    () => import('../features/vouchers/operator.tsx'),
  ),
  page(
    '/operator/users',
    'operator',
    'accounts',
    PersonIcon,
    { en: 'Users and tokens', zh: '用户与令牌' },
    'UsersPage',
    () => import('../features/users/operator.tsx'),
  ),
  page(
    '/operator/notices',
    'operator',
    'watch',
    WebhookIcon,
    { en: 'Notices', zh: '通知' },
    'OperatorWebhooksPage',
    () => import('../features/webhooks/operator.tsx'),
  ),
  page(
    '/operator/plans',
    'operator',
    'accounts',
    FileDirectoryIcon,
    { en: 'Plans', zh: '套餐' },
    'PlansPage',
    () => import('../features/plan/offered.tsx'),
  ),
  page(
    '/operator/config',
    'operator',
    'gateway',
    CodeIcon,
    { en: 'Configuration', zh: '配置' },
    'ConfigPage',
    () => import('../features/config/operator.tsx'),
  ),
  page(
    '/operator/audit',
    'operator',
    'gateway',
    CheckCircleIcon,
    { en: 'Audit', zh: '审计' },
    'AuditPage',
    () => import('../features/audit/operator.tsx'),
  ),
  page(
    '/operator/backup',
    'operator',
    'gateway',
    DatabaseIcon,
    { en: 'Backup', zh: '备份' },
    'BackupPage',
    () => import('../features/backup/operator.tsx'),
  ),
  page(
    '/operator/changes',
    'operator',
    'gateway',
    HistoryIcon,
    { en: 'Change log', zh: '变更日志' },
    'ChangesPage',
    () => import('../features/changes/operator.tsx'),
  ),
];

/** The page at a path, with what stands at its `:id`. */
export function findPage(path: string): { readonly page: ConsolePage; readonly id: string } | null {
  for (const candidate of PAGES) {
    const [before, after] = candidate.path.split('/:id');
    if (after === undefined && candidate.path === path) return { page: candidate, id: '' };
    const rest = after === undefined || !path.startsWith(`${before}/`) ? null : path.slice(before!.length + 1);
    if (rest !== null && rest !== '' && !rest.includes('/') && !PAGES.some((each) => each.path === path)) {
      const id = decoded(rest);
      return id === null ? null : { page: candidate, id };
    }
  }
  return null;
}

/** `null`: the address was written wrongly. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
