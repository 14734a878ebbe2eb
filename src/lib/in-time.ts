/** The result of `inTime` where work takes longer than the limit. */
export const LATE = Symbol('late');

/** The result of work, or `LATE`; the work then goes on, and its caller has to handle how it ends. */
export function inTime<Result>(work: Promise<Result>, limitMs: number): Promise<Result | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(LATE), limitMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
