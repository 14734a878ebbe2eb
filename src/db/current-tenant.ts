import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkTime } from '../lib/fair/work-time.ts';

/**
 * The tenant on whose behalf statements run. Connection pools schedule fairly between tenants. It is passed through `AsyncLocalStorage`: if
 * it were a parameter, a call site that omitted it would make scheduling unfair, and no test would fail.
 */
interface Asking {
  readonly tenant: string | null;
  /** Measures the tenant's work, without the time spent waiting for a connection; `null`: not measured. */
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
