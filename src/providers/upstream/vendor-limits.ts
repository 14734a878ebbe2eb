import type { IncomingHttpHeaders } from 'node:http';

/** A rate limit of a vendor with its remaining amount, by the headers of a response. */
export interface VendorLimit {
  readonly of: 'requests' | 'tokens' | 'input-tokens' | 'output-tokens';
  /** `null`: the response does not say. */
  readonly max: number | null;
  readonly remaining: number;
  /** When all of it is free again; `null`: the response does not say. */
  readonly resetAtMs: number | null;
}

/** A limit whose reset the vendor does not state counts as used up for this long. */
const RESET_DEFAULT_MS = 10_000;
/** No rate limit lasts longer; a later reset is a mistake, or in a time zone that was misread. */
const RESET_MS_MAX = 60 * 60_000;

/**
 * The remaining amounts for one credential and model, by its last response. Requests that were sent since then are subtracted, so that
 * calls at the same time do not all take the last one.
 */
export class VendorLimits {
  #limits: readonly VendorLimit[];
  #sent = 0;

  constructor(limits: readonly VendorLimit[]) {
    this.#limits = limits;
  }

  /** Called with the limits of a newer response. */
  replace(limits: readonly VendorLimit[]): void {
    this.#limits = limits;
    this.#sent = 0;
  }

  /** Called when a request is sent. */
  sent(): void {
    this.#sent++;
  }

  /** Until when a limit is used up; 0: none is. */
  get usedUpUntilMs(): number {
    let untilMs = 0;
    for (const limit of this.#limits) {
      if (this.#left(limit) <= 0 && limit.resetAtMs !== null) untilMs = Math.max(untilMs, limit.resetAtMs);
    }
    return untilMs;
  }

  /** The limits whose reset is still to come. */
  status(nowMs: number): VendorLimit[] {
    return this.#limits
      .filter(({ resetAtMs }) => resetAtMs !== null && resetAtMs > nowMs)
      .map((limit) => ({ ...limit, remaining: Math.max(this.#left(limit), 0) }));
  }

  #left({ of, remaining }: VendorLimit): number {
    return of === 'requests' ? remaining - this.#sent : remaining;
  }
}

const KINDS = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;

/**
 * Reads `x-ratelimit-{limit,remaining,reset}-requests` and `-tokens`, whose reset is a duration such as `6m0s` or a number of seconds, and
 * `NAME-ratelimit-requests-{limit,remaining,reset}`, whose reset is an instant (RFC 3339). NAME is that of a messages vendor, such as
 * `anthropic`.
 */
export function readVendorLimits(headers: IncomingHttpHeaders, nowMs: number): VendorLimit[] {
  const prefix = prefixOf(headers);
  if (prefix === null) return [];
  const nameOf = (figure: string, of: string): string =>
    prefix === CHAT_PREFIX ? `${prefix}-${figure}-${of}` : `${prefix}-${of}-${figure}`;
  return KINDS.flatMap((of): VendorLimit[] => {
    const remaining = wholeNumber(headers[nameOf('remaining', of)]);
    if (remaining === null) return [];
    const waitMs = resetMs(headers[nameOf('reset', of)], nowMs) ?? RESET_DEFAULT_MS;
    const resetAtMs = waitMs > RESET_MS_MAX ? null : nowMs + waitMs;
    return [{ of, max: wholeNumber(headers[nameOf('limit', of)]), remaining, resetAtMs }];
  });
}

const CHAT_PREFIX = 'x-ratelimit';
const MESSAGES_NAME = /^([a-z0-9-]+-ratelimit)-requests-remaining$/;

function prefixOf(headers: IncomingHttpHeaders): string | null {
  if ('x-ratelimit-remaining-requests' in headers || 'x-ratelimit-remaining-tokens' in headers) return CHAT_PREFIX;
  for (const name in headers) {
    const prefix = name.endsWith('-requests-remaining') ? MESSAGES_NAME.exec(name)?.[1] : undefined;
    if (prefix !== undefined) return prefix;
  }
  return null;
}

function wholeNumber(text: string | string[] | undefined): number | null {
  return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const UNITS_MS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|h|m|s)){1,4}$/;

/** Milliseconds until a reset; `null`: there is none, or it cannot be read. */
function resetMs(text: string | string[] | undefined, nowMs: number): number | null {
  if (typeof text !== 'string') return null;
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return Number(text) * 1_000;
  if (DURATION.test(text)) {
    const parts = [...text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|h|m|s)/g)];
    return parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS], 0);
  }
  const atMs = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(atMs - nowMs, 0);
}
