import { defineTexts } from '../../text/language.tsx';

/** Facts about callers, on pages of calls, usage and accounts. */
export const callerTexts = defineTexts(
  {
    endUser: 'End user',
    tag: 'Tag',
    tags: 'Tags',
    program: 'Program',
    clientAddress: 'Client address',
    recording: 'Recorded about callers',
    recordingLead:
      'Records of calls have these facts until the records are deleted. Tags are recorded if a call sends them.',
    clientAddressHint: 'The IP address from which the call came.',
    programHint: 'The program and its version, by the User-Agent header.',
    endUserHint: 'The end user whom the request names in user, safety_identifier or metadata.user_id.',
    byOperator: 'The operator records this for all accounts.',
    asConfigured: 'as configured',
  },
  {
    endUser: '终端用户',
    tag: '标签',
    tags: '标签',
    program: '客户端程序',
    clientAddress: '客户端地址',
    recording: '调用方信息记录',
    recordingLead: '以下信息随调用记录保存，并与记录一同删除。调用携带的标签始终记录。',
    clientAddressHint: '发起调用的 IP 地址。',
    programHint: '客户端程序及其版本，取自 User-Agent 请求头。',
    endUserHint: '请求中 user、safety_identifier 或 metadata.user_id 指明的终端用户。',
    byOperator: '管理员已对所有账户开启此项。',
    asConfigured: '按配置',
  },
);
