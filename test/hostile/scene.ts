import assert from 'node:assert/strict';
import type { ClientResponse } from '../support/client.ts';
import { assertError, type ExpectedError, type Family, requestOf } from '../support/families.ts';
import {
  assertSpent,
  startGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
} from '../support/gateway.ts';
import {
  type Behaviour,
  chunks,
  type HostileProvider,
  responseBytes,
  responses,
  startHostileProvider,
} from '../support/hostile-provider.ts';
import { openConnection, requestBytes } from '../support/raw.ts';

/** A gateway with a hostile provider, and assertions about every call through it. */

export const OPERATIONS = '[chat, messages, responses, compact, embeddings, images.generate, images.edit]';
/** Input costs 3000 nano-yuan per token, output 13000, as in `costNano`. */
export const PRICE = '{ input: "3", imageInput: "17", output: "13", imageOutput: "19" }';

/** Models are named after the provider that serves them. */
export interface HostileScene {
  readonly gateway: TestGateway;
  readonly hostile: HostileProvider;
  /** Sends a call of a family to a provider with this behaviour; returns all effects. */
  send(call: HostileCall): Promise<Ended>;
  close(): Promise<void>;
}

interface HostileCall {
  readonly behaviour: Behaviour;
  readonly path: string;
  /** The provider whose model is called. */
  readonly protocol: 'chat' | 'messages';
  readonly body: object | Buffer;
  readonly headers?: readonly (readonly [string, string])[];
  /** The provider of this name, by default `hostile`. */
  readonly provider?: string;
  /** By default the provider of the scene. */
  readonly at?: HostileProvider;
}

/** The effects of a call. */
export interface Ended {
  readonly response: RawClientResponse;
  readonly account: TestAccount;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly record: any;
  /** Reported to the breaker of the route: a kind of failure, a success, or nothing. */
  readonly reported: string;
}

/** A response of the gateway, with all its bytes. */
export interface RawClientResponse extends ClientResponse {
  /** Status line, headers and body, verbatim. */
  readonly bytes: Buffer;
  /** Whether the response is complete according to its headers. */
  readonly isComplete: boolean;
}

export interface SceneOptions extends TestGatewayOptions {
  /** YAML of additional models; `hostileModel` writes one. */
  readonly models?: string;
}

/** Fields of providers of both families at one address. */
export function providerPair(name: string, url: string, fields = ''): string {
  return `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKey: ${name}-secret-key-1, ${fields} }
  ${name}-messages: { protocol: messages, baseUrl: "${url}", apiKey: ${name}-secret-key-2, ${fields} }`;
}

/** A model that tries these providers in order. */
export function modelOf(name: string, providers: readonly string[] = [name], price = PRICE, limits = ''): string {
  const routes = providers.flatMap((provider, priority) =>
    ['chat', 'messages'].map((protocol) => `{ provider: ${provider}-${protocol}, model: x, priority: ${priority} }`),
  );
  return `
  ${name}: { operations: ${OPERATIONS}, ${limits} price: ${price}, routes: [${routes.join(', ')}] }`;
}

/**
 * Starts a gateway with one provider under three names: `hostile` without time limits, `late` with a short one for its first byte,
 * `drowsy` with a short one between chunks.
 */
