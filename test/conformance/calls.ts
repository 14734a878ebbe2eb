import assert from 'node:assert/strict';
import { call } from '../support/client.ts';
import {
  assertSpent,
  costNano,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
} from '../support/gateway.ts';
import { chatCompletion, json, message, type ScriptedProvider, startProvider } from '../support/provider.ts';

/** Helpers for tests of calls and their errors: addresses, a request for each, and the format of errors. */

/** The wire family of an address, which determines the envelope of its errors. */
export type Family = 'chat' | 'messages';

/** An address of calls, with a request that succeeds. */
export interface CallAddress {
  readonly path: string;
  readonly family: Family;
  readonly context: 'balance' | 'coding';
  /** The status of a refusal for lack of money. */
  readonly moneyStatus: 402 | 429;
  readonly model: string;
  /** The provider's name of the model, and the provider's path. */
  readonly upstreamModel: string;
  readonly upstreamPath: string;
  /** The request without its model. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** A non-streaming response of the provider, and its charge. */
  readonly response: object;
  readonly costNano: bigint;
  /** The tokens of that response as a Coding Plan counts them; at Coding addresses only. */
  readonly tokens?: number;
  /** The member for the maximum number of output tokens, if there is one. */
  readonly outputCap?: string;
  /** A required member, in addition to the model. */
  readonly requiredField: string;
}

const question = [{ role: 'user', content: 'Say hello.' }];

const chat = {
  family: 'chat',
  moneyStatus: 402,
  model: 'test-chat',
  upstreamModel: 'upstream-chat',
  upstreamPath: '/v1/chat/completions',
  fields: { messages: question, max_tokens: 20 },
  response: chatCompletion({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }),
  costNano: costNano({ input: 11, output: 7 }),
  tokens: 18,
  outputCap: 'max_tokens',
  requiredField: 'messages',
} as const;

const messages = {
  family: 'messages',
  moneyStatus: 402,
  model: 'test-messages',
  upstreamModel: 'upstream-messages',
  upstreamPath: '/v1/messages',
  fields: { messages: question, max_tokens: 20 },
  response: message({ input_tokens: 12, output_tokens: 8 }),
  costNano: costNano({ input: 12, output: 8 }),
  tokens: 20,
  outputCap: 'max_tokens',
  requiredField: 'messages',
} as const;

const responses = {
  family: 'chat',
  moneyStatus: 402,
  model: 'test-responses',
  upstreamModel: 'upstream-responses',
  upstreamPath: '/v1/responses',
  fields: { input: 'Say hello.' },
  response: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] }],
    usage: { input_tokens: 13, output_tokens: 5, total_tokens: 18 },
  },
  costNano: costNano({ input: 13, output: 5 }),
  tokens: 18,
  requiredField: 'model',
} as const;

const compaction = {
  ...responses,
  moneyStatus: 429,
  upstreamPath: '/v1/responses/compact',
  response: {
    id: 'resp_2',
    object: 'response.compaction',
    created_at: 1_790_000_000,
    output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }],
    usage: { input_tokens: 17, output_tokens: 3, total_tokens: 20 },
  },
  costNano: costNano({ input: 17, output: 3 }),
  tokens: 20,
} as const;

export const chatAddress: CallAddress = { ...chat, path: '/v1/chat/completions', context: 'balance' };
export const messagesAddress: CallAddress = { ...messages, path: '/v1/messages', context: 'balance' };
export const embeddingsAddress: CallAddress = {
  path: '/v1/embeddings',
  family: 'chat',
  context: 'balance',
  moneyStatus: 402,
  model: 'test-embeddings',
  upstreamModel: 'embedder',
  upstreamPath: '/v1/embeddings',
  fields: { input: 'Zürich 北京 😀' },
  response: {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.25, -1e-7, 3] }],
    model: 'embedder',
    usage: { prompt_tokens: 9, total_tokens: 9 },
  },
  costNano: costNano({ input: 9 }),
  requiredField: 'input',
};
export const rerankAddress: CallAddress = {
  path: '/v1/rerank',
  family: 'chat',
  context: 'balance',
  moneyStatus: 402,
  model: 'test-rerank',
  upstreamModel: 'reranker',
  upstreamPath: '/v1/rerank',
  fields: { query: 'capital of France', documents: ['Paris', 'Lyon'] },
  response: {
    id: 'rr_1',
    results: [
      { index: 0, relevance_score: 0.98 },
      { index: 1, relevance_score: 0.02 },
    ],
    usage: { total_tokens: 21, prompt_tokens: 21 },
  },
  costNano: costNano({ input: 21 }),
  requiredField: 'documents',
};

