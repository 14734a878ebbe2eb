import type { UseCounts } from './limited-use.ts';
import type { UseElsewhere } from './use-store.ts';

/** Counts that are older than this say nothing about the last minute, and calls in flight may have ended since. */
export const COUNTS_VALID_MS = 15_000;

export const NOTHING_USED: UseCounts = { requests: 0, tokens: 0, inFlight: 0 };

/** Finds what other processes have used since they were last read, from the totals that they write. */
export class OthersUse {
  /** Totals by subject and node. */
  #known: ReadonlyMap<string, ReadonlyMap<string, UseElsewhere>> = new Map();
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** Takes the totals of one reading. Returns what is new, by subject; tokens are negative if fewer were used than was estimated. */
  read(others: readonly UseElsewhere[], nowMs: number): (subject: string) => UseCounts {
    const before = this.isOutdated(nowMs) ? new Map<string, ReadonlyMap<string, UseElsewhere>>() : this.#known;
    const bySubject = Map.groupBy(others, ({ subject }) => subject);
    this.#known = new Map(
      [...bySubject].map(([subject, of]) => [subject, new Map(of.map((each) => [each.nodeId, each]))]),
    );
    this.#readAtMs = nowMs;
    return (subject) => newUse(bySubject.get(subject) ?? [], before.get(subject));
  }

  /** Whether the last reading is too old, because the database does not respond or this process was paused. */
  isOutdated(nowMs: number): boolean {
    return Math.abs(nowMs - this.#readAtMs) > COUNTS_VALID_MS;
  }
}

function newUse(others: readonly UseElsewhere[], known: ReadonlyMap<string, UseElsewhere> | undefined): UseCounts {
  return others.reduce((sum, { nodeId, requests, tokens, inFlight }) => {
    const before = known?.get(nodeId);
    // What a process used before it was first read may be old. Totals begin again if limits are removed and come back.
    const isNew = before !== undefined && requests >= before.requests;
    return {
      requests: sum.requests + (isNew ? requests - before.requests : 0),
      tokens: sum.tokens + (isNew ? tokens - before.tokens : 0),
      inFlight: sum.inFlight + inFlight,
    };
  }, NOTHING_USED);
}
