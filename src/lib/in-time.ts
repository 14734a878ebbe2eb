/** What `inTime` answers where work takes longer than it may. */
export const LATE = Symbol('late');

/** The result of work, or `LATE`; the work goes on then, and whoever began it deals with how it ends. */
export function inTime<Result>(work: Promise<Result>, limitMs: number): Promise<Result | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(LATE), limitMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
