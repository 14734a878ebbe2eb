import type { Clock } from '../../lib/clock.ts';
import type { CallsStore } from './calls-store.ts';

/** Calls that started in a minute and have ended. */
export interface MinuteCalls {
  /** The start of the minute. */
  readonly minuteMs: number;
  readonly calls: number;
}

interface RecentMinutesDependencies {
  readonly calls: Pick<CallsStore, 'countStarted'>;
  readonly clock: Clock;
}

export const MINUTES = 60;
const MINUTE_MS = 60_000;
/** After this time, a minute is not counted again: nearly all of its calls have ended. */
const SETTLED_MS = 5 * MINUTE_MS;
/** Everyone who asks within this time gets the same counts. */
const SHARED_MS = 10_000;

/**
 * Counts the calls of the last hour by minute, when somebody asks. A node remembers the counts of settled minutes, so a repeated request
 * reads only a few minutes.
 */
export function createRecentMinutes({ calls, clock }: RecentMinutesDependencies) {
  /** Counts of settled minutes. */
  let settled: ReadonlyMap<number, number> = new Map();
  let latest: { readonly atMs: number; readonly read: Promise<readonly MinuteCalls[]> } | null = null;

  async function count(nowMs: number): Promise<readonly MinuteCalls[]> {
    const currentMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    const all = Array.from({ length: MINUTES }, (_, i) => currentMs - (MINUTES - i) * MINUTE_MS);
    const missing = all.filter((minuteMs) => !settled.has(minuteMs));
    const found = await calls.countStarted(missing);
    const counted = new Map(missing.map((minuteMs, i) => [minuteMs, found[i]!]));
    const minutes = all.map((minuteMs) => ({ minuteMs, calls: settled.get(minuteMs) ?? counted.get(minuteMs)! }));
    settled = new Map(
      minutes
        .filter(({ minuteMs }) => minuteMs + MINUTE_MS + SETTLED_MS <= nowMs)
        .map((each) => [each.minuteMs, each.calls]),
    );
    return minutes;
  }

  /** The last `MINUTES` complete minutes, oldest first. */
  return (): Promise<readonly MinuteCalls[]> => {
    const nowMs = clock.nowMs();
    if (latest !== null && nowMs >= latest.atMs && nowMs - latest.atMs < SHARED_MS) return latest.read;
    const read = count(nowMs);
    const asked = { atMs: nowMs, read };
    latest = asked;
    // A failure is not shared.
    read.catch(() => {
      if (latest === asked) latest = null;
    });
    return read;
  };
}
