import type { Endpoints } from './types.ts';

export type EndpointName = keyof Endpoints;
export type ReadName = Extract<EndpointName, `GET ${string}`>;
export type ChangeName = Exclude<EndpointName, ReadName>;

export type ResponseOf<Name extends EndpointName> = Endpoints[Name]['response'];
export type BodyOf<Name extends EndpointName> = Endpoints[Name]['body'];
export type QueryOf<Name extends EndpointName> = Endpoints[Name]['query'];

/** Parameters of an endpoint. Kinds that the endpoint does not have are optional. */
export type InputOf<Name extends EndpointName> = Optional<'path', Endpoints[Name]['path']> &
  Optional<'query', Endpoints[Name]['query']> &
  (Endpoints[Name]['body'] extends null ? object : { readonly body: Endpoints[Name]['body'] });

type Optional<Member extends string, Value> =
  Partial<Value> extends Value
    ? { readonly [name in Member]?: Value | undefined }
    : { readonly [name in Member]: Value };

export interface AnyInput {
  readonly path?: { readonly [name: string]: string } | undefined;
  readonly query?: { readonly [name: string]: string | number | boolean | undefined } | undefined;
  readonly body?: unknown;
}

/** An error response of the gateway. */
export class ApiError extends Error {
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  /** Single lines, such as the problems of a text. */
  readonly details: readonly string[];

  constructor(
    status: number,
    code: string,
    message: string,
    {
      requestId = null,
      details = [],
    }: { readonly requestId?: string | null; readonly details?: readonly string[] | undefined } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.details = details;
  }
}

/** Whether the gateway did not respond, or only a proxy did (502, 504). */
export function isAway(error: Error | null): boolean {
  return error instanceof ApiError && [0, 502, 504].includes(error.status);
}

export interface AskOptions {
  /** Requests with the same key change something only once. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `text/csv` for tables that have a CSV form. */
  readonly accept?: string | undefined;
}

/** Sends a request with the session of the user and reads the response. @throws ApiError */
export async function ask<Name extends EndpointName>(
  name: Name,
  input: InputOf<Name>,
  options: AskOptions = {},
): Promise<ResponseOf<Name>> {
  const response = await send(name, input as AnyInput, options);
  const text = await response.text();
  return (text === '' ? null : JSON.parse(text)) as ResponseOf<Name>;
}

/** Returns the response if its status is a success. @throws ApiError */
export async function send(name: EndpointName, input: AnyInput, options: AskOptions = {}): Promise<Response> {
  const [method, path] = name.split(' ') as [string, string];
  const headers: Record<string, string> = { accept: options.accept ?? 'application/json' };
  if (input.body !== undefined) headers['content-type'] = 'application/json';
  if (options.idempotencyKey !== undefined) headers['idempotency-key'] = options.idempotencyKey;
  let response: Response;
  try {
    response = await fetch(addressOf(path, input), {
      method,
      headers,
      ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

export function unreachable(): ApiError {
  return new ApiError(0, 'unreachable', 'The gateway cannot be reached.');
}

function addressOf(path: string, { path: parameters = {}, query = {} }: AnyInput): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''));
  return withQuery(filled, query);
}

/** Parameters without a value are left out. */
export function withQuery(
  path: string,
  query: { readonly [name: string]: string | number | boolean | undefined | null },
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  readonly details?: readonly string[];
}

/** The error in a response body, or the HTTP status if the body has none. */
export async function errorOf(response: Response): Promise<ApiError> {
  const said = `The gateway responded with status ${response.status}.`;
  const body = (await response.json().catch(() => null)) as { readonly error?: ErrorBody } | null;
  const { code = 'unknown', message = said, details } = body?.error ?? {};
  return new ApiError(response.status, code, message, { requestId: response.headers.get('x-request-id'), details });
}
