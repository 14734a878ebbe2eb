import type { RateHeaders, RateLeft } from '../rate-status.ts';

/** Prefix of header names that SDKs and agents of this protocol expect. */
const VENDOR = 'anthropic';

/** Formats headers such as `anthropic-ratelimit-requests-remaining`, also with each mounted name of the protocol as the prefix. */
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

/** Formats a time as RFC 3339. It is rounded up to seconds, so that the limit has really been reset by then. */
function instantText(epochMs: number): string {
  return new Date(Math.ceil(epochMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
}
