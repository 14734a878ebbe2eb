/**
 * The gateway's error messages in Chinese. The gateway sends English, because programs log the messages. `{}` stands for a value, `{1}` for
 * the first value, and `{1*}` for its translation. See `in-chinese.ts`.
 */
export const GATEWAY_MESSAGES: Readonly<Record<string, string>> = {
  // The reason of the first revision of a catalog.
  'the content of {}': '{1} 的内容',
  'The {} header must be a list of at most {} tags, separated by commas. A tag has 1 to {} letters, digits and characters of "_.:/@+-", and begins with a letter or a digit.':
    '请求头 {1} 最多可列出 {2} 个标签，以逗号分隔。每个标签为 1 到 {3} 个字母、数字或“_.:/@+-”中的字符，并以字母或数字开头。',
  'Use only one of {}, together with any of {}.': '只能选用 {1} 中的一项，可与 {2} 中的任意项同用。',
  'There is no account {}.': '没有账户 {1}。',
  'There is no group "{}".{}': '没有分组“{1}”。{2*}',
  'There is no user {}.': '没有用户 {1}。',
  'There is no key {}.': '没有密钥 {1}。',
  'There is no token {}.': '没有令牌 {1}。',
  'There is no call {}.': '没有调用 {1}。',
  'There is no subscription {}.': '没有订阅 {1}。',
  'There is no webhook endpoint {}.': '没有 Webhook 端点 {1}。',
  'There is no webhook {}.': '没有 Webhook 端点 {1}。',
  'There is no notice {}.': '没有通知 {1}。',
  'There is no batch of vouchers {}.': '没有兑换码批次 {1}。',
  'There is no provider {}.': '没有供应商 {1}。',
  'There is no OpenID provider {}.': '没有第三方登录服务 {1}。',
  'There is no session {}.': '没有会话 {1}。',
  'There is no identity {}.': '没有身份 {1}。',
  'There is no member {}.': '没有成员 {1}。',
  'There is no invitation {}.': '没有邀请 {1}。',
  'There is no revision {}.': '没有版本 {1}。',
  'There is no sealed secret {}.': '没有密封机密 {1}。',
  'There is no announcement {}.': '没有公告 {1}。',
  'There are {} announcements that have not ended, which is the limit. Delete one first.':
    '已有 {1} 条未结束的公告，达到上限。请先删除一条。',
  'An announcement needs a text in at least one language.': '公告至少需要一种语言的内容。',
  'The end must be after the start.': '结束时间必须晚于开始时间。',
  'There are {} secrets already, which is the limit. Delete one first.':
    '已有 {1} 个密封机密，达到上限。请先删除一个。',
  'This secret is used by: {}. Give these providers another credential first.':
    '此机密正被使用：{1}。请先为这些供应商换用其他凭据。',
  'A name has up to 64 letters, digits and the characters . _ - and starts with a letter or digit.':
    '名称最多 64 个字符，可用字母、数字、点、下划线和连字符，并以字母或数字开头。',
  'Send either the whole text, or edits.': '请提交完整文本或修改项，二者选一。',
  'This instant has passed. Leave it out to put the revision in force at once.': '该时间已过。不填写则立即生效。',
  'The catalog cannot be used.': '无法使用此目录。',
  'The catalog has changed since you read it: there is no revision any more.':
    '您读取目录后，目录已有变动：已没有任何版本。',
  'The catalog has changed since {}: revision {} by {} is the last one.': '目录已有变动，最新的是 {3} 创建的版本 {2}。',
  'This process does not serve a configuration file.': '此进程没有使用配置文件。',
  'The catalog of this gateway is in its configuration file. Change the file, or move the catalog to the database with "faregate catalog use database".':
    '此网关的目录在配置文件中。请修改文件，或用“faregate catalog use database”将目录移入数据库。',
  'Revision {} is a record of a configuration file.': '版本 {1} 是配置文件的记录。',
  'Revision {} is already canceled.': '版本 {1} 已取消。',
  'Revision {} was decided in the meantime.': '版本 {1} 已由他人处理。',
  'Revision {} is not a draft. Roll back to it to put it in force again.':
    '版本 {1} 不是草稿。如需重新生效，请回滚到该版本。',
  'The catalog has no price source. Set "priceSource".': '目录没有价格源。请设置 priceSource。',
  'The price source is being read. Try again in a minute.': '正在读取价格源，请一分钟后重试。',
  'Revision {} follows revision {} and contains its changes. Cancel revision {} first, or roll back.':
    '版本 {1} 在版本 {2} 之后，并包含其修改。请先取消版本 {3}，或回滚。',
  'Revision {} is in force, or will be in a few seconds. Roll back to an earlier revision instead.':
    '版本 {1} 已生效，或将在几秒内生效。请改为回滚到较早的版本。',
  'Revision {} comes into force at {}, later than this one would, and would undo it. Cancel revision {} first, or put this one in force at the same time or later.':
    '版本 {1} 将于 {2} 生效，晚于此版本，会撤销此版本的修改。请先取消版本 {3}，或让此版本在同一时间或之后生效。',
  'There is no plan {}.': '没有套餐 {1}。',
  'There is no plan {}.{}': '没有套餐 {1}。{2*}',
  'There is no plan {}.{} {}': '没有套餐 {1}。{2*}',
  'There is no model "{}".{}': '没有模型“{1}”。{2*}',
  'There is no model {}.': '没有模型 {1}。',
  'There is no model {} that may be called.{}': '没有可调用的模型 {1}。',
  'Unknown name "{}". Use a comma-separated list of {}.': '没有“{1}”。可用的有：{2}，以逗号分隔。',
  'There is no such account.': '没有此账户。',
  'There is no such user.': '没有此用户。',
  'There is no such voucher.': '没有此兑换码。',
  'There is no such user here.': '这里没有此用户。',
  'There is no such voucher, or it can no longer be redeemed.': '没有此兑换码，或已无法兑换。',
  'There is no drain of {}.{}': '没有对 {1} 的排空。',
  'There is no record of call {}: records of calls of that time are no longer kept.':
    '没有调用 {1} 的记录：该时间的调用记录已不再保留。',
  'The account has no member {}.': '账户没有成员 {1}。',
  'You belong to several accounts. Choose one of {}.': '您有多个账户，请指定其一：{1}。',
  'You do not belong to the account {}.': '您不属于账户 {1}。',
  'You belong to no account. Operators use the admin API.': '您没有账户。管理员请使用管理 API。',
  'Only an owner of the account may do this.': '仅账户的所有者可执行此操作。',
  'Only an owner who has signed in may do this, not an API key.': '仅已登录的所有者可执行此操作，API 密钥不可。',
  'Only a signed-in person may use this address.': '仅已登录的用户可使用此地址。',
  'Only an operator may create a token with the role {}.': '仅管理员可创建此角色的令牌。',
  'This API key does not have the scope "account".': '此 API 密钥没有“账户 API”用途。',
  'The user who owns this API key may no longer use the account.': '此 API 密钥所属的成员已无权使用该账户。',
  'Members create keys only for themselves.': '成员只能为自己创建密钥。',
  'This request came from a page of another site. Changes are accepted only from pages of this gateway.':
    '此请求来自其他网站的页面。只能在本网关的页面上修改。',
  'Send this parameter only once.': '此参数只能提交一次。',
  'This action requires a sign-in within the last 5 minutes. Sign in again and repeat the request.':
    '此操作需要最近 5 分钟内的登录。请重新登录后再试。',
  'Among tokens, only one with the scope "export" can create another token with that scope. Create it in the console or on the machine’s command line.':
    '只有具有“导出”用途的令牌才能创建具有该用途的令牌。请在控制台或本机命令行创建。',
  'A token cannot use keepMade. Revoke the token in the console or on the machine’s command line.':
    '令牌不能使用 keepMade。请在控制台或本机命令行吊销该令牌。',
  'The token has been revoked or has expired. Use another one.': '该令牌已吊销或已过期，请使用其他令牌。',
  'The e-mail address or name, or the password, is wrong.': '邮箱、用户名或密码有误。',
  'This is not your password.': '密码有误。',
  'Too many attempts. Try again in a moment.': '尝试次数过多，请稍后再试。',
  'Enter a name.': '请填写名称。',
  'Choose a password.': '请设置密码。',
  'Sign in first.': '请先登录。',
  'Sign in to accept this invitation, or choose a name and a password.':
    '请登录后以本人身份接受邀请，或设置名称和密码。',
  'This e-mail address is already in use. Sign in, then open the link again.':
    '此邮箱已有用户使用。请登录后重新打开链接。',
  'This e-mail address or name is already in use.': '此邮箱或用户名已有用户使用。',
  'This identity is already in use.': '此身份已有用户使用。',
  'The name of a user without an e-mail address must not contain an @.': '没有邮箱的用户，名称中不能含有 @。',
  'This link can only be used to set a password.': '此链接用于设置密码，请按此使用。',
  'This link is invalid, expired or already used. Ask the sender for a new one.':
    '此链接已使用、已过期或无效。请向发送者索取新链接。',
  'Adding a sign-in method requires your password.': '此操作会添加登录方式，请同时填写密码。',
  'Changing a sign-in method requires your password.': '此操作涉及登录方式，请同时填写密码。',
  'This is your last sign-in method. Add another identity or a password first.':
    '移除后您将无法登录。请先添加其他身份或设置密码。',
  'The password was changed by another request. Try again.': '密码同时在别处被修改。',
  'This is the last operator. Only the gateway’s command line can remove the last operator.':
    '这样就没有管理员了。如确有需要，可用网关的命令行执行。',
  'The account would have no owner. Make another member an owner first.':
    '这样账户就没有所有者了。请先将他人设为所有者。',
  'An account has at most {} members.': '一个账户最多有 {1} 名成员。',
  'A user belongs to at most {} accounts.': '一个用户最多属于 {1} 个账户。',
  'A user has at most {} identities.': '一个用户最多有 {1} 个身份。',
  'The user is already a member of the account.': '该用户已属于此账户。',
  'The user is suspended and cannot use a link.': '该用户已停用，链接无法使用。',
  'Too many mails were sent to this address or for this account. Try again in {} minutes, or invite without an address and send the link yourself.':
    '发往此邮箱或为此账户发送的邮件过多。请在 {1} 分钟后再试，或不填邮箱，自行转发链接。',
  'At most {} invitations may be open at a time. Revoke one first.': '最多同时有 {1} 个待接受的邀请，请先撤回一个。',
  '{} invitations were created for the account within a day, which is the limit. Try again tomorrow.':
    '一天内已为账户创建 {1} 个邀请，达到上限。请明天再创建。',
  'Use at least {} characters. Several words are easy to remember.': '至少 {1} 个字符。几个词连起来更容易记住。',
  'At least {} characters.': '至少 {1} 个字符。',
  'At most {} models may have budgets of their own.': '最多为 {1} 个模型单独设置预算。',
  'At most {} values may have budgets of their own.': '最多可为 {1} 个终端用户或标签单独设置预算。',
  'No call can have this value. A tag has 1 to 64 letters, digits and characters of "_.:/@+-"; an end user has 1 to 128 characters.':
    '任何调用都不会带有此值。标签由 1 至 64 个字母、数字或“_.:/@+-”字符组成；终端用户为 1 至 128 个字符。',
  'At most {} characters.': '最多 {1} 个字符。',
  'Use at most {} characters.': '最多 {1} 个字符。',
  'Do not use your e-mail address or name.': '不能与邮箱或名称相同。',
  'Is missing.': '尚未填写。',
  'The key is revoked or has expired. Create another one.': '密钥已吊销或已过期，请创建新的密钥。',
  'The expiry is in the past.': '到期时间已过。',
  'A token called {} is in use. Revoke it first.': '名为 {1} 的令牌正在使用，请先吊销。',
  'There are {} active tokens, which is the limit. Revoke one first.': '已有 {1} 个有效令牌，不能再创建。',
  'Accounts cannot subscribe to {}.': '账户不接收 {1} 事件。',
  'The Idempotency-Key was used for another endpoint.': '此 Idempotency-Key 已用于其他端点。',
  'There are {} endpoints already, which is the limit. Delete one first.': '已有 {1} 个端点，请先删除一个。',
  'The endpoint is disabled. Enable it first.': '端点已停用，请先启用。',
  'Signed JSON has no language.': '带签名的 JSON 没有语言设置。',
  'Only robots of Feishu and DingTalk have a secret.': '只有飞书和钉钉的机器人有加签密钥。',
  'Expected an address such as https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>.':
    '地址格式应为 https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>。',
  'At most {} notices may be tested or resent per minute. Try again later.':
    '每分钟最多发送 {1} 次测试和重发的通知，请稍后再试。',
  'Expected an address or a range of addresses, such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32.':
    '请填写 IP 地址或网段，例如 203.0.113.7、10.0.0.0/8 或 2001:db8::/32。',
  'Expected either amountYuan or planId.': '请填写金额或选择套餐，二者之一。',
  'Keys can be transferred only to another member of the account.': '密钥只能移交给该账户的其他成员。',
  'Send either keys=revoke or keysTo, not both.': '密钥只能吊销或移交他人，不能同时进行。',
  'Send accountId too, because a user may have keys in several accounts.':
    '请同时提供 accountId，同一用户可能在多个账户中有密钥。',
  'The batch {} was already created with this Idempotency-Key, and its codes cannot be shown again. If you lost them, cancel the batch and create another one with a new key.':
    '批次 {1} 已创建，其兑换码不再显示。如已丢失，请作废该批次后重新创建。',
  'Too many invalid codes were tried for this account. Try again in {} s.':
    '此账户尝试了过多无效的兑换码，请在 {1} 秒后再试。',
  'This voucher has expired.': '此兑换码已过期。',
  'This voucher was canceled. Ask the person who gave it to you.': '此兑换码已作废，请联系提供者。',
  'The plan of this voucher is no longer offered. The voucher was not redeemed. Ask the operator.':
    '此兑换码的套餐已不再提供。兑换码未被使用，请联系管理员。',
  'Another plan is active on this account. The voucher was not redeemed. Redeem it when that plan has ended.':
    '此账户有其他套餐生效中。兑换码未被使用，请在该套餐结束后兑换。',
  'Another subscription of the account begins before this one would end. The voucher was not redeemed.':
    '在此套餐结束之前，账户另有订阅开始。兑换码未被使用。',
  'The balance would exceed the maximum. The voucher was not redeemed.': '余额将超出可存储的范围。兑换码未被使用。',
  'The period would end in the past.': '该周期已经结束。',
  'The period would end after the year 9999.': '该周期将在 9999 年之后结束。',
  'The account has another subscription in that period. Cancel it, or start this one at its end.':
    '账户在该时间另有订阅。请先取消，或从其结束时开始。',
  'The subscription ended more than one period ago. Grant a new one.': '订阅结束已久，续期后仍会过期。请重新开通。',
  'The subscription would end after the year 9999.': '订阅将在 9999 年之后结束。',
  'The subscription is canceled or was just renewed, or another one begins before its new end.':
    '订阅已取消、刚被续期，或在其新的结束时间之前另有订阅开始。',
  'This Idempotency-Key was used for another grant or renewal of the account.':
    '此 Idempotency-Key 已用于该账户的其他开通或续期。',
  'Expected a decimal string in yuan, such as "12.50", with at most 9 decimals and at most 100000000.':
    '请填写以元为单位的金额，例如 12.50，最多 9 位小数，不超过 100000000。',
  'The balance would exceed the maximum.': '余额将超出可存储的范围。',
  'This key belongs to another account.': '另一账户已有此密钥。',
  'This Idempotency-Key was used for another account.': '此 Idempotency-Key 已用于其他账户。',
  'This Idempotency-Key was used for another amount, memo, reference or kind of entry.':
    '此 Idempotency-Key 已用于其他金额、备注、付款参考号或类型的账目。',
  'There is no top-up {}.': '没有充值 {1}。',
  'There is no invoice request {}.': '没有开票申请 {1}。',
  'This request is closed already.': '此申请已处理。',
  'Enter the particulars of the buyer first.': '请先填写开票信息。',
  'An invoice was already requested for this.': '已申请过发票，不能重复申请。',
  'At most {} requests for invoices may be open at a time.': '最多同时有 {1} 个待处理的开票申请。',
  'The month is not over yet.': '该月尚未结束。',
  'There is nothing to invoice.': '没有可开票的金额。',
  'Only top-ups of this account can be invoiced.': '只能为此账户的充值开票。',
  'Send either month or entryIds.': '请选择月份或充值，二者之一。',
  'List each top-up only once.': '每笔充值只能选择一次。',
  'This gateway sends no mail, so nobody can reset a password by mail. Ask an operator for a link.':
    '此网关未设置邮件，无法通过邮件重置密码。请向管理员索取链接。',
  'This Idempotency-Key was used for another entry of the account. Use a new one.':
    '此 Idempotency-Key 已用于该账户的其他账目，请换一个。',
  'This Idempotency-Key was used for another entry of the account, or another refund. Use a new one.':
    '此 Idempotency-Key 已用于该账户的其他账目或退款，请换一个。',
  'A search by request cannot be combined with other filters.': '请求 ID 须单独查找，请去掉其他筛选条件。',
  'The call is in flight. Its node completes it; if the node died, the call becomes unresolved within 30 seconds.':
    '调用进行中，由其节点结束；若该节点已终止，30 秒内会变为待处理。',
  'The call has already ended: it is {} and {}. Only an unresolved call can be resolved; use a refund to return a charge.':
    '调用已自行结束（{1}，{2}）。只能处理待处理的调用；如需退还扣费请退款。',
  'The call was already resolved at {}: it was {}. It can be resolved only once. Use a refund to return a charge, or an adjustment to charge more.':
    '调用已于 {1} 处理过（{2}），只能处理一次。如需退还扣费请退款，如需追加请调账。',
  'The call ran on a Coding Plan and costs no money. Count its tokens, or release it.':
    '此调用使用编码套餐，不扣费：请计入 token 或释放。',
  'The call had reserved ¥{} and can be charged at most that amount.': '此调用曾预留 ¥{1}，最多扣费此金额。',
  'The call ran on the balance, not on a Coding Plan. Charge it, or release it.':
    '此调用使用余额而非编码套餐：请扣费或释放。',
  'The tokens that the call reserved on its plan are not recorded. Release it.':
    '没有记录此调用在套餐中的预留，请释放。',
  'The call had reserved {} tokens, which is the most that can be counted.': '此调用曾预留 {1} token，最多计入此数量。',
  'The call was not charged, so there is nothing to refund. Use an adjustment if money is due.':
    '此调用没有扣费，无款可退。如需补款请调账。',
  'All of the charge of {} has been refunded already.': '{1} 的扣费已全部退款。',
  'The charge is {}, of which ¥{} has been refunded already; at most ¥{} can be refunded.':
    '扣费为 {1}，其中 ¥{2} 已退款，最多还可退 ¥{3}。',
  'No configured route goes to {}.': '配置中没有通往 {1} 的路由。',
  'There are {} drains already, which is the limit. Drain whole providers instead.':
    '已有 {1} 项排空，请改为排空整个供应商。',
  'Too many changes by you or your account. Nothing was changed; try again in {} s.':
    '您或您的账户在短时间内修改过多。本次未作任何修改，请在 {1} 秒后重试。',
  'Too many of your requests are waiting. Send fewer at a time.': '您的等待中请求过多，请减少同时发送的数量。',
  'You have {} requests with a body in flight. Send fewer at a time.':
    '您有 {1} 个带请求体的请求进行中，请减少同时发送的数量。',
  'You have {} streamed responses open. Read them to the end first.': '您有 {1} 个逐行发送的响应进行中，请先将其读完。',
  'Expected the nextCursor of an earlier page.': '分页位置无效，请重新读取列表。',
  'Expected the nextCursor of an earlier page of the same list.': '分页位置无效，请重新读取列表。',
  '{}: Unknown parameter.': '未知参数 {1}。',
  '{}: This member is a duplicate.': '请求体中重复出现 {1}。',
  'Before you have signed in, send the body without a Content-Encoding.': '登录之前，请求体不能带 Content-Encoding。',
  'The body is not valid UTF-8.': '请求体不是有效的 UTF-8。',
  'The body is not valid JSON.': '请求体不是有效的 JSON。',
  'The body is too large to be read: {}.': '请求体过大，无法读取（{1}）。',
  'The response is not a list of models.': '响应不是模型列表。',
  'The list is larger than {} bytes.': '列表超过 {1} 字节。',
  'There was no complete response within {} s.': '{1} 秒内没有收到完整的响应。',
};
