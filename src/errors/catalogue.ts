/**
 * This file has the errors of the gateway itself, one row per kind, in order of precedence: if several apply, the first one is returned.
 * Several kinds can have the same code with different statuses: `modelAbsent` and `modelLacksOperation` are `model_not_found` (contract,
 * section 7).
 */
export type RetryAdvice =
  /** `x-should-retry: true`: the call did not run, or waiting helps. */
  | 'yes'
  /** `x-should-retry: false`: a retry cannot help, or could be charged a second time. */
  | 'no'
  /** No header: clients decide by the status. */
  | 'unsaid';

export interface ErrorRow {
  readonly status: number;
  readonly code: string;
  readonly retry: RetryAdvice;
  /**
   * Present if the account, plan or key has nothing left, for any request. The code is then `insufficient_quota` in the chat format and
   * `billing_error` in the messages format.
   */
  readonly isMoney?: true;
  /** Status in the messages format; absent: `status`. */
  readonly messagesStatus?: number;
  readonly message: string;
}

const noRetry = (status: number, code: string, message: string) => ({ status, code, retry: 'no', message }) as const;

const mayRetry = (status: number, code: string, message: string) => ({ status, code, retry: 'yes', message }) as const;

const usedUp = (code: string, message: string) => ({ status: 429, code, retry: 'no', isMoney: true, message }) as const;

