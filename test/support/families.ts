import assert from 'node:assert/strict';
import { totalTokens } from '../../src/protocols/token-estimate/budgets.ts';
import { type BodyKind, countBody } from '../../src/protocols/token-estimate/count-body.ts';
import { Tokenizer } from '../../src/protocols/token-estimate/tokenizer.ts';
import type { ClientResponse } from './client.ts';
import { assertSpent, costNano, PRICE, type TestAccount } from './gateway.ts';
import { chatCompletion, chatStream, event, message, messagesStream } from './provider.ts';
import { isQuickRun } from './scope.ts';

/** Helpers for tests of both wire families: their wire formats, and how a call ends in each. */

/** The differences between both families when a call fails. */
export interface Family {
  readonly name: 'chat' | 'messages';
  readonly path: string;
  /** The `type` of an error that is the provider's or the gateway's fault. */
  readonly timeoutType: string;
  readonly terminal: string;
  readonly whole: (usage?: object | null) => object;
  readonly stream: (words: readonly string[], usage?: object) => string[];
  /** The event by which the provider reports its failure inside a stream. */
  readonly errorEvent: string;
  /** Charges of a non-streaming response and of a complete stream. */
  readonly cost: bigint;
  /** Input tokens known of an incomplete stream: an estimate, or the provider's figure. */
  readonly inputTokens: (body: object) => number;
}

export const families: readonly Family[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    timeoutType: 'api_error',
    terminal: 'data: [DONE]\n\n',
    whole: (usage) => chatCompletion(usage === undefined ? { prompt_tokens: 11, completion_tokens: 7 } : usage),
    stream: (words) => chatStream(words, { prompt_tokens: 11, completion_tokens: 7 }),
    errorEvent: 'data: {"error":{"message":"Overloaded.","type":"server_error","code":"overloaded"}}\n\n',
    cost: costNano({ input: 11, output: 7 }),
    inputTokens: (body) => estimatedInput('chat', body),
  },
  {
    name: 'messages',
    path: '/v1/messages',
    timeoutType: 'timeout_error',
    terminal: event('message_stop'),
    whole: (usage) => message(usage === undefined ? { input_tokens: 11, output_tokens: 7 } : usage),
    stream: (words) => messagesStream(words, { input_tokens: 11, output_tokens: 7 }),
    errorEvent: event('error', { error: { type: 'overloaded_error', message: 'Overloaded.' } }),
    cost: costNano({ input: 11, output: 7 }),
    inputTokens: () => 11,
  },
];

/** A client of one protocol whose model only a provider of another one serves. */
export interface TranslatedFamily {
  readonly name: `${'chat' | 'messages' | 'responses'}→${'chat' | 'messages'}`;
  readonly path: string;
  readonly request: (isStream: boolean) => object;
  /** The family whose envelope the client's errors have. */
  readonly client: Family;
  readonly provider: Family;
  /** In the last event of a complete stream. */
  readonly terminal: string;
}

/** One for each pair. Their models are `chat-only` and `messages-only`, of `TRANSLATED_MODELS`. */
export const translatedFamilies: readonly TranslatedFamily[] = [
  { name: 'messages→chat', path: '/v1/messages', terminal: '"message_stop"', ...between('messages', 'chat') },
  { name: 'responses→chat', path: '/v1/responses', terminal: '"response.completed"', ...between('responses', 'chat') },
  { name: 'chat→messages', path: '/v1/chat/completions', terminal: 'data: [DONE]', ...between('chat', 'messages') },
  {
    name: 'responses→messages',
    path: '/v1/responses',
    terminal: '"response.completed"',
    ...between('responses', 'messages'),
  },
];

export const TRANSLATED_MODELS = `  chat-only:
    operations: [chat, messages, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat, translate: [messages, responses] }]
  messages-only:
    operations: [chat, messages, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-messages, translate: [chat, responses] }]
`;

function between(
  client: 'chat' | 'messages' | 'responses',
  provider: 'chat' | 'messages',
): Pick<TranslatedFamily, 'client' | 'provider' | 'request'> {
  const familyOf = (name: Family['name']): Family => families.find((family) => family.name === name)!;
  const model = `${provider}-only`;
  return {
    client: familyOf(client === 'messages' ? 'messages' : 'chat'),
    provider: familyOf(provider),
    request: (isStream) =>
      client === 'responses'
        ? { model, max_output_tokens: 50, input: 'Say hello.', stream: isStream }
        : requestOf(isStream, model),
  };
}

