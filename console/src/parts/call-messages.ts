/**
 * Sentences of errors of calls, from `docs/errors.md` and the code that replaces their default messages, in Chinese. A message of several
 * sentences is translated sentence by sentence. See `in-chinese.ts`.
 */
export const CALL_MESSAGES: Readonly<Record<string, string>> = {
  // The connection and the address.
  'The request headers are larger than 64 KiB or have more than 2000 lines.': '请求头超过 64 KiB，或超过 2000 行。',
  'The request is not well-formed HTTP, or its body ended before it was complete.':
    '请求不是格式正确的 HTTP，或请求体未完整发送。',
  'This node is shutting down.': '此节点正在关闭。',
  'Try again; another node will respond.': '请重试，其他节点会响应。',
  'Try again; another node may respond.': '请重试，其他节点可能会响应。',
  'There is nothing at this address.': '此地址不存在。',
  'Did you mean {}?': '您要找的是否是 {1}？',
  'The admin API is below /admin/v1.': '管理 API 位于 /admin/v1 之下。',
  'Messages-style clients take the root as their base address, and /{}/coding on the Coding Plan.':
    'Messages 客户端以根地址为基础地址，使用编码套餐时为 /{1}/coding。',
  'Chat-style clients take /v1 as their base address, and /v1/coding on the Coding Plan.':
    'Chat 客户端以 /v1 为基础地址，使用编码套餐时为 /v1/coding。',
  'This address does not support this method.': '此地址不支持该方法。',
  'This address accepts only {}.': '此地址仅接受 {1}。',
  'This gateway speaks HTTP/1.1 with JSON and server-sent events; it does not upgrade connections.':
    '此网关使用 HTTP/1.1、JSON 与服务器发送事件，不升级连接。',
  'The path of the request cannot be decoded.': '无法解码请求的路径。',
  'The request headers did not arrive in time.': '请求头未及时到达。',
  'The request body stopped arriving, or arrived too slowly.': '请求体停止发送，或发送过慢。',
  'The response of the provider is larger than the 32 MiB that can be translated. Nothing is charged.':
    '供应商的响应超过可转换的 32 MiB。不扣费。',
  'The body is larger than this gateway accepts.': '请求体超过此网关接受的大小。',
  'The body is larger than the {} bytes that this address accepts.': '请求体超过此地址接受的 {1} 字节。',
  'The body cannot be decoded with its Content-Encoding.': '无法按 Content-Encoding 解码请求体。',
  'The Content-Encoding is not supported.': '不支持此 Content-Encoding。',
  'Send gzip, deflate, br, zstd or no encoding.': '请使用 gzip、deflate、br、zstd 或不编码。',
  'This address accepts only the Content-Type application/json.': '此地址仅接受 Content-Type application/json。',
  'The Content-Type header is missing; send application/json.': '缺少 Content-Type 请求头，请使用 application/json。',
  'The Content-Type must be multipart/form-data with a boundary.':
    'Content-Type 必须是带有 boundary 的 multipart/form-data。',
  'This node is at capacity.': '此节点已满负荷。',
  'Too many requests of this client are in flight.': '此客户端进行中的请求过多。',
  'Try again later.': '请稍后再试。',
  'Try again shortly.': '请稍后再试。',
  'Try again in a moment.': '请稍后再试。',

  // The key and what it may do.
  'The API key is missing, malformed, revoked or unknown.': 'API 密钥缺失、格式有误、已吊销或不存在。',
  'The API key is missing.': '缺少 API 密钥。',
  'Send it as "Authorization: Bearer <API key>".': '请以“Authorization: Bearer <API 密钥>”发送。',
  'Send it as "x-api-key: <API key>" or "Authorization: Bearer <API key>".':
    '请以“x-api-key: <API 密钥>”或“Authorization: Bearer <API 密钥>”发送。',
  'The Authorization header must read "Bearer <API key>".': 'Authorization 请求头必须是“Bearer <API 密钥>”。',
  'The x-api-key header is empty.': 'x-api-key 请求头为空。',
  'This address accepts the API key only as "Authorization: Bearer <API key>".':
    '此地址仅接受“Authorization: Bearer <API 密钥>”形式的密钥。',
  'The request has two different API keys.': '请求中有两个不同的 API 密钥。',
  'The API key is malformed.': 'API 密钥格式有误。',
  'Keys begin with sk-fg- and have 44 characters.': '密钥以 sk-fg- 开头，共 44 个字符。',
  'The API key is unknown.': '没有此 API 密钥。',
  'The API key has been revoked.': 'API 密钥已吊销。',
  'The API key has expired.': 'API 密钥已过期。',
  'The account of this API key is suspended.': '此 API 密钥所属的账户已停用。',
  'The key works again once the operator of this gateway resumes the account.':
    '网关的管理员恢复账户后，密钥即可继续使用。',
  'The account of this API key is not verified.': '此 API 密钥所属的账户未核实。',
  'This API key may not be used from this IP address.': '不可从此 IP 地址使用该 API 密钥。',
  'This API key does not have the scope "calls".': '此 API 密钥没有“调用”用途。',
  'Your role does not allow this.': '您的角色无权执行此操作。',
  'This API key may not use this model.': '此 API 密钥不可使用该模型。',
  'The member who owns this API key may not use this model.': '此 API 密钥所属的成员不可使用该模型。',
  'This account, or the group that it is in, may not use this model.': '此账户或其所在的分组不可使用该模型。',
  '{} may not use the model {}.': '{1*}不可使用模型 {2}。',
  'Allowed models: {} and {} others.': '可用的模型：{1} 以及其他 {2} 个。',
  'Allowed models: {}.': '可用的模型：{1}。',
  'None of the allowed models is currently available.': '允许使用的模型目前均不可用。',
  'The group {} of this account is not configured, so the account may use no model.':
    '此账户的分组 {1} 未配置，因此账户不可使用任何模型。',
  'Ask the operator.': '请联系管理员。',

  // The model and its routes.
  'There is no such model at this address.': '此地址没有该模型。',
  'The model {} does not exist, or you do not have access to it.': '没有模型 {1}，或您无权使用。',
  'The model name contains a control character or a text direction mark.': '模型名称含有控制字符或文本方向标记。',
  'The provider of this model does not serve it at present.': '该模型的供应商目前不提供此模型。',
  'Use another model, or ask the operator.': '请使用其他模型，或联系管理员。',
  'Use another model, or try again later.': '请使用其他模型，或稍后再试。',
  'This model is not available on this protocol.': '该模型不支持此协议。',
  'This model does not support the operation of this address.': '该模型不支持此地址的操作。',
  'All routes of this model are out of service after repeated failures.': '该模型的所有路由因多次失败而停止服务。',
  'All routes of this model are temporarily out of service.': '该模型的所有路由暂时停止服务。',
  'A route is tried again at {}.': '将于 {1*}再次尝试路由。',
  'Calls of this account have failed several times in a row on every route of this model.':
    '此账户的调用在该模型的每条路由上均连续多次失败。',
  'Try again after a while, and check what these calls have in common.': '请稍后再试，并检查这些调用的共同之处。',
  'All routes of this model on this protocol are disabled: their weights are 0.':
    '该模型在此协议上的路由均已禁用：其权重为 0。',
  'No provider is configured for this model on this protocol.': '该模型在此协议上没有配置供应商。',
  'This model has no price for the "{}" {}.': '该模型没有“{1}”为 {2} 时的价格。',
  'Leave the field out, or set it to "{}".': '请省略该字段，或设为“{1}”。',
  'This model has no price for audio, which "{}" contains.': '该模型没有音频价格，而“{1}”含有音频。',
  'This model has no price for audio, which "{}" asks for.': '该模型没有音频价格，而“{1}”要求音频。',

  // Plans, limits and money.
  'This account has no active Coding Plan.': '此账户没有生效的编码套餐。',
  'This account has no Coding Plan.': '此账户没有编码套餐。',
  'The plan {} is no longer offered.': '套餐 {1} 已不再提供。',
  'The plan {} begins at {}.': '套餐 {1} 于 {2} 开始。',
  'The plan {} expired at {}.': '套餐 {1} 已于 {2} 到期。',
  'The Coding Plan of this account has expired.': '此账户的编码套餐已到期。',
  'Coding addresses never draw on the balance.': '编码套餐的地址不使用余额。',
  'The Coding Plan of this account does not include this model.': '此账户的编码套餐不包含该模型。',
  'The request is larger than the Coding Plan allows: prompt is too long.': '请求超过编码套餐允许的大小：提示过长。',
  'The input exceeds the {} bytes that the Coding Plan allows: prompt is too long.':
    '输入超过编码套餐允许的 {1} 字节：提示过长。',
  'The request asks for more output tokens than the Coding Plan allows.': '请求的输出 token 多于编码套餐允许的数量。',
  'Ask for fewer.': '请减少输出 token。',
  'The Coding Plan reached its limit of calls per five hours.': '编码套餐已达到每 5 小时的调用上限。',
  'The Coding Plan reached its limit of calls for this week.': '编码套餐已达到本周的调用上限。',
  'The Coding Plan reached its quota of tokens for this period.': '编码套餐已达到本周期的 token 额度。',
  'The Coding Plan reached its concurrency limit.': '编码套餐已达到并发上限。',
  'Try again when one of its calls has finished.': '请在其中一次调用结束后再试。',
  'Try again when one of their calls has finished.': '请在其中一次调用结束后再试。',
  'This API key reached its total spending limit.': '此 API 密钥已达到总消费上限。',
  'This API key reached its spending limit for this month.': '此 API 密钥已达到本月的消费上限。',
  'This API key reached its spending limit for this week.': '此 API 密钥已达到本周的消费上限。',
  'This API key reached its spending limit for today.': '此 API 密钥已达到今日的消费上限。',
  'This API key reached its total spending limit for the model {}.': '此 API 密钥已达到模型 {1} 的总消费上限。',
  'This API key reached its spending limit for the model {} for this month.':
    '此 API 密钥已达到模型 {1} 本月的消费上限。',
  'This API key reached its spending limit for the model {} for this week.':
    '此 API 密钥已达到模型 {1} 本周的消费上限。',
  'This API key reached its spending limit for the model {} for today.': '此 API 密钥已达到模型 {1} 今日的消费上限。',
  'This API key reached its limit of calls for today.': '此 API 密钥已达到今日的调用上限。',
  'This API key reached its concurrency limit.': '此 API 密钥已达到并发上限。',
  'Other keys of the account are not affected.': '账户的其他密钥不受影响。',
  'This member reached their total spending limit across all API keys.': '此成员的所有密钥合计已达到总消费上限。',
  'This member reached their spending limit for this month across all API keys.':
    '此成员的所有密钥合计已达到本月的消费上限。',
  'This member reached their spending limit for this week across all API keys.':
    '此成员的所有密钥合计已达到本周的消费上限。',
  'This member reached their spending limit for today across all API keys.':
    '此成员的所有密钥合计已达到今日的消费上限。',
  'This member reached their total spending limit for the model {} across all API keys.':
    '此成员的所有密钥合计已达到模型 {1} 的总消费上限。',
  'This member reached their spending limit for the model {} for this month across all API keys.':
    '此成员的所有密钥合计已达到模型 {1} 本月的消费上限。',
  'This member reached their spending limit for the model {} for this week across all API keys.':
    '此成员的所有密钥合计已达到模型 {1} 本周的消费上限。',
  'This member reached their spending limit for the model {} for today across all API keys.':
    '此成员的所有密钥合计已达到模型 {1} 今日的消费上限。',
  'This member reached their limit of calls for today across all API keys.':
    '此成员的所有密钥合计已达到今日的调用上限。',
  'This member reached their concurrency limit.': '此成员已达到并发上限。',
  'Other members of the account are not affected.': '账户的其他成员不受影响。',
  'This end user or tag reached its spending limit for this month.': '此终端用户或标签已达到本月的消费上限。',
  'The end user "{}" reached its spending limit for this month.': '终端用户“{1}”已达到本月的消费上限。',
  'The tag "{}" reached its spending limit for this month.': '标签“{1}”已达到本月的消费上限。',
  'This end user or tag reached its spending limit for this week.': '此终端用户或标签已达到本周的消费上限。',
  'The end user "{}" reached its spending limit for this week.': '终端用户“{1}”已达到本周的消费上限。',
  'The tag "{}" reached its spending limit for this week.': '标签“{1}”已达到本周的消费上限。',
  'This end user or tag reached its spending limit for today.': '此终端用户或标签已达到今日的消费上限。',
  'The end user "{}" reached its spending limit for today.': '终端用户“{1}”已达到今日的消费上限。',
  'The tag "{}" reached its spending limit for today.': '标签“{1}”已达到今日的消费上限。',
  'Others are not affected.': '其他的不受影响。',
  'It shares this limit with others that were new today, beyond the first {}.': '当天超出前 {1} 个的新增者共用此上限。',
  'The balance is used up or reserved by calls in flight.': '余额已用完，或已被进行中的调用预留。',
  'Top up, or wait for them to finish.': '请充值，或等待调用结束。',
  'This account reached its spending limit for today.': '此账户已达到今日的消费上限。',
  'This account or API key reached its limit of requests or tokens per minute.':
    '此账户或 API 密钥已达到每分钟请求数或 token 数的上限。',
  'The limit of {} {} per minute of this {} for {} is reached.': '此{3*}对 {4} 每分钟 {1} {2*}的上限已达到。',
  'The limit of {} {} per minute of this {} is reached.': '此{3*}每分钟 {1} {2*}的上限已达到。',
  'Please try again in {}s.': '请在 {1} 秒后再试。',
  'Calls in flight have reserved part of this limit.': '进行中的调用预留了此上限的一部分。',
  'Try again when one of them has ended.': '请在其中一次调用结束后再试。',
  'This quota is exhausted and will reset at {}.': '此额度已用完，将于 {1*}重置。',

  // The provider and the outcome.
  'Nothing is charged.': '没有扣费。',
  'Every credential of the provider has reached a limit of the operator.': '供应商的所有凭据均已达到管理员设置的限额。',
  'All routes of this model have reached a limit that the operator has set.':
    '此模型的所有路由均已达到管理员设置的限额。',
  'A route is free again at {}.': '{1} 起有路由可用。',
  'Nothing was sent to it and nothing is charged.': '没有向其发送任何内容，也没有扣费。',
  'Nothing was sent to a provider and nothing is charged.': '没有向供应商发送任何内容，也没有扣费。',
  'The output received so far is charged.': '已收到的输出照常扣费。',
  'The provider could not be reached.': '无法连接供应商。',
  'The provider rejected the call before processing it.': '供应商在处理之前拒绝了调用。',
  'All connections to the provider are in use.': '与供应商的所有连接均在使用中。',
  'The connection to the provider failed after the call was sent, so its outcome is unknown.':
    '调用发送后与供应商的连接中断，因此结果未知。',
  'The answer of the provider cannot be translated: {}.': '无法转换供应商的响应：{1}。',
  'The provider gave a response that cannot be read or billed.': '供应商的响应无法读取或计费。',
  'The provider gave a response without usage, so it cannot be billed.': '供应商的响应没有用量，因此无法计费。',
  'The provider gave a response with usage that cannot be true, so it cannot be billed.':
    '供应商上报的用量不可能属实，因此无法计费。',
  'The provider did not respond in time, so the outcome is unknown.': '供应商未及时响应，因此结果未知。',
  'The provider aborted the stream.': '供应商中断了流。',
  'The provider stopped sending during the stream.': '供应商在流式响应中途停止发送。',
  'The provider refused the call.': '供应商拒绝了调用。',
  'No model has a route to the provider {}.': '没有模型有通往供应商 {1} 的路由。',
  "Name one of the provider's models.": '请指定供应商的一个模型。',
  'No operation of this model is tested by default; name the operation: {}.':
    '此模型没有默认测试的操作，请指定操作：{1}。',
  'This operation cannot be tested at this provider.': '不能在此供应商处测试该操作。',
  'These can be tested: {}.': '可以测试：{1}。',
  'The response is not a JSON object.': '响应不是 JSON 对象。',
  'The provider {} has no credential.': '供应商 {1} 没有凭据。',
  'The response does not follow the schema.': '响应不符合 schema。',
  'The response shows no reasoning.': '响应中没有推理。',
  'The model still reasons.': '模型仍在推理。',
  'The model did not call the tool.': '模型没有调用工具。',
  'not sent: the search took {} ms': '未发送：查找已用 {1} 毫秒',
  'The response lacks the usage that a charge needs, or is not a response of this operation.':
    '响应缺少计费所需的用量，或不是此操作的响应。',
  'The provider responded with status {}.': '供应商返回状态码 {1}。',
  'The provider does not accept the account of this gateway, so the call did not run.':
    '供应商不接受此网关的账户，因此调用未执行。',
  'Only the operator of the gateway can change that.': '只有网关的管理员可以解决。',
  'The gateway failed unexpectedly.': '网关发生意外错误。',
  'The gateway could not record the charge of this call, so its response is withheld.':
    '网关无法记录此调用的扣费，因此不返回响应。',
  "The gateway's database does not respond in time.": '网关的数据库未及时响应。',
  'The change may have taken effect: check, or repeat it with the same Idempotency-Key.':
    '修改可能已生效：请检查，或用相同的 Idempotency-Key 重试。',
  'This node cannot record the outcome of calls at the moment, so it accepts none.':
    '此节点目前无法记录调用的结果，因此不接受调用。',
  'This node must be restarted before it can serve this account.': '此节点须重启后才能为此账户服务。',
  'The request conflicts with the state of the resource.': '请求与资源的状态冲突。',
  'The request is well-formed but cannot be carried out.': '请求格式正确，但无法执行。',
  'The Idempotency-Key header must consist of 1 to 255 visible ASCII characters.':
    'Idempotency-Key 请求头须为 1 至 255 个可见的 ASCII 字符。',
  'This Idempotency-Key was used for another request.': '此 Idempotency-Key 已用于其他请求。',
  'Use a new key for a new request.': '新的请求请使用新的 Idempotency-Key。',
  'Too many repeats of the call with this Idempotency-Key wait for its response.':
    '使用此 Idempotency-Key 的重复调用中，等待响应的过多。',
  'The call with this Idempotency-Key was carried out and charged, but {}.':
    '使用此 Idempotency-Key 的调用已执行并扣费，但{1*}。',
  'Use a new key to call, and pay, again.': '如需再次调用并付费，请使用新的 Idempotency-Key。',
};
