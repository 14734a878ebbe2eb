import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * For whom statements run, so that lanes take turns by accounts. It goes with the request instead of through each parameter list
 * between an address and its statements: one that is forgotten there would only be unfair, and nobody would see it.
 */
const holders = new AsyncLocalStorage<string | null>();

/** Does work whose statements are a holder's, such as an account or the network of somebody unknown; `null`: the gateway's or an operator's. */
export function asHolder<Result>(holder: string | null, work: () => Result): Result {
  return holders.run(holder, work);
}

/** Whose statements are asked for here; `null`: the gateway's or an operator's. */
export function currentHolder(): string | null {
  return holders.getStore() ?? null;
}
