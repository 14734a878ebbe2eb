import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkTime } from '../lib/fair/work-time.ts';

/**
 * For whom statements run, so that lanes take turns by accounts. It goes with the request instead of through each parameter list
 * between an address and its statements: one that is forgotten there would only be unfair, and nobody would see it.
 */
interface Asking {
  readonly holder: string | null;
  /** Hears of what waits behind the statements of others; `null`: nobody counts the time. */
  readonly time: WorkTime | null;
}

const asking = new AsyncLocalStorage<Asking>();

/** Does work whose statements are a holder's, such as an account or the network of somebody unknown; `null`: the gateway's or an operator's. */
export function asHolder<Result>(holder: string | null, work: () => Result, time: WorkTime | null = null): Result {
  return asking.run({ holder, time }, work);
}

/** Whose statements are asked for here; `null`: the gateway's or an operator's. */
export function currentHolder(): string | null {
  return asking.getStore()?.holder ?? null;
}

/** What measures the work that asks for statements here. */
export function currentWorkTime(): WorkTime | null {
  return asking.getStore()?.time ?? null;
}
