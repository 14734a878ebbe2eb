/** Combines reads of the same key. Callers that arrive during a read share the next one, so that no read begins before its request. */
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

/** Combines calls: those that arrive while the work runs get its result. */
export function shareInFlight<Given extends readonly unknown[], Result>(
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
