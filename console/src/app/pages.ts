import {
  AlertIcon,
  BookIcon,
  BroadcastIcon,
  CheckCircleIcon,
  CloudIcon,
  CodeIcon,
  CreditCardIcon,
  DatabaseIcon,
  FileBadgeIcon,
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
  ProjectIcon,
  PulseIcon,
  RocketIcon,
  SearchIcon,
  ServerIcon,
  TagIcon,
  VersionsIcon,
  WebhookIcon,
} from '@primer/octicons-react';
import type { FunctionComponent } from 'react';
import type { ConsolePage, MenuGroup, PageProps } from '../layout/console-page.ts';
import type { PageFor } from '../layout/page-for.ts';
import { loadedLater } from '../parts/loaded-later.tsx';
import type { Language } from '../text/language.tsx';

/** The component of each page, loaded on first use. */
const CODE = {
  '/': async () => (await import('../features/overview/own.tsx')).OverviewPage,
  '/quickstart': async () => (await import('../features/quickstart/own.tsx')).QuickstartPage,
  '/playground': async () => (await import('../features/playground/own.tsx')).PlaygroundPage,
  '/keys': async () => (await import('../features/keys/own.tsx')).KeysPage,
  '/usage': async () => (await import('../features/usage/own.tsx')).UsagePage,
  '/calls': async () => (await import('../features/calls/own.tsx')).CallsPage,
  '/calls/:id': async () => (await import('../features/calls/own-call.tsx')).CallPage,
  '/ledger': async () => (await import('../features/ledger/own.tsx')).LedgerPage,
  '/receipts/:id': async () => (await import('../features/ledger/receipt.tsx')).OwnReceiptPage,
  '/invoices': async () => (await import('../features/invoices/own.tsx')).OwnInvoicesPage,
  '/plan': async () => (await import('../features/plan/own.tsx')).PlanPage,
  '/vouchers': async () => (await import('../features/vouchers/own.tsx')).RedeemPage,
  '/models': async () => (await import('../features/models/own.tsx')).ModelsPage,
  '/members': async () => (await import('../features/members/own.tsx')).MembersPage,
  '/webhooks': async () => (await import('../features/webhooks/own.tsx')).WebhooksPage,
  '/settings': async () => (await import('../features/accounts/own.tsx')).AccountSettingsPage,
  '/profile': async () => (await import('../features/profile/own.tsx')).ProfilePage,
  '/operator': async () => (await import('../features/live/operator.tsx')).LivePage,
  '/operator/accounts': async () => (await import('../features/accounts/operator.tsx')).AccountsPage,
  '/operator/accounts/:id': async () => (await import('./account-page.tsx')).AccountPage,
  '/operator/find': async () => (await import('../features/find/operator.tsx')).FindPage,
  '/operator/calls': async () => (await import('../features/calls/operator.tsx')).AllCallsPage,
  '/operator/calls/:id': async () => (await import('../features/calls/operator-call.tsx')).OperatorCallPage,
  '/operator/unresolved': async () => (await import('../features/calls/unresolved.tsx')).UnresolvedPage,
  '/operator/routes': async () => (await import('../features/routes/operator.tsx')).RoutesPage,
  '/operator/latency': async () => (await import('../features/latency/operator.tsx')).LatencyPage,
  '/operator/usage': async () => (await import('../features/usage/operator.tsx')).OperatorUsagePage,
  '/operator/vouchers': async () => (await import('../features/vouchers/operator.tsx')).VoucherBatchesPage,
  '/operator/receipts/:id': async () => (await import('../features/ledger/receipt.tsx')).OperatorReceiptPage,
  '/operator/invoices': async () => (await import('../features/invoices/operator.tsx')).InvoicesPage,
  '/operator/users': async () => (await import('../features/users/operator.tsx')).UsersPage,
  '/operator/notices': async () => (await import('../features/webhooks/operator.tsx')).OperatorWebhooksPage,
  '/operator/announcements': async () => (await import('../features/announcements/operator.tsx')).AnnouncementsPage,
  '/operator/catalog': async () => (await import('../features/catalog/operator.tsx')).CatalogPage,
  '/operator/providers': async () => (await import('../features/routes/providers.tsx')).ProvidersPage,
  '/operator/models': async () => (await import('../features/models/operator.tsx')).CatalogModelsPage,
  '/operator/groups': async () => (await import('../features/groups/operator.tsx')).GroupsPage,
  '/operator/plans': async () => (await import('../features/plan/offered.tsx')).PlansPage,
  '/operator/config': async () => (await import('../features/config/operator.tsx')).ConfigPage,
  '/operator/audit': async () => (await import('../features/audit/operator.tsx')).AuditPage,
  '/operator/backup': async () => (await import('../features/backup/operator.tsx')).BackupPage,
  '/operator/changes': async () => (await import('../features/changes/operator.tsx')).ChangesPage,
} satisfies Readonly<Record<string, () => Promise<FunctionComponent<PageProps>>>>;

function page(
  path: keyof typeof CODE,
  pageFor: PageFor,
  group: MenuGroup,
  icon: Icon | null,
  title: Readonly<Record<Language, string>>,
): ConsolePage {
  return { path, title, for: pageFor, group, icon, code: loadedLater<PageProps>(CODE[path]) };
}

