import { pageTexts } from '../../parts/texts.ts';

export const usersTexts = pageTexts(
  {
    lead: 'Users who can sign in, and admin tokens for programs.',
    users: 'Users',
    tokens: 'Admin tokens',
    create: 'New user',
    createHint:
      'Creates a link to choose a password. Send it yourself. To add a user to an account, use the page of the account.',
    operatorsOnly: 'Operators and auditors only',
    none: 'No users yet',
    noneHint: 'Create one here, or invite a user on the page of an account.',
    roles: { none: 'no role', auditor: 'Auditor', operator: 'Operator', export: 'Export only' },
    roleHint: 'Operators can do everything in the admin API; auditors can read everything.',
    noPassword: 'no password yet',
    editOf: (name: string) => `Edit ${name}`,
    linkQuestion: (name: string) =>
      `Creates a link for ${name} to choose a new password. Earlier links become invalid.`,
    suspendQuestion: (name: string) =>
      `${name} is signed out immediately and cannot sign in. Keys that this person knows keep working.`,
    reactivateQuestion: (name: string) => `${name} can sign in again.`,
    signOut: 'Sign out everywhere',
    signOutQuestion: (name: string) => `All sessions of ${name} end immediately.`,
    removeQuestion: (name: string) =>
      `${name} is deleted with all memberships and sessions. Keys that this person knows keep working. This cannot be undone.`,
    newToken: 'New token',
    tokensLead: 'The token from the environment is not listed.',
    noTokens: 'No tokens yet',
    noTokensHint: 'Give each program its own token, so that the audit log identifies it.',
    tokenRoleHint:
      'Operators can change everything except create operators. Auditors can read everything. Export only can download a backup.',
    confirm: 'Confirm',
    confirmQuestion: (name: string) =>
      `${name} was created by a token. After confirmation the user remains when the token is revoked.`,
    unconfirmed: 'created by a token, not confirmed',
    tokenHint: 'The new token. Copy it now: it is never shown again.',
    expiresHint: 'Leave empty for no expiry.',
    revokeQuestion: (name: string) =>
      `“${name}” and the tokens that it created are refused immediately. Unconfirmed users that it created are suspended. This cannot be undone.`,
  },
  {
    lead: '可登录本站的人员，以及程序调用管理 API 所用的令牌。',
    users: '用户',
    tokens: '管理令牌',
    create: '创建用户',
    createHint: '生成供对方设置密码的链接，请自行发送。如需加入账户，请在账户页面操作。',
    operatorsOnly: '仅管理员和审计员',
    none: '暂无用户',
    noneHint: '可在此创建，或在账户页面邀请。',
    roles: { none: '普通用户', auditor: '审计员', operator: '管理员', export: '仅导出' },
    roleHint: '管理员可执行管理 API 的全部操作；审计员可查看全部内容。',
    noPassword: '尚未设置密码',
    editOf: (name: string) => `编辑 ${name}`,
    linkQuestion: (name: string) => `生成供 ${name} 设置新密码的链接，之前的链接随即失效。`,
    suspendQuestion: (name: string) => `${name} 将立即退出登录且无法再登录。其知晓的密钥仍然有效。`,
    reactivateQuestion: (name: string) => `${name} 可再次登录。`,
    signOut: '退出全部登录',
    signOutQuestion: (name: string) => `${name} 的全部登录会话立即结束。`,
    removeQuestion: (name: string) => `将删除 ${name} 及其全部成员关系和会话。其知晓的密钥仍然有效。此操作无法撤销。`,
    newToken: '创建令牌',
    tokensLead: '不含环境变量中的令牌。',
    noTokens: '暂无令牌',
    noTokensHint: '建议让调用管理 API 的每个程序使用各自的令牌，以便审计日志区分来源。',
    tokenRoleHint: '管理员可修改全部内容，但不能创建管理员；审计员可查看全部内容；第三种仅可备份数据库。',
    confirm: '确认',
    confirmQuestion: (name: string) => `${name} 由令牌创建。确认后，令牌失效时此用户仍保留。`,
    unconfirmed: '由令牌创建，尚未确认',
    tokenHint: '新令牌。请立即复制，之后不再显示。',
    expiresHint: '留空则不过期。',
    revokeQuestion: (name: string) =>
      `所有节点将立即拒绝“${name}”及其创建的令牌；由其创建且未经确认的用户将被停用。此操作无法撤销。`,
  },
);
