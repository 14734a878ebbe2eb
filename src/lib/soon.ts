/**
 * A result that is nearly always there at once, so that nobody waits for it, and no promise is made. Whoever asks does
 * `soon instanceof Promise ? await soon : soon`, since `await` of a plain value makes a promise too.
 */
export type Soon<Result> = Result | Promise<Result>;
