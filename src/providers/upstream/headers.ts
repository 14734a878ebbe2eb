import type { IncomingHttpHeaders } from 'node:http';
import type { Provider } from './provider.ts';

/**
 * Builds the headers of a call to a provider from an allowlist, without the client's credential. Version and beta headers, which clients
 * may send under any mounted name of the protocol or the provider's own, are renamed for the provider. Configured headers take precedence.
 * @param credential secret; it is sent only in its header
 * @param more further headers for the provider: the trace context, and headers of the client that its configuration lists
 */
export function upstreamHeaders(
  provider: Provider,
  credential: string,
  client: IncomingHttpHeaders,
  mountedNames: readonly string[],
  { isStream, contentType }: { readonly isStream: boolean; readonly contentType: string },
  more?: { readonly [name: string]: string },
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': contentType,
    accept: isStream ? 'text/event-stream' : 'application/json',
    // Requests uncompressed responses: the gateway reads the response while it relays it.
    'accept-encoding': 'identity',
    'user-agent': 'faregate',
  };
  if (provider.auth === 'bearer') headers.authorization = `Bearer ${credential}`;
  else headers[provider.auth] = credential;
  const { version: versions, beta: betas } = vendorHeaders(provider, mountedNames);
  const version = firstHeader(client, versions) ?? provider.protocol.defaultVersion;
  if (version !== null) headers[versions[0]!] = version;
  const beta = firstHeader(client, betas);
  if (beta !== null) headers[betas[0]!] = beta;
  // Configured headers come last. Validation of the configuration forbids names that they must not override.
  return Object.assign(headers, more, provider.headers);
}

/**
 * Returns the headers of a client that the configuration of a provider lists. Headers that the client declares as those of its connection
 * are omitted (RFC 9110, section 7.6.1).
 */
export function forwardedHeaders({ forwards }: Provider, client: IncomingHttpHeaders): Record<string, string> {
  const ofConnection = client.connection?.toLowerCase().split(/[\s,]+/) ?? [];
  const forwarded: Record<string, string> = {};
  for (const name of forwards) {
    const value = client[name];
    if (typeof value === 'string' && !ofConnection.includes(name)) forwarded[name] = value;
  }
  return forwarded;
}

/** Header names that clients may send. The first of each list is the name that the provider expects. */
interface VendorHeaders {
  readonly mountedNames: readonly string[];
  readonly version: readonly string[];
  readonly beta: readonly string[];
}

/** Cached by provider, because the names depend only on its configuration. */
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

/** Response headers that are forwarded to the client: limits, retry advice, timing (contract 4.3, 7). */
const SAFE_RESPONSE_HEADERS = new Set([
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
  'openai-version',
]);
const SAFE_RESPONSE_PREFIXES = ['x-ratelimit-', 'anthropic-ratelimit-'];
/** Prefix of headers about the operator's own subscription. Clients would mistake them for their own plan, so they are not forwarded. */
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

const READ_HEADERS = new Set(['content-encoding', 'content-length', 'content-type', 'request-id', 'x-request-id']);

const PRESENTABLE = /^[\t\x20-\x7e]*$/;

/** Returns the response headers that the gateway reads, without those that contain a hidden word. `hiddenWords` must be in lower case. */
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

/** Returns the provider's request id; `null` if there is none or its format is implausible. */
export function upstreamRequestId(upstream: IncomingHttpHeaders): string | null {
  return plausibleId(upstream['x-request-id']) ?? plausibleId(upstream['request-id']);
}

function plausibleId(value: string | string[] | undefined): string | null {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : null;
}

/** Kind of a response. `unusable`: a success in an encoding that the gateway did not request and cannot read. */
type ResponseKind = 'stream' | 'whole' | 'refusal' | 'unusable';

export function responseKind(status: number, headers: IncomingHttpHeaders): ResponseKind {
  if (status !== 200) return 'refusal';
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'unusable';
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '') ? 'stream' : 'whole';
}