/** A stream up to its first word. */
export const begunStream = (family: Family): string[] =>
  family.stream(['Hello']).slice(0, family.name === 'chat' ? 2 : 4);

const tokenizer = new Tokenizer();

/** The token estimate of a request to a test model, whose tokenizer is unknown. */
export function estimatedInput(kind: BodyKind, body: object): number {
  return totalTokens(countBody(kind, Buffer.from(JSON.stringify(body)), tokenizer), 1);
}

export const modes = [
  { kind: 'whole', isStream: false },
  { kind: 'stream', isStream: true },
] as const;

/**
 * The modes in which a family is tested if both families behave alike in both. A quick run takes non-streaming responses of one family
 * and streams of the other.
 */
export function modesOf(family: Family): readonly (typeof modes)[number][] {
  return isQuickRun ? modes.filter(({ isStream }) => isStream === (family.name === 'messages')) : modes;
}

export function requestOf(isStream: boolean, model = 'test-both'): object {
  return { model, max_tokens: 50, messages: [{ role: 'user', content: 'Say hello.' }], stream: isStream };
}

export interface ExpectedError {
  readonly status: number;
  readonly code: string;
  readonly type?: string;
  readonly message?: string;
  /** Only the chat envelope has it. */
  readonly param?: string | null;
  readonly retry?: 'true' | 'false';
}

/** Asserts an error in the envelope of its family, with the headers that every error has. */
export function assertError(
  response: ClientResponse,
  family: Family,
  { status, code, type = 'api_error', message, param = null, retry }: ExpectedError,
): void {
  assert.equal(response.status, status, response.text);
  const text = message ?? response.json.error.message;
  assert.equal(typeof text, 'string');
  assert.deepEqual(
    response.json,
    family.name === 'chat'
      ? { error: { message: text, type, param, code } }
      : {
          type: 'error',
          error: { type, message: text, details: { error_code: code } },
          request_id: response.headers['request-id'],
        },
  );
  assert.match(response.headers['content-type'] ?? '', /^application\/json\b/);
  assert.equal(response.headers['x-error-code'], code);
  assert.equal(response.headers['x-should-retry'], retry);
  assert.ok(response.headers['request-id']);
  assert.equal(response.headers['x-request-id'], response.headers['request-id']);
}

/** Asserts that a stream ended with the family's error event, and without an event that marks completion. */
export function assertBrokenOff(
  response: ClientResponse,
  family: Family,
  relayed: string,
  code: string,
  type = 'api_error',
): void {
  assert.equal(response.status, 200);
  assert.ok(response.text.startsWith(relayed), response.text);
  const last = response.text.slice(relayed.length);
  const [, data] = (family.name === 'chat' ? /^data: (.*)\n\n$/ : /^event: error\ndata: (.*)\n\n$/).exec(last) ?? [];
  assert.ok(data !== undefined, `no error event: ${last}`);
  const { error } = JSON.parse(data);
  assert.equal(family.name === 'chat' ? error.code : error.details.error_code, code);
  assert.equal(error.type, type);
  // What was delivered is charged, unless delivery is what failed.
  if (code !== 'internal_error') assert.doesNotMatch(error.message, /nothing is charged/i);
}

/** Asserts that a failed call cost nothing and has a record. */
export async function assertFree(
  account: TestAccount,
  record: { status?: string; httpStatus: number | null; errorCode: string | null },
) {
  await assertSpent(account, 0n);
  const { status, httpStatus, errorCode, usage, chargeYuan } = await account.lastCall();
  assert.deepEqual(
    { status, httpStatus, errorCode, usage, chargeYuan },
    { status: 'failed', usage: null, chargeYuan: null, ...record },
  );
}

/** Asserts the charge of a stream in the database, and that it is partly estimated. */
export async function assertEstimated(
  account: TestAccount,
  tokens: { input: number; output: number },
  record: { status: string; errorCode: string | null },
) {
  const { status, httpStatus, errorCode, usage } = await account.endedCall();
  assert.deepEqual({ status, httpStatus, errorCode }, { httpStatus: 200, ...record });
  assert.equal(usage.source, 'estimated');
  assert.equal(usage.inputTokens, tokens.input);
  assert.equal(usage.outputTokens, tokens.output);
  await assertSpent(account, costNano(tokens));
}
