import { isRecord } from '../lib/json/json.ts';
import { findProtocol } from '../protocols/all.ts';
import type { Path } from './document.ts';

interface Breach {
  readonly path: Path;
  readonly message: string;
}

/** Headers that an operator cannot set, with the reasons. */
const takenHeaders: Readonly<Record<string, string>> = {
  ...because('It describes the body, so the gateway sets it.', [
    'content-type',
    'content-length',
    'content-encoding',
    'transfer-encoding',
    'trailer',
    'expect',
  ]),
  ...because('It belongs to the connection, which the gateway manages.', [
    'host',
    'connection',
    'proxy-connection',
    'keep-alive',
    'upgrade',
    'te',
    'http2-settings',
  ]),
  ...because('The gateway sets it to the formats that it can read.', ['accept', 'accept-encoding']),
  ...because('It is for the proxy: put the credential into "proxy".', ['proxy-authorization']),
  ...because('Each call needs a different value; with a fixed one, every call would get the response of the first.', [
    'idempotency-key',
  ]),
};

function takenReason(name: string): string | null {
  return Object.hasOwn(takenHeaders, name) ? takenHeaders[name]! : null;
}

function because(reason: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

/** A `token` of RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;

/** Checks the headers of a provider: those that the operator sets (`headers`), and those of clients that it gets (`forwardHeaders`). */
export function headerBreaches(root: Path, provider: unknown): Breach[] {
  if (!isRecord(provider)) return [];
  return [...setBreaches(root, provider), ...forwardedBreaches(root, provider)];
}

function setBreaches(root: Path, provider: Readonly<Record<string, unknown>>): Breach[] {
  const { headers, protocol } = provider;
  const auth = provider.auth ?? findProtocol(protocol)?.providerAuth ?? 'bearer';
  const credential = auth === 'bearer' ? 'authorization' : auth;
  const seen = new Map<string, string>();
  return Object.keys(isRecord(headers) ? headers : {}).flatMap((name): Breach[] => {
    const breach = (message: string): Breach[] => [{ path: [...root, 'headers', name], message }];
    if (!HEADER_NAME.test(name))
      return breach('A header name consists of letters, digits and hyphens, without spaces.');
    const lowerCase = name.toLowerCase();
    const first = seen.get(lowerCase);
    if (first !== undefined) return breach(`This header is a duplicate of "${first}".`);
    seen.set(lowerCase, name);
    if (lowerCase === credential) return breach('This header carries the credential: set "apiKey" and "auth" instead.');
    const reason = takenReason(lowerCase);
    return reason === null ? [] : breach(`This header cannot be set. ${reason}`);
  });
}

/** Headers of clients that no provider gets, with the reasons. The first pattern that matches counts. */
const KEPT: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^idempotency-key$/, 'The gateway itself answers repeats.'],
  [
    /^content-|^accept(-|$)|^(range|if-.*|trailer|expect)$/,
    'It describes the body or the response, so the gateway sets it.',
  ],
  [
    /^(host|connection|keep-alive|upgrade|te|http2-settings|transfer-encoding)$|^proxy-|^sec-|^:/,
    'It belongs to the connection of the client.',
  ],
  [
    /(^|-)(apikey|auth|authentication|authorization|bearer|cookie2?|credentials?|jwt|key|passwords?|secrets?|signature|tokens?)(-|$)/,
    'It carries a credential of the client.',
  ],
  [
    /^(forwarded|via|cdn-loop|true-client-ip|x-real-ip|x-cluster-client-ip|x-appengine-user-ip)$|^(x-forwarded|x-original|x-envoy|x-client|client|cf|fastly|fly|x-azure)-/,
    'It reveals the address of the client.',
  ],
  [/^x-faregate-|^(x-)?request-id$/, 'It belongs to the gateway.'],
  [/^(traceparent|tracestate|baggage|b3|x-b3-.*)$/, 'Set "traceContext: pass" instead.'],
];

function forwardedBreaches(root: Path, { forwardHeaders }: Readonly<Record<string, unknown>>): Breach[] {
  if (!Array.isArray(forwardHeaders)) return [];
  const names = forwardHeaders.map((name) => (typeof name === 'string' ? name.toLowerCase() : null));
  return names.flatMap((name, index): Breach[] => {
    if (name === null) return [];
    const message = forwardedBreach(name, names.indexOf(name) < index);
    return message === null ? [] : [{ path: [...root, 'forwardHeaders', index], message }];
  });
}

function forwardedBreach(name: string, isRepeated: boolean): string | null {
  if (!HEADER_NAME.test(name) || name.includes('*')) {
    return 'Expected the exact name of a header, of letters, digits and hyphens. Patterns are not possible.';
  }
  if (isRepeated) return 'This header is already in this list.';
  const reason = KEPT.find(([pattern]) => pattern.test(name))?.[1] ?? takenReason(name);
  return reason === null ? null : `This header cannot be forwarded. ${reason}`;
}