/** All pages, in the order of the menu. */
export const PAGES: readonly ConsolePage[] = [
  page('/', 'member', 'calling', HomeIcon, { en: 'Overview', zh: '概览' }),
  page('/quickstart', 'member', 'calling', RocketIcon, { en: 'Quickstart', zh: '快速开始' }),
  page('/playground', 'member', 'calling', CodeIcon, { en: 'Playground', zh: '试验场' }),
  page('/keys', 'member', 'calling', KeyIcon, { en: 'API keys', zh: 'API 密钥' }),
  page('/usage', 'member', 'calling', GraphIcon, { en: 'Usage', zh: '用量' }),
  page('/calls', 'member', 'calling', ListUnorderedIcon, { en: 'Calls', zh: '调用记录' }),
  page('/calls/:id', 'member', 'calling', null, { en: 'Call', zh: '调用详情' }),
  page('/ledger', 'owner', 'money', BookIcon, { en: 'Ledger and statements', zh: '账本与对账单' }),
  page('/receipts/:id', 'owner', 'money', null, { en: 'Receipt', zh: '收据' }),
  page('/invoices', 'owner', 'money', FileBadgeIcon, { en: 'Invoices', zh: '发票' }),
  page('/plan', 'member', 'money', CreditCardIcon, { en: 'Coding Plan', zh: '编码套餐' }),
  page('/vouchers', 'member', 'money', GiftIcon, { en: 'Vouchers', zh: '兑换码' }),
  page('/models', 'member', 'money', TagIcon, { en: 'Models and prices', zh: '模型与价格' }),
  page('/members', 'owner', 'account', PeopleIcon, { en: 'Members', zh: '成员' }),
  page('/webhooks', 'owner', 'account', WebhookIcon, { en: 'Webhooks', zh: 'Webhook 通知' }),
  page('/settings', 'owner', 'account', GearIcon, { en: 'Account settings', zh: '账户设置' }),
  page('/profile', 'anyone', 'account', null, { en: 'Your profile', zh: '个人资料' }),

  page('/operator', 'operator', 'watch', BroadcastIcon, { en: 'Live', zh: '实时' }),
  page('/operator/accounts', 'operator', 'accounts', OrganizationIcon, { en: 'Accounts', zh: '账户' }),
  page('/operator/accounts/:id', 'operator', 'accounts', null, { en: 'Account', zh: '账户详情' }),
  page('/operator/find', 'operator', 'watch', SearchIcon, { en: 'Find', zh: '查找' }),
  page('/operator/calls', 'operator', 'watch', ListUnorderedIcon, { en: 'All calls', zh: '全部调用' }),
  page('/operator/calls/:id', 'operator', 'watch', null, { en: 'Call', zh: '调用详情' }),
  page('/operator/unresolved', 'operator', 'watch', AlertIcon, { en: 'Unresolved calls', zh: '待处理调用' }),
  page('/operator/latency', 'operator', 'watch', PulseIcon, { en: 'Latency', zh: '延迟' }),
  page('/operator/usage', 'operator', 'watch', GraphIcon, { en: 'Usage and margin', zh: '用量与毛利' }),
  page('/operator/vouchers', 'operator', 'accounts', GiftIcon, { en: 'Vouchers', zh: '兑换码批次' }),
  page('/operator/receipts/:id', 'operator', 'accounts', null, { en: 'Receipt', zh: '收据' }),
  page('/operator/invoices', 'operator', 'accounts', FileBadgeIcon, { en: 'Invoices', zh: '发票' }),
  page('/operator/users', 'operator', 'accounts', PersonIcon, { en: 'Users and tokens', zh: '用户与令牌' }),
  page('/operator/notices', 'operator', 'watch', WebhookIcon, { en: 'Notices', zh: '通知' }),
  page('/operator/announcements', 'operator', 'accounts', BroadcastIcon, { en: 'Announcements', zh: '公告' }),
  page('/operator/catalog', 'operator', 'catalog', VersionsIcon, { en: 'Catalog', zh: '目录' }),
  page('/operator/providers', 'operator', 'catalog', CloudIcon, { en: 'Providers', zh: '供应商' }),
  page('/operator/routes', 'operator', 'catalog', ServerIcon, { en: 'Routes', zh: '路由' }),
  page('/operator/models', 'operator', 'catalog', TagIcon, { en: 'Models', zh: '模型' }),
  page('/operator/plans', 'operator', 'catalog', FileDirectoryIcon, { en: 'Plans', zh: '套餐' }),
  page('/operator/groups', 'operator', 'catalog', ProjectIcon, { en: 'Groups', zh: '分组' }),
  page('/operator/config', 'operator', 'gateway', CodeIcon, { en: 'Configuration', zh: '配置' }),
  page('/operator/audit', 'operator', 'gateway', CheckCircleIcon, { en: 'Audit', zh: '审计' }),
  page('/operator/backup', 'operator', 'gateway', DatabaseIcon, { en: 'Backup', zh: '备份' }),
  page('/operator/changes', 'operator', 'gateway', HistoryIcon, { en: 'Audit log', zh: '审计日志' }),
];

/** The page at a path, with the value of its `:id`. */
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

/** `null` if the encoding is invalid. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
