import type { Endpoints } from './types.ts';

/** The address of an endpoint, with its method: a member of `Endpoints`. */
export type EndpointName = keyof Endpoints;
export type ReadName = Extract<EndpointName, `GET ${string}`>;
export type ChangeName = Exclude<EndpointName, ReadName>;

export type ResponseOf<Name extends EndpointName> = Endpoints[Name]['response'];
export type BodyOf<Name extends EndpointName> = Endpoints[Name]['body'];
export type QueryOf<Name extends EndpointName> = Endpoints[Name]['query'];

/** What an endpoint takes; members that it does not have are left out. */
export type InputOf<Name extends EndpointName> = Optional<'path', Endpoints[Name]['path']> &
  Optional<'query', Endpoints[Name]['query']> &
  (Endpoints[Name]['body'] extends null ? object : { readonly body: Endpoints[Name]['body'] });

type Optional<Member extends string, Value> =
  Partial<Value> extends Value
    ? { readonly [name in Member]?: Value | undefined }
    : { readonly [name in Member]: Value };

/** An input as the request is built from it, whatever the endpoint. */
export interface AnyInput {
  readonly path?: { readonly [name: string]: string } | undefined;
  readonly query?: { readonly [name: string]: string | number | boolean | undefined } | undefined;
  readonly body?: unknown;
}

/** What the gateway responds with if it does not do what was asked. */
export class ApiError extends Error {
  /** The HTTP status; 0 if no response came. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;

  constructor(status: number, code: string, message: string, requestId: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** Whether no response of the gateway came: none at all, or that of a proxy before it which had none either. */
export function isAway(error: Error | null): boolean {
  return error instanceof ApiError && [0, 502, 504].includes(error.status);
}

export interface AskOptions {
  /** Makes a change happen once, however often the same request is sent. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `text/csv` for the tables of the APIs that have it. */
  readonly accept?: string | undefined;
}

/**
 * Asks the gateway for something, as the person who has signed in.
 *
 * @throws ApiError
 */
export async function ask<Name extends EndpointName>(
  name: Name,
  input: InputOf<Name>,
  options: AskOptions = {},
): Promise<ResponseOf<Name>> {
  const response = await send(name, input as AnyInput, options);
  const text = await response.text();
  return (text === '' ? null : JSON.parse(text)) as ResponseOf<Name>;
}

/** Sends a request, and returns its response if that is a success. @throws ApiError */
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

/** That no response came. */
export function unreachable(): ApiError {
  return new ApiError(0, 'unreachable', 'The gateway cannot be reached.');
}

/** The path with its parameters and query string. */
function addressOf(path: string, { path: parameters = {}, query = {} }: AnyInput): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''));
  return withQuery(filled, query);
}

/** A path with a query string. Parameters without a value are left out. */
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

/** What a response says that is no success; its status if it says nothing that can be read. */
export async function errorOf(response: Response): Promise<ApiError> {
  const said = `The gateway responded with status ${response.status}.`;
  const body = (await response.json().catch(() => null)) as { error?: { code?: string; message?: string } } | null;
  const { code = 'unknown', message = said } = body?.error ?? {};
  return new ApiError(response.status, code, message, response.headers.get('x-request-id'));
}
