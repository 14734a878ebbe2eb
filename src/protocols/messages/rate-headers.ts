import type { RateHeaders, RateLeft } from '../rate-status.ts';

/** Prefix that SDKs and agents of this protocol expect. */
const VENDOR = 'anthropic';

/** Formats `anthropic-ratelimit-requests-remaining` and similar headers, also with each mount name of the protocol as prefix. */
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

/** Formats a time as RFC 3339, rounded up to whole seconds so that the full limit is available then. */
function instantText(epochMs: number): string {
  return new Date(Math.ceil(epochMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
}
