import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { seededRandom } from '../../src/lib/seeded-random.ts';
import { type ClientResponse, startCall } from '../support/client.ts';
import { costNano } from '../support/gateway.ts';
import { chatCompletion, chatStream, message, messagesStream, type ReceivedRequest } from '../support/provider.ts';
import type { Admin } from './callers.ts';

/** Clients that call nodes which may die at any moment, with calls of every kind, and what they observed. */

export interface CallKind {
  readonly name: string;
  readonly path: string;
  readonly isStream: boolean;
  readonly purse: Purse['name'];
}

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const CODING = '/v1/coding/chat/completions';

/** So many clients at once; each makes one call after another. */
const CALL_KINDS: readonly CallKind[] = (
  [
    [4, 'chat', CHAT, false, 'balance'],
    [4, 'chat stream', CHAT, true, 'balance'],
    [3, 'messages', MESSAGES, false, 'balance'],
    [3, 'messages stream', MESSAGES, true, 'balance'],
    [2, 'coding', CODING, false, 'plan'],
    [2, 'coding stream', CODING, true, 'plan'],
    [2, 'limited key', CHAT, false, 'limited key'],
    [2, 'limited key stream', MESSAGES, true, 'limited key'],
    [4, 'idempotency key', MESSAGES, false, 'idempotency key'],
  ] as const
).flatMap(([count, name, path, isStream, purse]) =>
  Array.from({ length: count }, () => ({ name, path, isStream, purse })),
);

/** An account, and what its calls are paid from. */
export interface Purse {
  readonly name: 'balance' | 'plan' | 'limited key' | 'idempotency key';
  readonly accountId: string;
  readonly key: string;
}

/** The plan of the purse that is one; its limits are never reached. */
export const CRASH_PLAN = { fiveHourCalls: 1_000_000, weeklyCalls: 1_000_000, quotaTokens: 1_000_000_000 };
export const PAID_IN_YUAN = '10000';

export async function createPurses(admin: Admin): Promise<Purse[]> {
  const names = ['balance', 'plan', 'limited key', 'idempotency key'] as const;
  return Promise.all(
    names.map(async (name) => {
      const { id } = await admin('POST', '/accounts', { name, verified: true });
      await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: PAID_IN_YUAN });
      if (name === 'plan') await admin('POST', `/accounts/${id}/subscriptions`, { planId: 'coder' });
      const limits = name === 'limited key' ? { concurrency: 1_000, dailyCalls: 1_000_000 } : {};
      const { key } = await admin('POST', `/accounts/${id}/keys`, { name, ...limits });
      return { name, accountId: id, key };
    }),
  );
}

/**
 * What a client may conclude after a call:
 * - `success`: it has a complete successful response, so the call is paid for.
 * - `free`: it has an error, or a response that says that nothing is charged.
 * - `open`: the connection broke, or the client left: the call may have been charged or not, but once at most.
 */
export type Belief = 'success' | 'free' | 'open';

/** One attempt to make a call. */
export interface Attempt {
  /** The number of the call, which is in the id of the provider's response. Repeats have the number of the first attempt. */
  readonly number: number;
  readonly callKind: CallKind;
  readonly nodeIndex: number;
  readonly belief: Belief;
  /** Null if no response was received. */
  readonly status: number | null;
  readonly requestId: string | undefined;
  readonly callId: string | undefined;
  readonly isRepeated: boolean;
  readonly text: string;
  /** When the client had its response, in the unit of the load's clock. */
  readonly endedAt: number;
}

/** What a call costs, derived from its number: hardly two cost the same. */
export function usageOf(number: number): { readonly input: number; readonly output: number } {
  return { input: 1 + (number % 997), output: 1 + (number % 41) };
}

export function costOf(number: number): bigint {
  return costNano(usageOf(number));
}

/** The id of a provider's response. */
export function responseId(number: number): string {
  return `answer-${number}`;
}

/** A provider that takes a little time, responds in two parts, and refuses some calls at first. */
export class CrashProvider {
  readonly #randomSource: () => number;
  readonly #executions = new Map<number, number>();

  constructor(seed: number) {
    this.#randomSource = seededRandom(seed);
  }

  /** How often a call was received. */
  executionsOf(number: number): number {
    return this.#executions.get(number) ?? 0;
  }

  readonly respond = async (request: ReceivedRequest, response: ServerResponse): Promise<void> => {
    const { stream, number } = JSON.parse(request.body.toString()) as { stream: boolean; number: number };
    const times = this.executionsOf(number) + 1;
    this.#executions.set(number, times);
    const headers = { 'x-request-id': responseId(number) };
    await this.#takeTime();
    if (number % 20 === 7 && times === 1) {
      response.writeHead(503, { ...headers, 'content-type': 'application/json' });
      response.end('{"error":{"message":"Busy.","type":"server_error","code":"busy"}}');
      return;
    }
    const parts = responseOf(number, request.path.endsWith('/messages'), stream);
    response.writeHead(200, { ...headers, 'content-type': stream ? 'text/event-stream' : 'application/json' });
    response.write(parts.slice(0, -2).join(''));
    await this.#takeTime();
    response.end(parts.slice(-2).join(''));
  };

  #takeTime(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#randomSource() * 60));
  }
}

