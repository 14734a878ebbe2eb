/** What a person can do about a refused call: a name in `callingTexts.advice`, and the page that helps. */
export interface Advice {
  readonly name:
    | 'balance'
    | 'plan'
    | 'keyBudget'
    | 'memberBudget'
    | 'dailyCap'
    | 'key'
    | 'model'
    | 'size'
    | 'wait'
    | 'provider';
  /** `null`: no page helps. */
  readonly page: string | null;
}

/** By error code (`docs/errors.md`). The first match counts. */
const ADVICE: readonly (readonly [code: RegExp, advice: Advice])[] = [
  [/^insufficient_balance$/, { name: 'balance', page: '/vouchers' }],
  [/^balance_daily_limit_exceeded$/, { name: 'dailyCap', page: null }],
  [/^member_model_not_allowed$|^account_model_not_allowed$|^permission_denied$/, { name: 'model', page: '/keys' }],
  [/^(?:MODEL_ROUTING_PROTOCOL_UNSUPPORTED|model_not_found|model_not_in_package)$/, { name: 'model', page: '/models' }],
  [/^invalid_api_key$/, { name: 'key', page: '/keys' }],
  [/^(?:request_too_large|package_input_too_large)$/, { name: 'size', page: null }],
  [/_concurrency_limited$|^rate_limit_exceeded$|^overloaded$/, { name: 'wait', page: null }],
  [/^key_/, { name: 'keyBudget', page: '/keys' }],
  [/^member_/, { name: 'memberBudget', page: null }],
  [/^insufficient_package$|^package_/, { name: 'plan', page: '/plan' }],
  [/^MODEL_ROUTING_|^upstream_/, { name: 'provider', page: null }],
];

/** Returns what to do about an error code; `null`: the message says all. */
export function adviceOf(code: string): Advice | null {
  return ADVICE.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}