/** Every address of calls with a JSON body, including Coding addresses. */
export const callAddresses: readonly CallAddress[] = [
  chatAddress,
  { ...chat, path: '/v1/coding/chat/completions', context: 'coding' },
  embeddingsAddress,
  rerankAddress,
  { ...responses, path: '/v1/responses', context: 'balance' },
  { ...responses, path: '/v1/coding/responses', context: 'coding', outputCap: 'max_output_tokens' },
  { ...compaction, path: '/v1/responses/compact', context: 'balance' },
  { ...compaction, path: '/v1/coding/responses/compact', context: 'coding' },
  {
    path: '/v1/images/generations',
    family: 'chat',
    context: 'balance',
    moneyStatus: 429,
    model: 'test-images',
    upstreamModel: 'painter',
    upstreamPath: '/v1/images/generations',
    fields: { prompt: 'a gate' },
    response: {
      created: 1_790_000_000,
      data: [{ b64_json: 'aGVsbG8=' }],
      usage: {
        input_tokens: 4,
        input_tokens_details: { image_tokens: 0, text_tokens: 4 },
        output_tokens: 6,
        total_tokens: 10,
      },
    },
    costNano: 3000n * 4n + 19_000n * 6n,
    requiredField: 'prompt',
  },
  messagesAddress,
  { ...messages, path: '/altproto/v1/messages', context: 'coding' },
  { ...messages, path: '/altproto/coding/v1/messages', context: 'coding' },
  { ...messages, path: '/v1/coding/altproto/messages', context: 'coding' },
];

export const balanceAddresses = callAddresses.filter(({ context }) => context === 'balance');
export const codingAddresses = callAddresses.filter(({ context }) => context === 'coding');

/** The request of an address, with these members added or replaced; `undefined` removes one. */
export function requestTo(address: CallAddress, fields: Readonly<Record<string, unknown>> = {}): object {
  return { model: address.model, ...address.fields, ...fields };
}

export function send(
  gateway: TestGateway,
  account: Pick<TestAccount, 'key'>,
  address: CallAddress,
  fields: Readonly<Record<string, unknown>> = {},
  headers: Record<string, string> = {},
) {
  return call(gateway.url + address.path, account.key, requestTo(address, fields), { headers });
}

/** Models that cannot be served for different reasons, for every operation. `silent` is a provider that never responds. */
export interface DeadEnds {
  readonly silent: ScriptedProvider;
  readonly options: Required<Pick<TestGatewayOptions, 'providers' | 'models'>>;
}

export const deadEnds = {
  /** Its provider accepts the call and never responds. */
  silent: 'test-silent',
  /** Nothing listens at its provider's address. */
  away: 'test-away',
  /** All its routes are disabled. */
  switchedOff: 'test-switched-off',
  unlisted: 'test-unlisted',
  absent: 'no-such-model',
  /** Its only route has a provider of the other family. */
  unrouted: { chat: 'test-unrouted-chat', messages: 'test-unrouted-messages' },
  /** It is available with the other family's protocol only. */
  otherProtocol: { chat: 'test-messages', messages: 'test-chat' },
} as const;

const CHAT_OPERATIONS = 'chat, responses, compact, embeddings, rerank, images.generate, images.edit';
const FREE = '{ input: "1", output: "1" }';

