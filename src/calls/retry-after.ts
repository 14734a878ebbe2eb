/** `Retry-After` of a refusal: seconds until the limit frees, rounded up, at least 1. */
export function retryAfter(untilMs: number, nowMs: number): { readonly 'retry-after': string } {
  return { 'retry-after': String(Math.max(Math.ceil((untilMs - nowMs) / 1_000), 1)) };
}

/** `Retry-After` at a concurrency limit: a call ends within seconds or minutes, at an unknown time. */
export const SOON = { 'retry-after': '2' };
