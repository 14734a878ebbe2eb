import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RefusalReason } from './failure.ts';
import { refusalFailure } from './refusal.ts';

const SECRETS = ['provider-secret-1', 'acme.example'];

const failureOf = (status: number, error: object = {}, headers: Record<string, string> = {}) =>
  refusalFailure({ status, headers }, Buffer.from(JSON.stringify({ error })), SECRETS, 'req_1');

const NO_SCOPE = 'You have insufficient permissions for this operation. Missing scopes: api.responses.write.';
const QUOTA = 'You exceeded your current quota, please check your plan and billing details.';
const ALLOCATED_QUOTA = 'Allocated quota exceeded, please increase your quota limit.';
const FOREIGN = 'Invalid `signature` in `thinking` block';
const EMPTY_ACCOUNT = 'Your credit balance is too low to access the Anthropic API.';
const PLANS = 'Please go to Plans & Billing to upgrade or purchase credits.';

/** In Google's format: the status is the code, and a detail contains the reason. */
function googleError(reason: string): object {
  return {
    code: 400,
    message: 'API key not valid. Please pass a valid API key.',
    status: 'INVALID_ARGUMENT',
    details: [
      { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message: 'API key not valid.' },
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' },
    ],
  };
}

/** `status {error}`, and the reason of the refusal. */
const REASONS: readonly [status: number, error: object, reason: RefusalReason][] = [
  [401, {}, 'operator'],
  [402, { message: 'Insufficient Balance' }, 'operator'],
  [401, { code: 'missing_scope', message: NO_SCOPE }, 'permission'],
  [401, { type: 'invalid_request_error', message: NO_SCOPE }, 'permission'],
  [
    402,
    { message: 'This request requires more credits, or fewer max_tokens. You can only afford 3919.' },
    'permission',
  ],
  [402, { message: 'Prompt tokens limit exceeded: 230799 > 91442.' }, 'permission'],
  [400, { type: 'budget_exceeded', message: 'ExceededBudget: End User=u1 over budget.' }, 'permission'],
  [400, { type: 'budget_exceeded', message: 'Budget has been exceeded! Current cost: 2, Max budget: 1' }, 'operator'],
  [403, { type: 'permission_error' }, 'permission'],
  [403, { code: 'insufficient_quota' }, 'permission'],
  [429, {}, 'rate'],
  [429, { type: 'rate_limit_error', message: 'Your credit limit of requests is reached' }, 'rate'],
  [429, { code: 'rate_limit_exceeded', type: 'tokens' }, 'rate'],
  [429, { code: 'insufficient_quota', type: 'insufficient_quota' }, 'operator'],
  [
    429,
    { code: 'insufficient_quota', message: `${QUOTA} For more information on this error, read the docs: …` },
    'operator',
  ],
  [429, { code: 'insufficient_quota', message: 'Free allocated quota exceeded.' }, 'operator'],
  [429, { code: 'insufficient_quota', message: ALLOCATED_QUOTA }, 'rate'],
  [429, { code: 'insufficient_quota', message: QUOTA }, 'rate'],
  [
    429,
    { code: 'insufficient_quota', message: `${QUOTA} For details, see: https://help.example/#token-limit` },
    'rate',
  ],
  [429, { code: 'project_spend_limit_exceeded', type: 'insufficient_quota' }, 'operator'],
  [429, { code: null, type: 'billing_error' }, 'operator'],
  [429, { code: 'billing_not_active' }, 'operator'],
  [429, { type: 'exceeded_current_quota_error' }, 'operator'],
  [429, { code: '1113', message: '账户已欠费' }, 'operator'],
  [429, { type: 'error', details: { error_code: 'insufficient_balance' } }, 'operator'],
  [400, {}, 'call'],
  [400, googleError('API_KEY_INVALID'), 'operator'],
  [400, googleError('FIELD_VIOLATION'), 'call'],
  [400, { ...googleError('x'), details: [null, 'API_KEY_INVALID', { reason: 7 }] }, 'call'],
  [400, { message: 'API key not valid. Please pass a valid API key.' }, 'call'],
  [400, { message: 'The text "insufficient_quota" is not allowed.' }, 'call'],
  [400, { code: 'Arrearage' }, 'operator'],
  [400, { type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' }, 'operator'],
  [400, { type: 'invalid_request_error', message: 'messages.0: "Your credit balance is too low"' }, 'call'],
  [400, { type: 'invalid_request_error', message: `${EMPTY_ACCOUNT} ${PLANS}` }, 'operator'],
  // Callers choose the member names in their requests.
  [400, { message: 'Your credit balance is too low: Extra inputs are not permitted' }, 'call'],
  [400, { message: `${EMPTY_ACCOUNT} ${PLANS}: Extra inputs are not permitted` }, 'call'],
  [400, { type: 'invalid_request_error', message: `messages.1.content.0: ${FOREIGN}` }, 'signature'],
  [400, { message: 'messages.7.content.2: Invalid signature in thinking block' }, 'signature'],
  [400, { message: 'messages.1.content.0: Invalid `data` in `redacted_thinking` block' }, 'signature'],
  [400, { message: 'messages.1.content.0.thinking.signature: Field required' }, 'signature'],
  [
    400,
    {
      message:
        'messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
    },
    'signature',
  ],
  [
    400,
    { code: 400, message: JSON.stringify({ error: { message: FOREIGN } }), status: 'INVALID_ARGUMENT' },
    'signature',
  ],
  [400, { message: `litellm.BadRequestError: AnthropicException - {"error":{"message":"${FOREIGN}"}}` }, 'signature'],
  [400, { message: 'Provider returned error', code: 400, metadata: { raw: `{"message":"${FOREIGN}"}` } }, 'signature'],
  [400, { type: 'request_fail', upstream_error: { error: { message: FOREIGN } } }, 'signature'],
  [400, { code: 'invalid_encrypted_content', message: 'The encrypted content gAAA...Rg== is not ours.' }, 'signature'],
  [400, { message: 'The encrypted content for item rs_1 could not be verified.' }, 'signature'],
  [400, { message: 'Could not decrypt the provided encrypted_content.' }, 'signature'],
  [400, { code: 400, message: 'Thought signature is not valid', status: 'INVALID_ARGUMENT' }, 'signature'],
  [400, { message: 'Corrupted thought signature.' }, 'signature'],
  [400, { message: 'Function call is missing a thought_signature in functionCall parts.' }, 'signature'],
  // A request with other errors would fail at any provider.
  [400, { message: 'messages.0.content.0: Invalid `data` in `image` block' }, 'call'],
  [400, { message: 'messages.1.content.0.thinking.thinking: Field required' }, 'call'],
  [400, { message: 'messages.3: `thinking` blocks are not allowed for this model' }, 'call'],
  [400, { message: 'tools.0.custom.input_schema.properties.signature: Input should be an object' }, 'call'],
  [400, { message: 'messages.2.content.0.tool_use.input.signature: Field required' }, 'call'],
  [400, { message: 'Invalid signature of the picture in image_url' }, 'call'],
  [400, { message: 'The content of this file is encrypted and could not be read.' }, 'call'],
  [400, { message: 'include: reasoning.encrypted_content is not supported with this model.' }, 'call'],
  [400, { message: 'Provider returned error', code: 400, metadata: { raw: '{"message":"max_tokens"}' } }, 'call'],
  [403, { message: FOREIGN }, 'permission'],
  [422, { message: FOREIGN }, 'call'],
  [404, { code: 'insufficient_quota' }, 'call'],
  [
    404,
    { code: 'model_not_found', message: 'The model `gpt-4.1` does not exist or you do not have access to it.' },
    'model',
  ],
  [404, { type: 'not_found_error', message: 'model: claude-2.1' }, 'model'],
  [404, { message: 'models/gemini-1.0 is not found for API version v1main.', status: 'NOT_FOUND' }, 'model'],
  [404, { message: 'No endpoints found for acme/model-1.' }, 'model'],
  [404, { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' }, 'model'],
  [404, { type: 'resource_not_found_error', message: 'Not found the model moonshot-v0 or Permission denied' }, 'model'],
  [404, { message: "model 'llama9' not found" }, 'model'],
  [404, { message: 'Nothing of that name.', param: 'model' }, 'model'],
  [404, { message: "File 'model that is not there' was not found." }, 'call'],
  [404, { code: 'previous_response_not_found', message: "Previous response with id 'model' not found." }, 'call'],
  [404, {}, 'call'],
  [422, {}, 'call'],
  [500, {}, 'fault'],
  [502, {}, 'lost'],
  [503, {}, 'capacity'],
  [504, {}, 'lost'],
  [520, {}, 'fault'],
  [529, {}, 'capacity'],
];

describe('the reason of a refusal', () => {
  for (const [status, error, reason] of REASONS) {
    it(`is "${reason}" for ${status} ${JSON.stringify(error)}`, () => {
      assert.deepEqual(failureOf(status, error).refusal, { reason, status });
    });
  }
});

it("is found in an array, as in Google's compatible API", () => {
  const body = Buffer.from(JSON.stringify([{ error: googleError('API_KEY_INVALID') }]));
  const { refusal, response } = refusalFailure({ status: 400, headers: {} }, body, SECRETS, 'req_1');
  assert.deepEqual([refusal!.reason, response.kind], ['operator', 'upstreamAccountRefused']);
});

describe("a refusal of the operator's credential or account", () => {
  const limits = { 'retry-after': '7', 'x-ratelimit-remaining-requests': '0' };
  const failure = failureOf(
    401,
    { message: 'Incorrect key provider-secret-1 at acme.example', code: 'invalid_api_key' },
    { ...limits, 'x-should-retry': 'true' },
  );

  it("is a 502 upstream_error with the gateway's own message, without retry advice", () => {
    const { kind, status, code, retry, message, headers, requestId } = failure.response;
    assert.deepEqual(
      [kind, status, code, retry, requestId],
      ['upstreamAccountRefused', 502, 'upstream_error', 'no', 'req_1'],
    );
    assert.doesNotMatch(message, /Incorrect/);
    assert.deepEqual(headers, limits);
  });

  it("keeps the provider's message for the log, without the key", () => {
    assert.equal((failure.cause as Error).message, 'Incorrect key [provider] at [provider]');
    assert.equal((failure.response.cause as Error).message, 'Incorrect key [provider] at [provider]');
  });

  it("does not contain the provider's message even if other calls would be accepted", () => {
    for (const status of [401, 402]) {
      const { response, refusal } = failureOf(status, { message: 'You can only afford 12 tokens.' });
      assert.deepEqual([response.kind, refusal?.reason], ['upstreamAccountRefused', 'permission']);
    }
  });
});

describe('a refusal of a model', () => {
  it("is a 404 with the gateway's own message; the provider's name of the model is only logged", () => {
    const { response, certainty, cause } = failureOf(404, { message: 'The model `acme.example-2` does not exist.' });
    const { kind, status, code, param, retry, message } = response;
    assert.deepEqual(
      [kind, status, code, param, retry, certainty],
      ['modelNotServed', 404, 'model_not_found', 'model', 'no', 'refused'],
    );
    assert.doesNotMatch(message, /acme|-2/);
    assert.equal((cause as Error).message, 'The model `[provider]-2` does not exist.');
  });
});
