interface ReplayParts<End> {
  /** The first pause before a round; it doubles for as long as nothing is taken. */
  readonly retryDelayMs: number;
  /** How many of the next ones are tried at a time. */
  readonly countAtOnce: (next: readonly End[]) => number;
  /** Resolves when an end is not to be tried again. */
  readonly attempt: (end: End) => Promise<void>;
  /** None waits any more, and so many were taken. */
  readonly onAllTaken: (count: number) => void;
}

const RETRY_DELAY_MAX_MS = 5_000;
const AT_ONCE_MAX = 64;

/**
 * What a database has not taken, tried again until it does, oldest first. Each partition has a replay of its own, so one that takes nothing,
 * or says nothing, keeps no other from what is its own.
 */
export function createReplay<End>(parts: ReplayParts<End>) {
  const { retryDelayMs, countAtOnce, attempt, onAllTaken } = parts;
  const waiting: End[] = [];
  let rounds: Promise<void> | null = null;
  let wake: () => void = () => undefined;
  let isClosing = false;

  async function run(): Promise<void> {
    let delayMs = retryDelayMs;
    while (waiting.length > 0 && !isClosing) {
      await pause(delayMs);
      const taken = await tryOnce(waiting.length);
      delayMs = taken > 0 ? retryDelayMs : Math.min(delayMs * 2, RETRY_DELAY_MAX_MS);
    }
    // In the same turn as the last look at the list, so that what fails from now on starts another round.
    rounds = null;
  }

  /** Tries that many of those that wait; returns how many were taken. */
  async function tryOnce(count: number): Promise<number> {
    let taken = 0;
    for (let left = count; left > 0; ) {
      const next = waiting.slice(0, Math.min(left, AT_ONCE_MAX));
      const batch = waiting.splice(0, countAtOnce(next));
      left -= batch.length;
      const results = await Promise.allSettled(batch.map(attempt));
      const failed = batch.filter((_end, i) => results[i]!.status === 'rejected');
      taken += batch.length - failed.length;
      waiting.push(...failed);
      // The database is down: the others would fail as well.
      if (failed.length === batch.length) break;
    }
    if (taken > 0 && waiting.length === 0) onAllTaken(taken);
    return taken;
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function beginRounds(): void {
    if (waiting.length > 0 && !isClosing) rounds ??= run();
  }

  return {
    /** Tries it with the next round. */
    add(end: End): void {
      waiting.push(end);
      beginRounds();
    },
    /** Tries these, and each that waits, once. */
    async once(ends: readonly End[] = []): Promise<void> {
      waiting.push(...ends);
      await tryOnce(waiting.length);
      beginRounds();
    },
    /** Ends the rounds, and tries each that waits once more. */
    async close(): Promise<void> {
      isClosing = true;
      wake();
      await rounds;
      await tryOnce(waiting.length);
    },
    get size(): number {
      return waiting.length;
    },
  };
}
