import { pageTexts } from '../../parts/texts.ts';

export const peopleTexts = pageTexts(
  {
    title: 'People',
    lead: 'Owners see the money and manage people; members use their own keys.',
    none: 'Nobody belongs to this account yet',
    noneHint: 'Invite somebody new, or add a user that is here already.',
    invite: 'Invite somebody new',
    inviteHint: 'Makes a user and a link by which the person chooses a password. Send the link yourself.',
    add: 'Add a user',
    addHint: 'Somebody who signs in here already.',
    user: 'User',
    userHint: 'Type a part of the name or the e-mail address.',
    roleQuestion: (name: string) => `The role of ${name} changes at once.`,
    newLinkQuestion: (name: string) => `Makes a link by which ${name} chooses a password. Earlier links are void.`,
    removeQuestion: (name: string) =>
      `${name} leaves the account at once. Other keys of the account that the person knows go on; revoke them under “API keys”.`,
  },
  {
    title: '成员',
    lead: '所有者可查看资金并管理成员；成员使用自己的密钥。',
    none: '此账户还没有成员',
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
