import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import { AdminClientError } from './admin-client-error.ts';
import { localUserHeader } from './local-user.ts';
import { ADMIN_PREFIX } from './prefixes.ts';

/** Calls the admin API: that of a running gateway or, without a socket, of this process. */
export interface AdminClient {
  /** Sends a request. With an idempotency key, it can be repeated safely. @throws AdminClientError with the message of an error response */
  request<Response>(method: string, path: string, body?: object, idempotencyKey?: string): Promise<Response>;
  /** Reads a resource; `null` if it does not exist. */
  find<Response>(path: string): Promise<Response | null>;
  /** Yields the lines of the response, parsed as JSON. If the caller stops iterating, the request is aborted. */
  lines<Line>(path: string): AsyncIterable<Line>;
}

/** Error code if an actor makes too many changes. A change that gets this error had no effect. */
export const TOO_MANY_CHANGES = 'too_many_changes';

interface RawResponse {
  readonly status: number;
  readonly text: string;
}

interface RawRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

type Transport = (request: RawRequest) => Promise<RawResponse>;

type StreamTransport = (path: string) => Promise<AsyncIterable<Uint8Array | string>>;

function createClient(
  token: string,
  localUser: string | null,
  transport: Transport,
  stream: StreamTransport,
): AdminClient {
  async function send(method: string, path: string, body?: object, idempotencyKey?: string): Promise<RawResponse> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...localUserHeader(localUser),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    return transport({ method, url: ADMIN_PREFIX + path, headers, body: text });
  }
  function read<Response>(response: RawResponse): Response {
    if (response.status >= 400) throw toClientError(response);
    return (response.text === '' ? null : JSON.parse(response.text)) as Response;
  }
  return {
    request: async (...asked) => read(await send(...asked)),
    async find(path) {
      const response = await send('GET', path);
      return response.status === 404 ? null : read(response);
    },
    async *lines<Line>(path: string) {
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of await stream(path)) {
        const parts = (rest + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))).split(
          '\n',
        );
        rest = parts.pop()!;
        for (const part of parts) yield JSON.parse(part) as Line;
      }
    },
  };
}

function toClientError({ status, text }: RawResponse): AdminClientError {
  const body = parseJson(text);
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return new AdminClientError(textOf(error.message) ?? `The gateway responded with status ${status}.`, {
    status,
    code: textOf(error.code),
    param: textOf(error.param),
    details: Array.isArray(error.details) ? error.details.map(String) : [],
  });
}

/** `localUser`: user of the command line, in whom the gateway trusts only with the local token. */
export function remoteAdminClient(url: string, token: string, localUser: string | null = null): AdminClient {
  const transport: Transport = async ({ url: path, body, ...request }) => {
    for (;;) {
      const response = await reach(url, path, { ...request, ...(body === undefined ? {} : { body }) });
      const received = { status: response.status, text: await response.text() };
      // A long import can exceed the rate limit of changes. It then waits.
      if (received.status !== 429 || toClientError(received).code !== TOO_MANY_CHANGES) return received;
      await setTimeout(Math.max(Number(response.headers.get('retry-after')), 1) * 1_000);
    }
  };
  return createClient(token, localUser, transport, (path) => streamFromGateway(url, token, path));
}

async function reach(url: string, path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url + path, request);
  } catch (error) {
    throw new AdminClientError(`The gateway at ${url} cannot be reached.`, { cause: error });
  }
}

/** Returns the body of a response. @throws AdminClientError, also if it is truncated */
export async function streamFromGateway(url: string, token: string, path: string): Promise<AsyncIterable<Uint8Array>> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await reach(url, ADMIN_PREFIX + path, { method: 'POST', headers });
  if (!response.ok || response.body === null) {
    throw toClientError({ status: response.status, text: await response.text() });
  }
  return readBody(response.body, url);
}

async function* readBody(body: ReadableStream<Uint8Array>, url: string): AsyncIterable<Uint8Array> {
  try {
    yield* body as unknown as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw new AdminClientError(`The gateway at ${url} ended its response early; its log says why.`, { cause: error });
  }
}

export function localAdminClient(app: FastifyInstance, token: string, localUser: string | null = null): AdminClient {
  const transport: Transport = async ({ method, url, headers, body }) => {
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers,
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: response.statusCode, text: response.body };
  };
  return createClient(token, localUser, transport, async (path) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await app.inject({ method: 'POST', url: ADMIN_PREFIX + path, headers, payloadAsStream: true });
    const body = response.stream() as AsyncIterable<Uint8Array>;
    if (response.statusCode < 400) return body;
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    throw toClientError({ status: response.statusCode, text: Buffer.concat(chunks).toString() });
  });
}
