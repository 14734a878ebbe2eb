/**
 * Shares reads of the same key. Whoever asks while one is under way gets the next one, together with all others who ask
 * meanwhile: so a read begins after it was asked for, and of each key one runs and one waits, however many ask.
 */
export function shareReads<Result>(read: (key: string) => Promise<Result>): (key: string) => Promise<Result> {
  const running = new Map<string, Promise<Result>>();
  const next = new Map<string, Promise<Result>>();

  function begin(key: string): Promise<Result> {
    const mine = read(key).finally(() => running.delete(key));
    running.set(key, mine);
    return mine;
  }

  return (key) => {
    const current = running.get(key);
    if (current === undefined) return begin(key);
    let waiting = next.get(key);
    if (waiting === undefined) {
      const beginNext = (): Promise<Result> => {
        next.delete(key);
        return begin(key);
      };
      waiting = current.then(beginNext, beginNext);
      next.set(key, waiting);
    }
    return waiting;
  };
}

/** Shares work that is under way: whoever asks meanwhile gets the same result. */
export function shareUnderWay<Given extends readonly unknown[], Result>(
  work: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  let running: Promise<Result> | null = null;
  return (...given) => {
    running ??= work(...given).finally(() => {
      running = null;
    });
    return running;
  };
}
