import type { RateHeaders, RateLeft } from '../rate-status.ts';

/** The name under which SDKs and agents of this family look for these headers, whatever the gateway calls the protocol. */
const VENDOR = 'anthropic';

/**
 * What is left of limits by the minute, as clients of the messages family read it, such as
 * `anthropic-ratelimit-requests-remaining`, and the same under the names of the gateway's own addresses.
 */
export const messagesRateHeaders: RateHeaders = ({ requests, tokens }, _nowMs, names) =>
  Object.fromEntries(
    [VENDOR, ...names.filter((name) => name !== VENDOR)].flatMap((name) => [
      ...headersOf(`${name}-ratelimit-requests`, requests),
      ...headersOf(`${name}-ratelimit-tokens`, tokens),
    ]),
  );

function headersOf(prefix: string, left: RateLeft | null): [string, string][] {
  if (left === null) return [];
  return [
    [`${prefix}-limit`, String(left.limit)],
    [`${prefix}-remaining`, String(left.remaining)],
    [`${prefix}-reset`, instantText(left.resetAtMs)],
  ];
}

/** RFC 3339 in whole seconds, rounded up: at that instant all of it is free. */
function instantText(epochMs: number): string {
  return new Date(Math.ceil(epochMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
}
