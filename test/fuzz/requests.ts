import { gzipSync } from 'node:zlib';
import type { Dice } from '../../src/lib/dice.ts';
import { SESSION_HEADERS } from '../../src/protocols/operations/session.ts';
import { callMembers } from './calls.ts';
import { type Schema, textFor, type Values, valueFor } from './values.ts';

/** An operation in the API description. */
export interface Operation {
  readonly method: string;
  /** With `{name}` for its parameters. */
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  /** By content type. */
  readonly bodies: Readonly<Record<string, Schema>>;
}

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** Whether a large response is expected. */
  readonly asksForMuch: boolean;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components?: unknown;
}

interface OperationObject {
  readonly parameters?: readonly ({ name: string; in: string; schema: Schema } | { $ref: string })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

export function operationsOf(description: Description): Operation[] {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      parameters: parameters.map((parameter) =>
        '$ref' in parameter ? (refOf(description, parameter.$ref) as Operation['parameters'][number]) : parameter,
      ),
      bodies: Object.fromEntries(
        Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema]),
      ),
    })),
  );
}

export function refOf(description: unknown, ref: string): unknown {
  const path = ref.replace(/^#\//, '').split('/');
  return path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], description);
}

/** Share of calls with members from the tables of their protocol. */
const TABLE_SHARE = 0.6;

/** Addresses whose responses are documents, or grow with the database. */
const LONG_ANSWERS = /^\/(openapi\.json|docs|console|metrics|admin\/v1\/(export|audit))/;
const ITEMS_SMALL = 50;

export function requestOf(
  operation: Operation,
  values: Values,
  credential: Readonly<Record<string, string>>,
): FuzzRequest {
  const { dice } = values;
  const inPath = new Map<string, string>();
  const query = new URLSearchParams();
  const headers: Record<string, string> = { ...credential };
  let isMuch = LONG_ANSWERS.test(operation.path);
  for (const { name, in: place, schema } of operation.parameters) {
    const text =
      place === 'path' || place === 'header' || dice.happens(0.4)
        ? textFor(schema, values, place === 'path' ? pathName(operation.path, name) : name)
        : null;
    if (text === null) continue;
    if (place === 'path') inPath.set(name, text);
    if (place === 'query') query.append(name, text);
    if (place === 'header' && dice.happens(0.3)) headers[name.toLowerCase()] = headerText(text);
    if (name === 'limit' && Number(text) > ITEMS_SMALL) isMuch = true;
  }
  const [odd] = operation.parameters;
  if (odd !== undefined && dice.happens(0.03)) query.append(odd.name, 'twice');
  if (dice.happens(0.03)) query.append(dice.one(['unknown', '__proto__', 'accountId']), textFor({}, values));
  if (/\/models(\/|$)/.test(operation.path) && dice.happens(0.2)) {
    query.append('client_version', dice.happens(0.7) ? '0.171.0' : textFor({}, values));
  }
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const part = encodePart(inPath.get(name) ?? 'x');
    // Model ids have slashes, which clients may encode.
    return name === 'model' && dice.happens(0.5) ? part.replaceAll('%2F', '/') : part;
  });
  const search = query.size === 0 ? '' : `?${query}`;
  Object.assign(headers, oddHeaders(dice));
  if (headers.accept === 'text/csv') isMuch = true;
  const plain = bodyOf(operation, values, headers);
  // Responses show new vouchers once, up to this many.
  if (plain?.includes('"count":')) isMuch = true;
  const body = plain === null ? null : encoded(plain, dice, headers);
  return { method: operation.method, path: path + search, headers, body, asksForMuch: isMuch };
}

/** The resource of a path parameter: `keys` for `/keys/{id}`. */
function pathName(path: string, name: string): string {
  const parts = path.split('/');
  return name === 'id' ? parts[parts.indexOf('{id}') - 1]! : name;
}

function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed()) || '%20';
}

