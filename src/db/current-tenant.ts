import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkTime } from '../lib/fair/work-time.ts';

/**
 * The tenant of the running statements, between which connection pools schedule fairly. `AsyncLocalStorage` is used because a call site
 * could omit a parameter, and no test would fail.
 */
interface Asking {
  readonly tenant: string | null;
  /** Measures the tenant's work, without waits for a connection; `null`: not measured. */
  readonly time: WorkTime | null;
}

const asking = new AsyncLocalStorage<Asking>();

/** @param tenant an account, or the network of an unauthenticated client; `null`: the gateway itself or an operator. */
export function asTenant<Result>(tenant: string | null, work: () => Result, time: WorkTime | null = null): Result {
  return asking.run({ tenant, time }, work);
}

export function currentTenant(): string | null {
  return asking.getStore()?.tenant ?? null;
}

export function currentWorkTime(): WorkTime | null {
  return asking.getStore()?.time ?? null;
}