export const errorCatalogue = {
  headersTooLarge: noRetry(
    431,
    'invalid_request_error',
    'The request headers are larger than 64 KiB or have more than 2000 lines.',
  ),
  malformedHttp: noRetry(
    400,
    'invalid_request_error',
    'The request is not well-formed HTTP, or its body ended before it was complete.',
  ),
  shuttingDown: mayRetry(503, 'internal_error', 'This node is shutting down. Try again; another node will respond.'),
  pathUnknown: noRetry(404, 'not_found', 'There is nothing at this address.'),
  methodNotAllowed: noRetry(405, 'method_not_allowed', 'This address does not support this method.'),
  upgradeRefused: noRetry(
    426,
    'invalid_request_error',
    'This gateway speaks HTTP/1.1 with JSON and server-sent events; it does not upgrade connections.',
  ),
  invalidApiKey: noRetry(401, 'invalid_api_key', 'The API key is missing, malformed, revoked or unknown.'),
  networkNotAllowed: noRetry(403, 'permission_denied', 'This API key may not be used from this IP address.'),
  scopeNotAllowed: noRetry(403, 'permission_denied', 'This API key does not have the scope "calls".'),
  roleNotAllowed: noRetry(403, 'permission_denied', 'Your role does not allow this.'),
  unsupportedMediaType: noRetry(
    415,
    'unsupported_media_type',
    'This address accepts only the Content-Type application/json.',
  ),
  requestTooLarge: noRetry(413, 'request_too_large', 'The body is larger than this gateway accepts.'),
  overloaded: {
    status: 503,
    messagesStatus: 529,
    code: 'overloaded',
    retry: 'yes',
    message: 'This node is at capacity. Try again later.',
  },
  requestTimeout: {
    status: 408,
    code: 'invalid_request_error',
    retry: 'unsaid',
    message: 'The request body stopped arriving, or arrived too slowly.',
  },
  invalidRequest: noRetry(400, 'invalid_request_error', 'The request is malformed.'),
  modelAbsent: noRetry(404, 'model_not_found', 'There is no such model at this address.'),
  modelNotServed: noRetry(
    404,
    'model_not_found',
    'The provider of this model does not serve it at present. Use another model, or ask the operator. Nothing is charged.',
  ),
  stateUnknown: noRetry(
    404,
    'not_found',
    'The request refers to an object that no response to this account contained.',
  ),
  protocolUnsupported: noRetry(
    404,
    'MODEL_ROUTING_PROTOCOL_UNSUPPORTED',
    'This model is not available on this protocol.',
  ),
  modelLacksOperation: noRetry(400, 'model_not_found', 'This model does not support the operation of this address.'),
  modelNotAllowed: noRetry(403, 'permission_denied', 'This API key may not use this model.'),
  memberModelNotAllowed: noRetry(
    403,
    'member_model_not_allowed',
    'The member who owns this API key may not use this model.',
  ),
  accountModelNotAllowed: noRetry(
    403,
    'account_model_not_allowed',
    'This account, or the group that it is in, may not use this model.',
  ),
  noHealthyRoute: mayRetry(
    503,
    'MODEL_ROUTING_NO_HEALTHY_ROUTE',
    'All routes of this model are out of service after repeated failures. Try again later.',
  ),
  routePolicyInvalid: {
    status: 503,
    code: 'MODEL_ROUTING_POLICY_INVALID',
    retry: 'unsaid',
    message: 'All routes of this model on this protocol are disabled: their weights are 0.',
  },
  routeNotConfigured: {
    status: 503,
    code: 'MODEL_ROUTING_NOT_CONFIGURED',
    retry: 'unsaid',
    message: 'No provider is configured for this model on this protocol.',
  },
  insufficientPackage: usedUp(
    'insufficient_package',
    'This account has no active Coding Plan. Coding addresses never draw on the balance.',
  ),
  packageExpired: usedUp(
    'package_expired',
    'The Coding Plan of this account has expired. Coding addresses never draw on the balance.',
  ),
  modelNotInPackage: noRetry(
    400,
    'model_not_in_package',
    'The Coding Plan of this account does not include this model.',
  ),
  packageInputTooLarge: noRetry(
    413,
    'package_input_too_large',
    'The request is larger than the Coding Plan allows: prompt is too long.',
  ),
  packageOutputLimitExceeded: noRetry(
    400,
    'package_output_limit_exceeded',
    'The request asks for more output tokens than the Coding Plan allows. Ask for fewer.',
  ),
  packageFiveHourQuotaExhausted: usedUp(
    'package_5h_quota_exhausted',
    'The Coding Plan reached its limit of calls per five hours.',
  ),
  packageWeeklyQuotaExhausted: usedUp(
    'package_weekly_quota_exhausted',
    'The Coding Plan reached its limit of calls for this week.',
  ),
  packageTokensExhausted: usedUp(
    'insufficient_package',
    'The Coding Plan reached its quota of tokens for this period.',
  ),
  packageConcurrencyLimited: mayRetry(
    429,
    'package_concurrency_limited',
    'The Coding Plan reached its concurrency limit. Try again when one of its calls has finished.',
  ),
  keyTotalSpendLimitReached: usedUp(
    'key_total_spend_limit_exceeded',
    'This API key reached its total spending limit. Other keys of the account are not affected.',
  ),
  keyMonthlySpendLimitReached: usedUp(
    'key_monthly_spend_limit_exceeded',
    'This API key reached its spending limit for this month. Other keys of the account are not affected.',
  ),
  keyWeeklySpendLimitReached: usedUp(
    'key_weekly_spend_limit_exceeded',
    'This API key reached its spending limit for this week. Other keys of the account are not affected.',
  ),
  keySpendLimitReached: usedUp(
    'key_daily_spend_limit_exceeded',
    'This API key reached its spending limit for today. Other keys of the account are not affected.',
  ),
  keyCallsLimitReached: usedUp(
    'key_daily_calls_limit_exceeded',
    'This API key reached its limit of calls for today. Other keys of the account are not affected.',
  ),
  keyConcurrencyLimited: mayRetry(
    429,
    'key_concurrency_limited',
    'This API key reached its concurrency limit. Try again when one of its calls has finished.',
  ),
  memberTotalSpendLimitReached: usedUp(
    'member_total_spend_limit_exceeded',
    'This member reached their total spending limit across all API keys. Other members of the account are not affected.',
  ),
  memberMonthlySpendLimitReached: usedUp(
    'member_monthly_spend_limit_exceeded',
    'This member reached their spending limit for this month across all API keys. Other members of the account are not affected.',
  ),
  memberWeeklySpendLimitReached: usedUp(
    'member_weekly_spend_limit_exceeded',
    'This member reached their spending limit for this week across all API keys. Other members of the account are not affected.',
  ),
  memberSpendLimitReached: usedUp(
    'member_daily_spend_limit_exceeded',
    'This member reached their spending limit for today across all API keys. Other members of the account are not affected.',
  ),
  memberCallsLimitReached: usedUp(
    'member_daily_calls_limit_exceeded',
    'This member reached their limit of calls for today across all API keys. Other members of the account are not affected.',
  ),
  memberConcurrencyLimited: mayRetry(
    429,
    'member_concurrency_limited',
    'This member reached their concurrency limit. Try again when one of their calls has finished.',
  ),
  callerMonthlySpendLimitReached: usedUp(
    'key_monthly_spend_limit_exceeded',
    'This end user or tag reached its spending limit for this month. Others are not affected.',
  ),
  callerWeeklySpendLimitReached: usedUp(
    'key_weekly_spend_limit_exceeded',
    'This end user or tag reached its spending limit for this week. Others are not affected.',
  ),
  callerSpendLimitReached: usedUp(
    'key_daily_spend_limit_exceeded',
    'This end user or tag reached its spending limit for today. Others are not affected.',
  ),
  insufficientBalance: usedUp(
    'insufficient_balance',
    'The balance is used up or reserved by calls in flight. Top up, or wait for them to finish.',
  ),
  balanceDailyLimitExceeded: usedUp(
    'balance_daily_limit_exceeded',
    'This account reached its spending limit for today.',
  ),
  rateLimitExceeded: mayRetry(
    429,
    'rate_limit_exceeded',
    'This account or API key reached its limit of requests or tokens per minute. Try again in a moment.',
  ),
  conflict: noRetry(409, 'conflict_error', 'The request conflicts with the state of the resource.'),
  unprocessable: noRetry(422, 'unprocessable_entity', 'The request is well-formed but cannot be carried out.'),
  upstreamNotReached: mayRetry(
    502,
    'upstream_error',
    'The provider could not be reached. Nothing was sent to it and nothing is charged.',
  ),
  upstreamError: noRetry(
    502,
    'upstream_error',
    'The connection to the provider failed after the call was sent, so its outcome is unknown. Nothing is charged.',
  ),
  upstreamInvalid: noRetry(
    502,
    'upstream_error',
    'The provider gave a response that cannot be read or billed. Nothing is charged.',
  ),
  upstreamTimeout: noRetry(
    504,
    'upstream_timeout',
    'The provider did not respond in time, so the outcome is unknown. Nothing is charged.',
  ),
  streamBroken: noRetry(
    502,
    'upstream_error',
    'The provider aborted the stream. The output received so far is charged.',
  ),
  streamStalled: noRetry(
    504,
    'upstream_timeout',
    'The provider stopped sending during the stream. The output received so far is charged.',
  ),
  upstreamRefused: {
    status: 502,
    code: 'upstream_error',
    retry: 'unsaid',
    message: 'The provider refused the call.',
  },
  upstreamAccountRefused: noRetry(
    502,
    'upstream_error',
    'The provider does not accept the account of this gateway, so the call did not run. Only the operator of the gateway ' +
      'can change that. Nothing is charged.',
  ),
  internal: {
    status: 500,
    code: 'internal_error',
    retry: 'unsaid',
    message: 'The gateway failed unexpectedly. Nothing is charged.',
  },
  databaseDown: mayRetry(
    500,
    'internal_error',
    "The gateway's database does not respond in time. Nothing was sent to a provider and nothing is charged. Try again in " +
      'a moment.',
  ),
  databaseSilent: {
    status: 500,
    code: 'internal_error',
    retry: 'unsaid',
    message:
      "The gateway's database does not respond in time. The change may have taken effect: check, or repeat it with the same " +
      'Idempotency-Key.',
  },
  journalUnwritable: mayRetry(
    500,
    'internal_error',
    'This node cannot record the outcome of calls at the moment, so it accepts none. Nothing was sent to a provider and ' +
      'nothing is charged.',
  ),
  settlementFailed: noRetry(
    500,
    'internal_error',
    'The gateway could not record the charge of this call, so its response is withheld. Nothing is charged.',
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorKind = keyof typeof errorCatalogue;