export async function setScene(given: SceneOptions | ((url: string) => SceneOptions) = {}): Promise<HostileScene> {
  const hostile = await startHostileProvider();
  const options = typeof given === 'function' ? given(hostile.url) : given;
  const names = ['hostile', 'late', 'drowsy'];
  const gateway = await startGateway({
    ...options,
    providers: [
      providerPair('hostile', hostile.url),
      providerPair('late', hostile.url, 'timeouts: { firstByte: 60ms }'),
      providerPair('drowsy', hostile.url, 'timeouts: { idle: 60ms }'),
      options.providers ?? '',
    ].join(''),
    models: names.map((name) => modelOf(name)).join('') + (options.models ?? ''),
  });
  const primer = await gateway.createAccount();

  async function status(model: string, provider: string) {
    const { body } = await gateway.admin('GET', '/routes');
    const routes: { model: string; provider: string; failuresInARow: number; lastError: string | null }[] = body.data;
    return routes.find((route) => route.model === model && route.provider === provider)!;
  }

  async function send({
    behaviour,
    path,
    protocol,
    body,
    headers = [],
    provider = 'hostile',
    at = hostile,
  }: HostileCall) {
    const model = JSON.parse(Buffer.isBuffer(body) ? '{}' : JSON.stringify(body)).model ?? provider;
    const route = `${provider}-${protocol}`;
    // The next call counts as a success of the route only visibly after a failure.
    if ((await status(model, route)).failuresInARow === 0) {
      at.behave = responses(responseBytes({ status: 500, headers: ['content-length: 0'] }));
      const primed = protocol === 'chat' ? '/v1/chat/completions' : '/v1/messages';
      await ask(gateway.url, primed, primer.key, requestOf(false, model));
    }
    const account = await gateway.createAccount();
    const before = await status(model, route);
    assert.ok(before.failuresInARow > 0);
    at.behave = behaviour;
    const response = await ask(gateway.url, path, account.key, body, headers);
    assertNamesNoProvider(response, at);
    const record = await account.endedCall();
    const after = await status(model, route);
    const reported =
      after.failuresInARow === 0
        ? 'it responds'
        : after.failuresInARow === before.failuresInARow
          ? 'nothing'
          : `failed: ${after.lastError}`;
    return { response, account, record, reported };
  }

  return {
    gateway,
    hostile,
    send,
    async close() {
      try {
        await gateway.stop();
      } finally {
        await hostile.close();
      }
    },
  };
}

/** Asserts that a response, whatever its status, contains neither the provider's name nor its key. */
export function assertNamesNoProvider(response: RawClientResponse, { url }: { readonly url: string }): void {
  const { port } = new URL(url);
  for (const secret of ['secret-key', '127.0.0.1', 'localhost', `:${port}`]) {
    const at = response.bytes.indexOf(secret);
    const around = response.bytes.subarray(Math.max(at - 200, 0), at + 100);
    assert.equal(at, -1, `the response holds ${secret}: ${around}`);
  }
}

/** Sends a request on a new connection; returns all bytes. */
export async function ask(
  url: string,
  path: string,
  key: string,
  body: object | Buffer,
  headers: readonly (readonly [string, string])[] = [],
): Promise<RawClientResponse> {
  const connection = await openConnection(url);
  const given = new Set(headers.map(([name]) => name));
  connection.write(
    requestBytes({
      path,
      headers: [
        ['authorization', `Bearer ${key}`],
        ['connection', 'close'],
        ...(given.has('content-type') ? [] : [['content-type', 'application/json'] as const]),
        ...headers,
      ],
      body: Buffer.isBuffer(body) ? body : JSON.stringify(body),
    }),
  );
  return readResponse(await connection.closed());
}

/** Reads a response from its own connection, complete or not. */
export function readResponse(bytes: Buffer): RawClientResponse {
  const headEnd = bytes.indexOf('\r\n\r\n');
  assert.ok(headEnd !== -1, `no response: ${bytes}`);
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    assert.equal(headers[name], undefined, `the header ${name} came twice`);
    headers[name] = line.slice(colon + 1).trim();
  }
  const raw = bytes.subarray(headEnd + 4);
  const { body, isComplete } =
    headers['transfer-encoding'] === 'chunked'
      ? readChunked(raw)
      : {
          body: raw,
          isComplete: headers['content-length'] === undefined || raw.length === Number(headers['content-length']),
        };
  const text = body.toString();
  return {
    bytes,
    isComplete,
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]),
    headers,
    body,
    text,
    get json() {
      return JSON.parse(text);
    },
    until: async (part) => assert.ok(text.includes(part), text),
    ended: async () => isComplete,
    resume: () => undefined,
  };
}

