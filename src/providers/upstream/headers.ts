import type { IncomingHttpHeaders } from 'node:http';
import type { Provider } from './provider.ts';

/**
 * The headers of a call to a provider: an allow-list. Nothing else of the client is sent, above all not its credential.
 *
 * The version and beta headers may arrive under any mounted protocol name or the provider's own; they leave under the
 * name that the provider expects. Headers that the operator has set for the provider win over all of these.
 *
 * @param credential one of the provider's. Secret: it is sent in its header, and nowhere else.
 * @param trace the headers by which the provider joins the trace of the call; none, unless it is configured to get them.
 */
export function upstreamHeaders(
  provider: Provider,
  credential: string,
  client: IncomingHttpHeaders,
  mountedNames: readonly string[],
  { isStream, contentType }: { readonly isStream: boolean; readonly contentType: string },
  trace?: { readonly [name: string]: string },
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': contentType,
    accept: isStream ? 'text/event-stream' : 'application/json',
    // An encoded response could not be measured on its way through.
    'accept-encoding': 'identity',
    'user-agent': 'faregate',
  };
  if (provider.auth === 'bearer') headers.authorization = `Bearer ${credential}`;
  else headers['x-api-key'] = credential;
  const { version: versions, beta: betas } = vendorHeaders(provider, mountedNames);
  const version = firstHeader(client, versions) ?? provider.protocol.defaultVersion;
  if (version !== null) headers[versions[0]!] = version;
  const beta = firstHeader(client, betas);
  if (beta !== null) headers[betas[0]!] = beta;
  // The headers of the operator win, for versions and betas too; those that must not be changed are refused in the
  // configuration.
  return Object.assign(headers, trace, provider.headers);
}

/** Names of the headers that clients may send, the one that the provider expects first. */
interface VendorHeaders {
  readonly mountedNames: readonly string[];
  readonly version: readonly string[];
  readonly beta: readonly string[];
}

/** The same for all calls of a configuration. */
const vendorHeadersOf = new WeakMap<Provider, VendorHeaders>();

function vendorHeaders(provider: Provider, mountedNames: readonly string[]): VendorHeaders {
  let names = vendorHeadersOf.get(provider);
  if (names?.mountedNames !== mountedNames) {
    const vendors = [provider.vendor ?? mountedNames[0]!, ...mountedNames];
    names = {
      mountedNames,
      version: vendors.map((vendor) => `${vendor}-version`),
      beta: vendors.map((vendor) => `${vendor}-beta`),
    };
    vendorHeadersOf.set(provider, names);
  }
  return names;
}

function firstHeader(client: IncomingHttpHeaders, names: readonly string[]): string | null {
  for (const name of names) {
    const value = client[name];
    if (value !== undefined) return Array.isArray(value) ? value.join(', ') : value;
  }
  return null;
}

/** Headers of a provider's response that may reach the client: limits, retry advice, timing (contract 4.3, 7). */
const SAFE_RESPONSE_HEADERS = new Set([
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
  'openai-version',
]);
const SAFE_RESPONSE_PREFIXES = ['x-ratelimit-', 'anthropic-ratelimit-'];
/** The windows of the operator's own subscription: a client would take them for those of its plan. */
const SUBSCRIPTION_PREFIX = 'anthropic-ratelimit-unified-';

export function safeResponseHeaders(upstream: IncomingHttpHeaders): Record<string, string> {
  const safe: Record<string, string> = {};
  for (const name in upstream) {
    if (!isSafe(name)) continue;
    const value = upstream[name];
    if (typeof value === 'string') safe[name] = value;
  }
  return safe;
}

function isSafe(name: string): boolean {
  if (name.startsWith(SUBSCRIPTION_PREFIX)) return false;
  if (SAFE_RESPONSE_HEADERS.has(name)) return true;
  for (const prefix of SAFE_RESPONSE_PREFIXES) if (name.startsWith(prefix)) return true;
  return false;
}

/** Headers of a response that are read beside those that are passed on. */
const READ_HEADERS = new Set(['content-encoding', 'content-length', 'content-type', 'request-id', 'x-request-id']);

/** A tab, a space, or anything that is visible in ASCII. */
const PRESENTABLE = /^[\t\x20-\x7e]*$/;

/**
 * The headers of a response that are looked at, without those that name the provider or reveal its credential, or that
 * contain characters that no header should. `hiddenWords` are in lower case.
 */
export function presentableHeaders(upstream: IncomingHttpHeaders, hiddenWords: readonly string[]): IncomingHttpHeaders {
  const presentable: IncomingHttpHeaders = {};
  for (const name in upstream) {
    if (!READ_HEADERS.has(name) && !isSafe(name)) continue;
    const line = `${name}: ${upstream[name]}`.toLowerCase();
    if (PRESENTABLE.test(line) && !hiddenWords.some((word) => line.includes(word))) presentable[name] = upstream[name];
  }
  return presentable;
}

const REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;

/** The provider's id of the call, where it sent a plausible one. */
export function upstreamRequestId(upstream: IncomingHttpHeaders): string | null {
  return plausibleId(upstream['x-request-id']) ?? plausibleId(upstream['request-id']);
}

function plausibleId(value: string | string[] | undefined): string | null {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : null;
}

/**
 * The kind of a response, by its head: a stream of events, a whole response, a refusal, or a success that cannot be
 * read because it is encoded in a way that was not asked for.
 */
type ResponseKind = 'stream' | 'whole' | 'refusal' | 'unusable';

export function responseKind(status: number, headers: IncomingHttpHeaders): ResponseKind {
  if (status !== 200) return 'refusal';
  // None was asked for, and it could not be measured on its way through.
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'unusable';
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '') ? 'stream' : 'whole';
}
