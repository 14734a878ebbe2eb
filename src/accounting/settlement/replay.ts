interface ReplayDependencies<End> {
  /** Pause before the next attempt. It doubles while the database accepts nothing. */
  readonly retryDelayMs: number;
  /** Returns how many of the waiting calls are tried together next. */
  readonly countAtOnce: (next: readonly End[]) => number;
  /** Tries to write the end of a call. If this resolves, it is not tried again. */
  readonly attempt: (end: End) => Promise<void>;
  /** Called when the database has accepted all waiting ends, with their number. */
  readonly onAllTaken: (count: number) => void;
}

const RETRY_DELAY_MAX_MS = 5_000;
const AT_ONCE_MAX = 64;

/** Tries to write ends again, oldest first. Each partition has its own replay, so that a failing one does not block others. */
export function createReplay<End>(dependencies: ReplayDependencies<End>) {
  const { retryDelayMs, countAtOnce, attempt, onAllTaken } = dependencies;
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
    // Set synchronously after the last check of the list, so that a later failure starts new rounds.
    rounds = null;
  }

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
      // If all ends of a batch fail, the database is probably down, so the others are not tried.
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
    add(end: End): void {
      waiting.push(end);
      beginRounds();
    },
    async once(ends: readonly End[] = []): Promise<void> {
      waiting.push(...ends);
      await tryOnce(waiting.length);
      beginRounds();
    },
    /** Tries once more to write the ends of all waiting calls. */
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
