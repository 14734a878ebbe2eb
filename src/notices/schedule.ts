const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long after each failed attempt the next one follows: nine more, over 75 hours. */
const RETRY_DELAYS_MS: readonly number[] = [
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

/** Up to a tenth longer, so that what failed together is not tried together. */
const SPREAD = 0.1;

/** When a notice is tried again after so many failed attempts; `null` after the last one. */
export function nextAttemptMs(attempts: number, nowMs: number, randomSource: number): number | null {
  const delayMs = RETRY_DELAYS_MS[attempts - 1];
  return delayMs === undefined ? null : nowMs + Math.round(delayMs * (1 + SPREAD * randomSource));
}

const REST_MS = 5_000;
const REST_MAX_MS = 5 * MINUTE_MS;

/**
 * How long a receiver gets nothing at all after so many failures in a row. Its notices wait for it in the meantime, and are not
 * each tried in vain; when it works again, they are at most this late.
 */
export function receiverRestMs(failures: number): number {
  return Math.min(REST_MS * 2 ** (failures - 1), REST_MAX_MS);
}

/** An endpoint at which every attempt has failed for so long is disabled: somewhat less than the attempts of one notice last. */
export const FAILING_MAX_MS = 72 * HOUR_MS;
