import assert from 'node:assert/strict';
import { type ClientResponse, call } from './client.ts';
import { assertSpent, costNano, type TestAccount, type TestGateway } from './gateway.ts';
import { event, json, type Respond, sse } from './provider.ts';

/** Wire formats of the responses family: responses, streams, compactions and estimates. */

export const responsesUsage = {
  input_tokens: 11,
  input_tokens_details: { cache_write_tokens: 0, cached_tokens: 0 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 18,
};
/** The charge of a response with the usage above, at the prices of the test models. */
export const RESPONSES_COST = costNano({ input: 11, output: 7 });

export const userMessage = {
  id: 'msg_1',
  type: 'message',
  role: 'user',
  status: 'completed',
  content: [{ type: 'input_text', text: 'Hello' }],
};
export const compactionItem = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAAAopaque+/==' };

/** Usage of responses and compactions, with all details. */
export function usageOf(inputTokens: number, outputTokens: number, details: object = {}) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, ...details },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

export interface Overrides {
  readonly [member: string]: unknown;
}

const messageOf = (text: string) => ({
  type: 'message',
  id: 'msg_2',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});

/** A non-streaming response of `POST /v1/responses`, with every member that the vendor documents. */
export function responseObject(overrides: Overrides = {}) {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model: 'upstream-responses',
    output: [messageOf('Hello there')],
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: responsesUsage,
    ...overrides,
  };
}

/** A non-streaming response of `POST /v1/responses/compact`: the compaction result of contract 2.1. */
export function compactionResult(overrides: Overrides = {}) {
  return {
    id: 'resp_cmp_1',
    object: 'response.compaction',
    created_at: 1_790_000_000,
    output: [userMessage, compactionItem],
    usage: responsesUsage,
    ...overrides,
  };
}

export interface ResponsesStreamDependencies {
  readonly words?: readonly string[];
  /** Items before the message. */
  readonly items?: readonly object[];
  readonly response?: Overrides;
  readonly terminal?: 'response.completed' | 'response.incomplete' | 'response.failed';
}

/** The events of a stream of `POST /v1/responses`. The terminal one is last. */
export function responsesStream({
  words = ['Hello', ' there'],
  items = [],
  response = {},
  terminal = 'response.completed',
}: ResponsesStreamDependencies = {}): string[] {
  const begun = responseObject({ status: 'in_progress', output: [], usage: null, ...response });
  const rest = { item_id: 'msg_2', output_index: items.length, content_index: 0 };
  const message = messageOf(words.join(''));
  const [part] = message.content;
  const events: [string, object][] = [
    ['response.created', { response: { ...begun, usage: null } }],
    ['response.in_progress', { response: { ...begun, usage: null } }],
    ...items.map((item, i): [string, object] => ['response.output_item.done', { output_index: i, item }]),
    [
      'response.output_item.added',
      { output_index: items.length, item: { ...message, status: 'in_progress', content: [] } },
    ],
    ['response.content_part.added', { ...rest, part: { ...part, text: '' } }],
    ...words.map((delta): [string, object] => ['response.output_text.delta', { ...rest, delta, logprobs: [] }]),
    ['response.output_text.done', { ...rest, text: words.join(''), logprobs: [] }],
    ['response.content_part.done', { ...rest, part }],
    ['response.output_item.done', { output_index: items.length, item: message }],
    [terminal, { response: responseObject({ output: [...items, message], ...response }) }],
  ];
  return events.map(([type, data], sequence_number) => event(type, { sequence_number, ...data }));
}

/** Responds to responses calls, streams and compactions as a real provider does. */
export function responsesResponse(response: Overrides = {}, compaction: Overrides = {}): Respond {
  return (request, outgoing) => {
    const isStream = (JSON.parse(request.body.toString()) as { stream?: boolean }).stream === true;
    const received = request.path.endsWith('/compact')
      ? json(200, compactionResult(compaction))
      : isStream
        ? sse(responsesStream({ response }))
        : json(200, responseObject(response));
    return received(request, outgoing);
  };
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly param?: string | null;
  /** By default follows from the status. */
  readonly type?: string;
}

export const invalid = (param: string | null = null): Refusal => ({
  status: 400,
  code: 'invalid_request_error',
  param,
});
export const badKey: Refusal = { status: 401, code: 'invalid_api_key', type: 'authentication_error' };

/** Asserts an error in the chat envelope, with the headers that every error has. */
export function assertRefused(
  received: ClientResponse,
  { status, code, param, type = 'invalid_request_error' }: Refusal,
): void {
  assert.equal(received.status, status, received.text);
  const { error, ...others } = received.json;
  assert.deepEqual(others, {});
  const more = type === 'usage_limit_reached' ? ['resets_at'] : [];
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', ...more, 'type']);
  assert.equal(typeof error.message, 'string');
  assert.equal(error.code, code, received.text);
  assert.equal(error.type, type, received.text);
  if (param !== undefined) assert.equal(error.param, param, received.text);
  assert.equal(received.headers['x-error-code'], code);
  assert.match(received.headers['content-type'] ?? '', /^application\/json\b/);
  assert.ok(received.headers['x-request-id']);
}

/** An address of a gateway, with assertions about bodies that it refuses or accepts. */
export class Address {
  readonly #gateway: TestGateway;
  readonly #path: string;

  constructor(gateway: TestGateway, path: string) {
    this.#gateway = gateway;
    this.#path = path;
  }

  send(
    account: TestAccount,
    body: object | Buffer | string,
    headers: Record<string, string> = {},
  ): Promise<ClientResponse> {
    return call(this.#gateway.url + this.#path, account.key, body, { headers });
  }

  /** Asserts that a body is refused without charge and does not reach the provider. */
  async refuses(account: TestAccount, body: object | Buffer | string, refusal: Refusal): Promise<ClientResponse> {
    const calls = this.#gateway.provider.requests.length;
    const { balanceNano } = await account.money();
    const received = await this.send(account, body);
    assertRefused(received, refusal);
    assert.equal(this.#gateway.provider.requests.length, calls, 'the provider was called');
    assert.deepEqual(await account.money(), { balanceNano, heldNano: 0n });
    return received;
  }

  /** Asserts that bodies reach the provider and get 200. */
  async takes(account: TestAccount, ...bodies: readonly (object | Buffer | string)[]): Promise<void> {
    for (const body of bodies) {
      const calls = this.#gateway.provider.requests.length;
      const received = await this.send(account, body);
      assert.equal(received.status, 200, received.text);
      assert.equal(this.#gateway.provider.requests.length, calls + 1);
    }
  }
}

/** Asserts that a non-streaming response without valid usage is withheld: 502, no retry, no charge. */
export async function assertWithheld(account: TestAccount, received: ClientResponse): Promise<void> {
  assertRefused(received, { status: 502, code: 'upstream_error', param: null, type: 'api_error' });
  assert.equal(received.headers['x-should-retry'], 'false');
  await assertSpent(account, 0n);
  const { status, usage, chargeYuan } = await account.lastCall();
  assert.deepEqual({ status, usage, chargeYuan }, { status: 'failed', usage: null, chargeYuan: null });
}
