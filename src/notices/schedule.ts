const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Milliseconds to wait after each failed attempt: nine retries over 75 hours. */
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

/** Every delay is up to 10 % longer at random, so that notices that failed together are not retried together. */
const SPREAD = 0.1;

/** Returns when to try again; `null` after the last attempt. */
export function nextAttemptMs(attempts: number, nowMs: number, randomSource: number): number | null {
  const delayMs = RETRY_DELAYS_MS[attempts - 1];
  return delayMs === undefined ? null : nowMs + Math.round(delayMs * (1 + SPREAD * randomSource));
}

const COOLDOWN_MS = 5_000;
const COOLDOWN_MAX_MS = 5 * MINUTE_MS;

/** Returns the cooldown of a receiver. During it, the receiver's notices wait. */
export function receiverCooldownMs(failures: number): number {
  return Math.min(COOLDOWN_MS * 2 ** (failures - 1), COOLDOWN_MAX_MS);
}

/** After this time, an endpoint that fails is disabled. All retries of one notice take slightly longer. */
export const FAILING_MAX_MS = 72 * HOUR_MS;