/** The part of a text that the HTTP client can send in a header. */
function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e]/g, '?').slice(0, 10_000);
}

function oddHeaders(dice: Dice): Record<string, string> {
  const headers: Record<string, string> = {};
  if (dice.happens(0.15)) headers.accept = dice.one(['text/csv', '*/*', 'text/html', 'a'.repeat(3_000), ',;,;q=']);
  if (dice.happens(0.03)) headers['accept-encoding'] = `x${' '.repeat(10_000)}y`;
  if (dice.happens(0.03)) headers['accept-encoding'] = 'x;q=0,'.repeat(1_500);
  if (dice.happens(0.02)) headers['if-none-match'] = '"x",'.repeat(2_000);
  if (dice.happens(0.02)) headers['x-forwarded-for'] = '1.2.3.4, '.repeat(1_000);
  if (dice.happens(0.02)) headers.traceparent = '0'.repeat(8_000);
  if (dice.happens(0.02)) headers['x-client-request-id'] = 'x'.repeat(8_000);
  if (dice.happens(0.1)) headers[dice.one(SESSION_HEADERS)] = dice.one(['a', 'session-1', 'x'.repeat(5_000), ' ']);
  if (dice.happens(0.01)) headers.cookie = 'a=b; '.repeat(1_500);
  return headers;
}

function bodyOf({ method, path, bodies }: Operation, values: Values, headers: Record<string, string>): Buffer | null {
  const { dice } = values;
  const types = Object.keys(bodies);
  if (types.length === 0 && (method === 'GET' || dice.happens(0.9))) return null;
  const type = types.length === 0 ? 'application/json' : dice.one(types);
  headers['content-type'] = dice.happens(0.95)
    ? type
    : dice.one(['text/plain', 'application/json; charset=utf-16', 'multipart/form-data', 'x'.repeat(2_000), ';;;']);
  if (type.startsWith('multipart/')) {
    headers['content-type'] = 'multipart/form-data; boundary=b';
    const part = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const members = Object.entries((valueFor(bodies[type]!, values) ?? {}) as object);
    return Buffer.from(
      `${members.map(([name, value]) => part(name, typeof value === 'string' ? value : JSON.stringify(value))).join('')}--b--\r\n`,
    );
  }
  const call = dice.happens(TABLE_SHARE) ? callMembers(path, values) : null;
  if (call !== null) return Buffer.from(`{${call.join(',')}}`);
  return Buffer.from(textOf(bodies[type] ?? {}, values));
}

/** The body as sent: sometimes encoded, or with a false encoding header. */
function encoded(body: Buffer, dice: Dice, headers: Record<string, string>): Buffer {
  if (!dice.happens(0.04)) return body;
  headers['content-encoding'] = dice.one(['gzip', 'gzip', 'br', 'zstd', 'x', 'gzip, gzip']);
  return dice.happens(0.8) ? gzipSync(body, { level: 1 }) : body;
}

function textOf(schema: Schema, values: Values): string {
  const { dice } = values;
  if (dice.happens(0.95)) return JSON.stringify(valueFor(schema, values) ?? null);
  const size = dice.one([10, 1_000, 100_000, 900_000]);
  switch (dice.upTo(7)) {
    case 0:
      return '['.repeat(size);
    case 1:
      return '['.repeat(size / 2) + ']'.repeat(size / 2);
    case 2:
      return `{"a":[${'{},'.repeat(size / 3)}{}]}`;
    case 3:
      return `{${'"a":1,'.repeat(size / 6)}"a":1}`;
    case 4:
      return `{"${'x'.repeat(size)}":1}`;
    case 5:
      return `{"name":${'1'.repeat(size)}}`;
    case 6:
      return JSON.stringify({ name: 'x'.repeat(size) });
    default:
      return dice.one(['', 'null', '""', '0', '{', '{"name":"\\ud800"}', '\ufeff{}', '{"name":1e999}']);
  }
}