export async function startDeadEnds(): Promise<DeadEnds> {
  const silent = await startProvider();
  silent.respond = () => undefined;
  const timeouts = 'timeouts: { firstByte: 100ms }';
  return {
    silent,
    options: {
      providers: `
  silent-chat: { protocol: chat, baseUrl: "${silent.url}/v1", apiKey: silent-secret-key-1, ${timeouts} }
  silent-messages: { protocol: messages, baseUrl: "${silent.url}", apiKey: silent-secret-key-2, ${timeouts} }
  away-chat: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: away-secret-key-1 }
  away-messages: { protocol: messages, baseUrl: "http://127.0.0.1:1", apiKey: away-secret-key-2 }`,
      models: `
  test-silent:
    operations: [${CHAT_OPERATIONS}, messages]
    price: ${FREE}
    routes: [{ provider: silent-chat, model: x }, { provider: silent-messages, model: x }]
  test-away:
    operations: [${CHAT_OPERATIONS}, messages]
    price: ${FREE}
    routes: [{ provider: away-chat, model: x }, { provider: away-messages, model: x }]
  test-switched-off:
    operations: [${CHAT_OPERATIONS}, messages]
    price: ${FREE}
    routes: [{ provider: chatty, model: x, weight: 0 }, { provider: messy, model: x, weight: 0 }]
  test-unlisted:
    listed: false
    operations: [${CHAT_OPERATIONS}, messages]
    price: ${FREE}
    routes: [{ provider: chatty, model: x }, { provider: messy, model: x }]
  test-unrouted-chat:
    operations: [${CHAT_OPERATIONS}]
    price: ${FREE}
    routes: [{ provider: messy, model: x }]
  test-unrouted-messages:
    operations: [messages]
    price: ${FREE}
    routes: [{ provider: chatty, model: x }]`,
    },
  };
}

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

export interface ExpectedError {
  readonly status: number;
  readonly code: string;
  /** `error.type`; the public catalog has none. */
  readonly type?: string;
  /** The chat envelope's `param`; by default `null`. */
  readonly param?: string | null;
  /** `x-should-retry`; by default absent. */
  readonly retry?: 'true' | 'false';
  readonly message?: string;
}

/** Asserts an error: status, complete body in the envelope of its address, and the headers that every error has. */
export function assertError(
  response: ErrorResponse,
  envelope: Family | 'usage' | 'catalog',
  expected: ExpectedError,
): void {
  const text = response.body.toString();
  const { status, headers } = response;
  assert.equal(status, expected.status, text);
  const body = JSON.parse(text);
  const message = expected.message ?? (envelope === 'catalog' ? body.message : body.error?.message);
  assert.ok(typeof message === 'string' && message !== '', text);
  const { code, type, param = null } = expected;
  switch (envelope) {
    case 'chat':
      if (type === 'usage_limit_reached') assert.ok(Number.isSafeInteger(body.error.resets_at));
      assert.deepEqual(body, {
        error: {
          message,
          type,
          param,
          code,
          ...(type === 'usage_limit_reached' && { resets_at: body.error.resets_at }),
        },
      });
      break;
    case 'messages':
      assert.deepEqual(body, {
        type: 'error',
        error: { type, message, details: { error_code: code } },
        request_id: headers['request-id'],
      });
      break;
    case 'usage':
      assert.deepEqual(body, { error: { code, message, type } });
      break;
    case 'catalog':
      assert.deepEqual(body, { code, message, success: false, timestamp: body.timestamp });
      assert.equal(new Date(body.timestamp).toISOString(), body.timestamp);
      break;
  }
  assert.match(String(headers['content-type']), /^application\/json(; charset=utf-8)?$/);
  // The catalog has its own codes in the body; the header's codes are the same everywhere.
  if (envelope !== 'catalog') assert.equal(headers['x-error-code'], code);
  assert.equal(headers['x-should-retry'], expected.retry);
  assert.ok(headers['request-id'], 'no request id');
  assert.equal(headers['x-request-id'], headers['request-id']);
}

/** Runs an action that is refused before any provider is called. Asserts that, and that nothing is charged or reserved. */
export async function assertUntouched(
  gateway: TestGateway,
  account: TestAccount,
  work: () => Promise<void>,
): Promise<void> {
  const calls = gateway.provider.requests.length;
  await work();
  assert.equal(gateway.provider.requests.length, calls, 'the provider was called');
  await assertSpent(account, 0n);
  assert.equal(await account.lastCall(), undefined, 'a call is on record');
}

/** A provider's refusal in the format of its family. */
export function providerError(family: Family, error: Readonly<Record<string, unknown>>): object {
  return family === 'chat' ? { error } : { type: 'error', error, request_id: 'req_of_theirs' };
}

/** Makes the provider respond to every call of the address with success. */
export function responseWell(gateway: TestGateway, address: CallAddress): void {
  gateway.provider.respond = json(200, address.response);
}

/** The `type` of a temporary refusal for lack of money. Codex, which uses responses, recognises its own type. */
export function limitedType({ family, path }: Pick<CallAddress, 'family' | 'path'>): string {
  if (family === 'messages') return 'billing_error';
  return path.endsWith('/responses') ? 'usage_limit_reached' : 'insufficient_quota';
}
