/** A result that is usually available at once. Callers write `soon instanceof Promise ? await soon : soon`, which creates no promise. */
export type Soon<Result> = Result | Promise<Result>;