function responseOf(number: number, isMessages: boolean, isStream: boolean): string[] {
  const { input, output } = usageOf(number);
  const words = wordsOf(number);
  if (isMessages) {
    const usage = { input_tokens: input, output_tokens: output };
    return isStream ? messagesStream([words], usage) : [...JSON.stringify(message(usage, words))];
  }
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return isStream ? chatStream([words], usage) : [...JSON.stringify(chatCompletion(usage, words))];
}

function wordsOf(number: number): string {
  return `These are the words of call ${number}.`;
}

/** The clients. They call until they are stopped; a call with an Idempotency-Key is repeated until it succeeds. */
export class CrashLoad {
  readonly attempts: Attempt[] = [];
  readonly #purses: readonly Purse[];
  readonly #randomSource: () => number;
  readonly #now: () => number;
  /** Calls with an Idempotency-Key that have not succeeded yet. */
  readonly #unfinished: number[] = [];
  #next = 0;
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(purses: readonly Purse[], seed: number, now: () => number = Date.now) {
    this.#purses = purses;
    this.#randomSource = seededRandom(seed);
    this.#now = now;
  }

  /** Resolves once so many attempts have ended from now on. */
  ended(count: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ count: this.attempts.length + count, resolve }));
  }

  /** Calls the nodes at these addresses until `isOver`; resolves when every client has its response, or none. */
  async run(urls: readonly string[], isOver: () => boolean): Promise<void> {
    await Promise.all(
      CALL_KINDS.map(async (callKind) => {
        while (!isOver()) {
          const nodeIndex = Math.floor(this.#randomSource() * urls.length);
          await this.#attempt(
            callKind,
            this.#takeNumber(callKind),
            nodeIndex,
            urls[nodeIndex]!,
            this.#randomSource() < 0.04,
          );
        }
      }),
    );
  }

  /** Repeats every call with an Idempotency-Key until it has succeeded. */
  async finish(urls: readonly string[]): Promise<void> {
    const callKind = CALL_KINDS.find(({ purse }) => purse === 'idempotency key')!;
    for (let i = 0; this.#unfinished.length > 0; i++) {
      await this.#attempt(callKind, this.#unfinished.shift()!, i % urls.length, urls[i % urls.length]!, false);
    }
  }

  /** Asserts that repeats of calls that succeeded get the same response again, from any node. */
  async assertRepeated(urls: readonly string[], provider: CrashProvider): Promise<void> {
    const done = this.attempts.filter(
      ({ callKind, belief }) => callKind.purse === 'idempotency key' && belief === 'success',
    );
    for (const [i, { callKind, number, text }] of done.slice(-40).entries()) {
      const executions = provider.executionsOf(number);
      await this.#attempt(callKind, number, i % urls.length, urls[i % urls.length]!, false);
      const again = this.attempts.at(-1)!;
      assert.deepEqual([again.status, again.text, again.isRepeated], [200, text, true]);
      assert.equal(provider.executionsOf(number), executions);
    }
  }

  #takeNumber({ purse }: CallKind): number {
    return (purse === 'idempotency key' ? this.#unfinished.shift() : undefined) ?? ++this.#next;
  }

  async #attempt(callKind: CallKind, number: number, nodeIndex: number, url: string, leaves: boolean): Promise<void> {
    const isKeyed = callKind.purse === 'idempotency key';
    const { key } = this.#purses.find(({ name }) => name === callKind.purse)!;
    const body = {
      model: 'test-both',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Say it.' }],
      stream: callKind.isStream,
      number,
    };
    const started = startCall(url + callKind.path, key, body, {
      headers: isKeyed ? { 'idempotency-key': `call-${number}` } : {},
    });
    const response = await started.response.catch(() => null);
    if (leaves && callKind.isStream && response?.status === 200) {
      await response.until('words').catch(() => undefined);
      started.drop();
    }
    const isWhole = response !== null && (await response.ended());
    const belief = response === null ? 'open' : beliefIn(response, callKind, number, isWhole);
    this.attempts.push({
      number,
      callKind,
      nodeIndex,
      belief,
      status: response?.status ?? null,
      requestId: response?.headers['x-request-id']?.toString(),
      callId: response?.headers['x-faregate-call-id']?.toString(),
      isRepeated: response?.headers['x-faregate-repeated'] === 'true',
      text: response?.text ?? '',
      endedAt: this.#now(),
    });
    if (isKeyed && belief !== 'success') this.#unfinished.push(number);
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (this.attempts.length < count) return true;
      resolve();
      return false;
    });
    // Nodes that refuse connections or are gone would otherwise be called without a pause.
    if (belief !== 'success') await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const TERMINAL: Readonly<Record<string, string>> = {
  [CHAT]: 'data: [DONE]\n\n',
  [CODING]: 'data: [DONE]\n\n',
  [MESSAGES]: 'event: message_stop\n',
};

function beliefIn({ status, text }: ClientResponse, callKind: CallKind, number: number, isWhole: boolean): Belief {
  assert.ok([200, 500, 503].includes(status), `call ${number} got ${status}: ${text}`);
  if (status !== 200) return 'free';
  const hasEnd = callKind.isStream ? text.includes(TERMINAL[callKind.path]!) : isWhole;
  if (hasEnd) {
    assert.ok(text.includes(wordsOf(number)), `the response of call ${number} is another one's: ${text}`);
    return 'success';
  }
  return /nothing is charged/i.test(text) ? 'free' : 'open';
}
