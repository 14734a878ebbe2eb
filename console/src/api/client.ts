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
  /** The field of the request that is wrong; `null` if none is named. */
  readonly param: string | null;
  readonly requestId: string | null;

  constructor(status: number, code: string, message: string, param: string | null, requestId: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
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

/** Asks for the CSV of a list; the response is the text. @throws ApiError */
export async function askForCsv<Name extends ReadName>(name: Name, input: InputOf<Name>): Promise<string> {
  return (await send(name, input as AnyInput, { accept: 'text/csv' })).text();
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
    throw new ApiError(0, 'unreachable', 'The gateway cannot be reached.', null, null);
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** The path with its parameters and query string. Parameters without a value are left out. */
export function addressOf(path: string, { path: parameters = {}, query = {} }: AnyInput): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}

async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id');
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string; param?: string | null } };
    return new ApiError(response.status, error.code, error.message, error.param ?? null, requestId);
  } catch {
    return new ApiError(
      response.status,
      'unknown',
      `The gateway responded with status ${response.status}.`,
      null,
      requestId,
    );
  }
}
