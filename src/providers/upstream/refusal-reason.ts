import type { GatewayError } from '../../errors/gateway-error.ts';
import type { RefusalReason } from './failure.ts';

/** Lowercase codes and types of errors about the operator's account, sent with status 429 or 400. Callers cannot cause them. */
const ACCOUNT_CODES = new Set([
  'account_deactivated',
  'accountoverdueerror',
  // Google sends this code with status 400 for an invalid or expired key.
  'api_key_invalid',
  'arrearage',
  'billing_error',
  'billing_hard_limit_reached',
  'billing_not_active',
  'budget_exceeded',
  'credit_balance_exhausted',
  'exceeded_current_quota_error',
  'insufficient_balance',
  'insufficient_credits',
  'insufficient_funds',
  'insufficient_quota',
  'insufficient_user_quota',
  'organization_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
  'payment_required',
  'project_spend_limit_exceeded',
  'usage_limit_reached',
  'usage_not_included',
  // Numeric codes of two vendors for an account in arrears and a locked account.
  '1112',
  '1113',
]);

/**
 * Anthropic reports an account without credit as an invalid request, with this sentence and no code. Only the complete sentence matches,
 * because messages of similar errors begin with a member name that the caller chooses.
 */
const EMPTY_ACCOUNT =
  /^Your credit balance is too low to access the (?:\w+ )?API\.(?: Please go to Plans & Billing[\w ]*\.)?$/;

/** Alibaba's message for a token limit per second or minute. The code is `insufficient_quota`, as for an empty account at OpenAI. */
const TOKEN_RATE =
  /^(?:Workspace )?allocated quota exceeded\b|^You exceeded your current quota, please check your plan and billing details\.(?: For details\b|$)/i;

/** The code for a restricted OpenAI key that lacks the scope for this kind of call. */
const MISSING_SCOPE = 'missing_scope';

/** Messages about the operator's account that apply only to this call: scope, length (OpenRouter), budget of an end user (LiteLLM). */
const OF_THIS_CALL =
  /^You have insufficient permissions for this operation\b|\bcan only afford \d|^Prompt tokens limit exceeded\b|^ExceededBudget: End User=/;

/**
 * Messages with status 404 about the model: `The model x does not exist`, `model: x`, `models/x is not found for API version v1`, `No
 * endpoints found for x.`, `The API deployment for this resource does not exist.`
 */
const MODEL_NOT_SERVED =
  /^models?: |\bmodels?\b.{0,200}\b(?:not|no longer|unavailable|retired|deprecated)\b|\bnot found the model\b|^No endpoints? found|\bdeployment\b.{0,80}\bnot exist/i;
const OTHER_OBJECT = /\b(?:file|response|item|conversation|container|vector store|skill|tool)\b/i;

function isAboutModel({ param, message }: GatewayError): boolean {
  return param === 'model' || (MODEL_NOT_SERVED.test(message) && !OTHER_OBJECT.test(message));
}

const INVALID_ENCRYPTED_CONTENT = 'invalid_encrypted_content';

/**
 * Messages with status 400 about a signature or encrypted content: ``Invalid `signature` in `thinking` block``,
 * `messages.1.content.0.thinking.signature: Field required`, `The encrypted content gAAA… could not be verified.`, `Thought signature is
 * not valid`. Relays add text before and after them.
 */
const SIGNATURE_REFUSED: readonly RegExp[] = [
  /\bInvalid [`']?(?:signature|data)[`']? in [`']?(?:redacted_)?thinking[`']? block/,
  /\bInvalid [`']?encrypted_(?:content|index)\b/,
  /\bmessages\.\d+\.content\.\d+\.(?:redacted_)?thinking\.(?:signature|data): /,
  /thinking[`']? blocks in the latest assistant message cannot be modified/,
  /\bencrypted[ _]content\b.{0,200}\bcould not be (?:verified|decrypted|decoded|parsed)/i,
  /\b(?:could not|failed to) (?:verify|decrypt|decode|parse)\b.{0,40}\bencrypted[ _]content/i,
  /\b(?:invalid|corrupted|missing|forging)(?: an?| the)? [`']?(?:thought|thinking)[ _]?signature/i,
  /\b(?:thought|thinking)[ _]?signature[`']? (?:is|are) (?:not valid|invalid|corrupted|missing)/i,
];

function isAboutSignature({ code, type, message, cause }: GatewayError): boolean {
  if (code === INVALID_ENCRYPTED_CONTENT || type === INVALID_ENCRYPTED_CONTENT) return true;
  // A relay's refusal has the error of the server behind the relay as its cause.
  const words = cause instanceof Error ? [message, cause.message] : [message];
  return words.some((each) => SIGNATURE_REFUSED.some((pattern) => pattern.test(each)));
}

export function refusalReason(refused: GatewayError): RefusalReason {
  if (isAboutOperator(refused)) return isOfThisCall(refused) ? 'permission' : 'operator';
  switch (refused.status) {
    case 400:
      return isAboutSignature(refused) ? 'signature' : 'call';
    case 403:
      return 'permission';
    case 404:
      return isAboutModel(refused) ? 'model' : 'call';
    case 429:
      return 'rate';
    case 503:
    case 529:
      return 'capacity';
    case 502:
    case 504:
      return 'lost';
    default:
      return refused.status >= 500 ? 'fault' : 'call';
  }
}

/** Whether a refusal is about the operator's credential or account. If so, the client must not see its message. */
export function isAboutOperator(refused: GatewayError): boolean {
  switch (refused.status) {
    case 401:
    case 402:
      return true;
    case 400:
      return isAboutAccount(refused);
    case 429:
      return isAboutAccount(refused) && !TOKEN_RATE.test(refused.message);
    default:
      return false;
  }
}

function isOfThisCall({ code, message }: GatewayError): boolean {
  return code === MISSING_SCOPE || OF_THIS_CALL.test(message);
}

function isAboutAccount({ code, type, message }: GatewayError): boolean {
  return isAccountCode(code) || isAccountCode(type) || EMPTY_ACCOUNT.test(message);
}

export function isAccountCode(word: string | undefined): boolean {
  return word !== undefined && ACCOUNT_CODES.has(word.toLowerCase());
}
