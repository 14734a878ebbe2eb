/**
 * A result that is usually available at once, without a promise. Callers write `soon instanceof Promise ? await soon : soon`,
 * because `await` of a plain value creates a promise too.
 */
export type Soon<Result> = Result | Promise<Result>;
