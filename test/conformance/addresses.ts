import assert from 'node:assert/strict';
import { costNano } from '../support/gateway.ts';
import {
  chatResponse,
  chatUsage,
  completionResponse,
  event,
  json,
  messagesResponse,
  messagesUsage,
  type Respond,
  sse,
} from '../support/provider.ts';
import { type RawResponse, sendRaw } from '../support/raw.ts';

/**
 * The table in section 4, derived from the contract and its base addresses, independently of the gateway's own table, with which tests
 * compare it. `altproto` and `compat` are the default names of these addresses.
 */

export type Envelope = 'chat' | 'messages' | 'usage' | 'cohere' | 'catalog';
export type Auth = 'Bearer' | 'x-api-key or Bearer' | 'none';

export interface Address {
  readonly method: 'GET' | 'POST';
  /** As in the contract. */
  readonly path: string;
  readonly auth: Auth;
  readonly envelope: Envelope;
  readonly context: 'balance' | 'coding' | 'free';
  readonly work: WorkName;
  /** Whether the contract lists it; otherwise it follows from a base address. */
  readonly source: 'contract' | 'base address';
}

/** The operation of an address, and a valid request. */
interface Work {
  /** The provider's path; absent if no provider is called. */
  readonly upstreamPath?: string;
  readonly body?: object | Buffer;
  readonly contentType?: string;
  /** The provider's response, and its charge at the prices of the test configuration. */
  readonly respond?: Respond;
  readonly costNano?: bigint;
  readonly respondStream?: Respond;
  /** The status of its refusal without a Coding Plan. */
  readonly codingStatus?: number;
  /** The tokens of the response, as a Coding Plan counts them. */
  readonly tokens?: number;
}

const tinyPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const BOUNDARY = 'the-boundary-of-a-test';