function readChunked(raw: Buffer): { body: Buffer; isComplete: boolean } {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = raw.indexOf('\r\n', at);
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(raw.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (!(end + 2 <= raw.length)) return { body: Buffer.concat(parts), isComplete: false };
    if (size === 0) return { body: Buffer.concat(parts), isComplete: end + 2 === raw.length };
    parts.push(raw.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}

/** The expected effects of a call that failed before any of its response was sent. */
export interface ExpectedFailure extends ExpectedError {
  /** The report to the breaker. */
  readonly reported: string;
}

/** Asserts that the call failed with an error in the envelope of its family, is free, has no reservation, and is recorded so. */
export async function assertFailed(ended: Ended, family: Family, expected: ExpectedFailure): Promise<void> {
  const { response, account, record, reported } = ended;
  assertError(response, family, expected);
  assert.ok(response.isComplete);
  assert.equal(record.status, 'failed');
  assert.deepEqual(
    [record.httpStatus, record.errorCode, record.usage, record.chargeYuan],
    [expected.status, expected.code, null, null],
  );
  assert.equal(record.requestId, response.headers['request-id']);
  assert.equal(reported, expected.reported);
  await assertSpent(account, 0n);
}

/** An unreadable or unbillable response: the outcome is unknown, and it is free. */
export const INVALID = { status: 502, code: 'upstream_error', retry: 'false', reported: 'nothing' } as const;
/** The connection failed after the call was sent. */
export const BROKEN = { ...INVALID, reported: 'failed: upstream_error' } as const;

/** A time limit expired after the call was sent. */
export function tooLate(family: Family) {
  return {
    status: 504,
    code: 'upstream_timeout',
    type: family.timeoutType,
    retry: 'false',
    reported: 'failed: upstream_timeout',
  } as const;
}

/** Asserts that the call succeeded with this body, and was charged by the reported usage. */
export async function assertServed(
  { response, account, record, reported }: Ended,
  expected: { readonly body?: string; readonly costNano: bigint; readonly source?: string },
): Promise<void> {
  assert.equal(response.status, 200, response.text);
  assert.ok(response.isComplete);
  if (expected.body !== undefined) assert.equal(response.text, expected.body);
  assert.ok(response.headers['request-id']);
  assert.equal(response.headers['x-request-id'], response.headers['request-id']);
  assert.equal(response.headers['x-should-retry'], undefined);
  assert.deepEqual(
    [record.status, record.httpStatus, record.errorCode, record.usage?.source],
    ['succeeded', 200, null, expected.source ?? 'observed'],
  );
  assert.equal(record.requestId, response.headers['request-id']);
  assert.equal(reported, 'it responds');
  await assertSpent(account, expected.costNano);
}

/** A call of a family, with the model of this provider. */
export function callOf(family: Family, isStream: boolean, behaviour: Behaviour, provider = 'hostile'): HostileCall {
  return { behaviour, path: family.path, protocol: family.name, body: requestOf(isStream, provider), provider };
}

/** The stream of a family for a client that did not request usage. */
export function relayedStream(family: Family, words: readonly string[]): string {
  return family
    .stream(words)
    .filter((event) => family.name === 'messages' || !/"usage":\{/.test(event))
    .join('');
}

/** The headers of a stream. */
export const SSE = ['content-type: text/event-stream', 'transfer-encoding: chunked'];

/** The non-streaming success of a family. */
export function success(family: Family, isStream: boolean): Buffer {
  return isStream
    ? responseBytes({ headers: SSE, body: chunks(family.stream(['Hello'])) })
    : jsonBytes(200, JSON.stringify(family.whole()));
}

/** The client's view of it. */
export function successBody(family: Family, isStream: boolean): string {
  return isStream ? relayedStream(family, ['Hello']) : JSON.stringify(family.whole());
}

export function jsonBytes(status: number, body: string, ...headers: readonly string[]): Buffer {
  const own = ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`];
  return responseBytes({ status, headers: [...own, ...headers], body });
}
