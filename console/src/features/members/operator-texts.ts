import { pageTexts } from '../../parts/texts.ts';

export const peopleTexts = pageTexts(
  {
    title: 'People',
    lead: 'Owners see balances and manage members. Members use their own keys.',
    none: 'No members yet',
    noneHint: 'Invite a new user, or add an existing one.',
    invite: 'Invite a new user',
    inviteHint: 'Creates a user and a link to choose a password. Send the link yourself.',
    add: 'Add a user',
    addHint: 'A user who can already sign in.',
    user: 'User',
    userHint: 'Type a part of the name or the e-mail address.',
    roleQuestion: (name: string) => `The role of ${name} changes immediately.`,
    newLinkQuestion: (name: string) => `Creates a link for ${name} to choose a password. Earlier links become invalid.`,
    removeQuestion: (name: string) =>
      `${name} loses access immediately. Account keys that this person knows keep working; revoke them under “API keys”.`,
  },
  {
    title: '成员',
    lead: '所有者可查看资金并管理成员；成员使用自己的密钥。',
    none: '此账户暂无成员',
    noneHint: '可邀请新用户，或添加已有用户。',
    invite: '邀请新用户',
    inviteHint: '创建用户并生成设置密码的链接，请自行发送给对方。',
    add: '添加已有用户',
    addHint: '已可登录本站的用户。',
    user: '用户',
    userHint: '输入名称或邮箱的一部分。',
    roleQuestion: (name: string) => `${name} 的角色将立即变更。`,
    newLinkQuestion: (name: string) => `生成供 ${name} 设置密码的链接，之前的链接随即失效。`,
    removeQuestion: (name: string) => `${name} 将立即离开此账户。其知晓的其他账户密钥仍然有效，请在“API 密钥”中吊销。`,
  },
);