export function formOf(fields: Readonly<Record<string, string>>): Buffer {
  const texts = Object.entries(fields).map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return Buffer.concat([
    Buffer.from(texts.join('')),
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n`),
    Buffer.from(tinyPng, 'base64'),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
}

const ask = [{ role: 'user', content: 'Hello' }];
const responseUsage = { input_tokens: 9, output_tokens: 4, total_tokens: 13 };
const response = { id: 'resp_1', object: 'response', created_at: 1_790_000_000, status: 'completed', output: [] };
const finished = { ...response, usage: responseUsage };
const images = { created: 1_790_000_000, data: [{ b64_json: 'aGVsbG8=' }] };

export const works = {
  chat: {
    upstreamPath: '/v1/chat/completions',
    body: { model: 'test-chat', messages: ask },
    respond: chatResponse(),
    respondStream: chatResponse(),
    costNano: costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens }),
    codingStatus: 402,
    tokens: 18,
  },
  messages: {
    upstreamPath: '/v1/messages',
    body: { model: 'test-messages', max_tokens: 16, messages: ask },
    respond: messagesResponse(),
    respondStream: messagesResponse(),
    costNano: costNano({ input: messagesUsage.input_tokens, output: messagesUsage.output_tokens }),
    codingStatus: 402,
    tokens: 20,
  },
  completions: {
    upstreamPath: '/v1/completions',
    body: { model: 'test-completions', prompt: 'def add(', suffix: ')' },
    respond: completionResponse(),
    respondStream: completionResponse(),
    costNano: costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens }),
    codingStatus: 402,
    tokens: 18,
  },
  embeddings: {
    upstreamPath: '/v1/embeddings',
    body: { model: 'test-embeddings', input: 'Hello' },
    respond: json(200, {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      usage: { prompt_tokens: 5, total_tokens: 5 },
    }),
    costNano: costNano({ input: 5 }),
  },
  rerank: {
    upstreamPath: '/v1/rerank',
    body: { model: 'test-rerank', query: 'Hello', documents: ['Hi'] },
    respond: json(200, { results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 6 } }),
    costNano: costNano({ input: 6 }),
  },
  responses: {
    upstreamPath: '/v1/responses',
    body: { model: 'test-responses', input: 'Hello' },
    respond: json(200, finished),
    respondStream: sse([event('response.created', { response }), event('response.completed', { response: finished })]),
    costNano: costNano({ input: 9, output: 4 }),
    codingStatus: 402,
    tokens: 13,
  },
  compact: {
    upstreamPath: '/v1/responses/compact',
    body: { model: 'test-responses', input: 'Hello' },
    respond: json(200, {
      id: 'resp_2',
      object: 'response.compaction',
      created_at: 1_790_000_000,
      output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }],
      usage: responseUsage,
    }),
    costNano: costNano({ input: 9, output: 4 }),
    codingStatus: 429,
    tokens: 13,
  },
  imageGeneration: {
    upstreamPath: '/v1/images/generations',
    body: { model: 'gpt-image-2', prompt: 'A gate' },
    respond: json(200, images),
    respondStream: sse([event('image_generation.completed', { b64_json: 'aGVsbG8=' })]),
    costNano: 37_000n,
  },
  imageEdit: {
    upstreamPath: '/v1/images/edits',
    body: formOf({ model: 'gpt-image-2', prompt: 'A gate' }),
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    respond: json(200, images),
    respondStream: sse([event('image_edit.completed', { b64_json: 'aGVsbG8=' })]),
    costNano: 37_000n,
  },
  inputTokens: { body: { model: 'test-responses', input: 'Hello' } },
  countTokens: { body: { model: 'test-messages', messages: ask } },
  publicModels: {},
  modelList: {},
  modelDetail: {},
  messagesModelList: {},
  messagesModelDetail: {},
  codingModelList: {},
  codingModelDetail: {},
  codingMessagesModelList: {},
  codingMessagesModelDetail: {},
  balance: {},
  billingSubscription: {},
  billingUsage: {},
  codingBalance: {},
} as const satisfies Record<string, Work>;

type WorkName = keyof typeof works;

export function workOf({ work }: Address): Work {
  return works[work];
}

const [POST, GET] = ['POST', 'GET'] as const;
const [B, XB] = ['Bearer', 'x-api-key or Bearer'] as const;

type Row = readonly [Address['method'], string, Auth, Envelope, Address['context'], WorkName];

// biome-ignore format: a table reads best with one row a line
const contractRows: readonly Row[] = [
  [POST, '/v1/chat/completions', B, 'chat', 'balance', 'chat'],
  [POST, '/v1/coding/chat/completions', B, 'chat', 'coding', 'chat'],
  [POST, '/altproto/v1/messages', XB, 'messages', 'coding', 'messages'],
  [POST, '/v1/coding/altproto/messages', XB, 'messages', 'coding', 'messages'],
  [POST, '/v1/embeddings', B, 'chat', 'balance', 'embeddings'],
  [POST, '/v1/rerank', B, 'chat', 'balance', 'rerank'],
  [POST, '/v1/responses/compact', B, 'chat', 'balance', 'compact'],
  [POST, '/v1/coding/responses/compact', B, 'chat', 'coding', 'compact'],
  [POST, '/v1/responses/input_tokens', B, 'chat', 'free', 'inputTokens'],
  [POST, '/v1/coding/responses/input_tokens', B, 'chat', 'free', 'inputTokens'],
  [POST, '/v1/messages/count_tokens', XB, 'messages', 'free', 'countTokens'],
  [POST, '/v1/coding/altproto/messages/count_tokens', XB, 'messages', 'free', 'countTokens'],
  [POST, '/altproto/v1/messages/count_tokens', XB, 'messages', 'free', 'countTokens'],
  [POST, '/v1/images/generations', B, 'chat', 'balance', 'imageGeneration'],
  [POST, '/v1/images/edits', B, 'chat', 'balance', 'imageEdit'],
  [GET, '/v1/public/models', 'none', 'catalog', 'free', 'publicModels'],
  [GET, '/altproto/v1/models/{model_id}', XB, 'messages', 'free', 'messagesModelDetail'],
  [GET, '/altproto/coding/v1/models/{model_id}', XB, 'messages', 'free', 'codingMessagesModelDetail'],
  [GET, '/v1/coding/user/balance', B, 'usage', 'free', 'codingBalance'],
  [GET, '/v1/user/balance', B, 'usage', 'free', 'balance'],
  // Bearer according to the table; the two without /v1 accept x-api-key as well.
  [GET, '/user/balance', XB, 'usage', 'free', 'balance'],
  [GET, '/altproto/user/balance', XB, 'usage', 'free', 'codingBalance'],
  // "Only their existence is stated": clients of both families use the two that are not under /altproto.
  [POST, '/v1/responses', B, 'chat', 'balance', 'responses'],
  [GET, '/v1/models', XB, 'chat', 'free', 'modelList'],
  [GET, '/v1/models/{model}', XB, 'chat', 'free', 'modelDetail'],
  [GET, '/altproto/v1/models', XB, 'messages', 'free', 'messagesModelList'],
];

// biome-ignore format: as above
const baseAddressRows: readonly Row[] = [
  [POST, '/v1/completions', B, 'chat', 'balance', 'completions'],
  [POST, '/v1/coding/completions', B, 'chat', 'coding', 'completions'],
  [GET, '/v1/dashboard/billing/subscription', B, 'chat', 'free', 'billingSubscription'],
  [GET, '/v1/dashboard/billing/usage', B, 'chat', 'free', 'billingUsage'],
  [POST, '/v1/messages', XB, 'messages', 'balance', 'messages'],
  [POST, '/v2/rerank', B, 'cohere', 'balance', 'rerank'],
  [POST, '/altproto/coding/v1/messages', XB, 'messages', 'coding', 'messages'],
  [POST, '/altproto/coding/v1/messages/count_tokens', XB, 'messages', 'free', 'countTokens'],
  [POST, '/v1/coding/responses', B, 'chat', 'coding', 'responses'],
  [GET, '/v1/coding/models', XB, 'chat', 'free', 'codingModelList'],
  [GET, '/v1/coding/models/{model}', XB, 'chat', 'free', 'codingModelDetail'],
  [GET, '/altproto/coding/v1/models', XB, 'messages', 'free', 'codingMessagesModelList'],
  [GET, '/v1/coding/altproto/models', XB, 'messages', 'free', 'codingMessagesModelList'],
  [GET, '/altproto/v1/user/balance', XB, 'usage', 'free', 'codingBalance'],
  [GET, '/altproto/coding/user/balance', XB, 'usage', 'free', 'codingBalance'],
  [GET, '/altproto/coding/v1/user/balance', XB, 'usage', 'free', 'codingBalance'],
  [GET, '/v1/coding/altproto/user/balance', XB, 'usage', 'free', 'codingBalance'],
];

const toAddress =
  (source: Address['source']) =>
  ([method, path, auth, envelope, context, work]: Row): Address => ({
    method,
    path,
    auth,
    envelope,
    context,
    work,
    source,
  });

export const addresses: readonly Address[] = [
  ...contractRows.map(toAddress('contract')),
  ...baseAddressRows.map(toAddress('base address')),
];

/** The path with a model of the test configuration. */
export function urlOf({ path, work }: Address): string {
  const model = /messages/i.test(work) ? 'test-messages' : 'test-chat';
  return path.replace(/\{model(_id)?\}/, model);
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | Buffer | string;
}

export interface Asked extends RawResponse {
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly json: any;
}

/** Sends a request verbatim, without additional headers; returns the response. */
export async function askFor(base: string, path: string, options: AskOptions = {}): Promise<Asked> {
  const { method = 'GET', headers = {}, body } = options;
  const bytes = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const received = await sendRaw(base, {
    method,
    path,
    headers: Object.entries(headers),
    ...(bytes === undefined ? {} : { body: bytes }),
  });
  const text = received.body.toString();
  return {
    ...received,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}

/** A valid request for the address, with the account's key. */
export function askAddress(
  base: string,
  address: Address,
  key: string | null,
  options: AskOptions = {},
): Promise<Asked> {
  const work = workOf(address);
  return askFor(base, urlOf(address), {
    method: address.method,
    ...(work.body === undefined ? {} : { body: work.body }),
    ...options,
    headers: {
      ...(work.body === undefined ? {} : { 'content-type': work.contentType ?? 'application/json' }),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...options.headers,
    },
  });
}

/** The same request for a stream. */
export function streamed(address: Address): object | Buffer {
  return address.work === 'imageEdit'
    ? formOf({ model: 'gpt-image-2', prompt: 'A gate', stream: 'true' })
    : { ...workOf(address).body, stream: true };
}

/** Responds to every call as a real provider does. */
export const responseAnything: Respond = (request, reply) => {
  const work: Work | undefined = Object.values(works).find(
    (each: Work) => each.upstreamPath !== undefined && each.upstreamPath === request.path,
  );
  const isStream = /"stream": ?true|name="stream"\r\n\r\ntrue/.test(request.body.toString('latin1'));
  const respond = isStream ? work?.respondStream : work?.respond;
  return (respond ?? json(404, { error: { message: `Nothing is scripted for ${request.path}.` } }))(request, reply);
};

export interface ExpectedRefusal {
  readonly status: number;
  readonly code: string;
  /** In the chat and usage envelopes. The messages envelope may have another type. */
  readonly type: string;
  readonly messagesType?: string;
  readonly param?: string | null;
}

export const badKey: ExpectedRefusal = { status: 401, code: 'invalid_api_key', type: 'authentication_error' };
export const wrongMethod: ExpectedRefusal = {
  status: 405,
  code: 'method_not_allowed',
  type: 'invalid_request_error',
};
export const wrongType: ExpectedRefusal = {
  status: 415,
  code: 'unsupported_media_type',
  type: 'invalid_request_error',
};
export const noPlan = (status: number): ExpectedRefusal => ({
  status,
  code: 'insufficient_package',
  type: 'insufficient_quota',
  messagesType: 'billing_error',
});

/** Asserts a refusal in the envelope of its address (contract, section 7), including that there are no other members. */
export function assertRefusal(received: Asked, envelope: Envelope, expected: ExpectedRefusal): void {
  const { status, code, type, messagesType = type, param = null } = expected;
  assert.equal(received.status, status, received.text);
  const id = received.headers['request-id'];
  assert.ok(id);
  assert.equal(received.headers['x-request-id'], id);
  assert.equal(received.headers['x-error-code'], code);
  assert.match(received.headers['content-type'] ?? '', /^application\/json\b/);
  const body = received.json;
  const message = envelope === 'catalog' || envelope === 'cohere' ? body.message : body.error.message;
  assert.ok(typeof message === 'string' && message.length > 0);
  const shapes: Record<Envelope, () => object> = {
    chat: () => ({ error: { message, type, param, code } }),
    messages: () => ({
      type: 'error',
      error: { type: messagesType, message, details: { error_code: code } },
      request_id: id,
    }),
    usage: () => ({ error: { code, message, type } }),
    cohere: () => ({ id, message }),
    catalog: () => {
      assert.equal(new Date(body.timestamp).toISOString(), body.timestamp);
      return { code: status === 405 ? 'COMMON_004' : code, message, success: false, timestamp: body.timestamp };
    },
  };
  assert.deepEqual(body, shapes[envelope]());
}
