/** When a refused client may come back: the whole second after which there is room, not before. */
export function retryAfter(untilMs: number, nowMs: number): { readonly 'retry-after': string } {
  return { 'retry-after': String(Math.max(Math.ceil((untilMs - nowMs) / 1_000), 1)) };
}

/** At a limit of calls at the same time: one of them ends within seconds or minutes, nobody knows when. */
export const SOON = { 'retry-after': '2' };
