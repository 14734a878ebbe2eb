import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkTime } from '../lib/fair/work-time.ts';

/**
 * Whose statements run: connection pools schedule fairly between tenants. `AsyncLocalStorage` passes it, because a forgotten parameter
 * would fail no test.
 */
interface Asking {
  readonly tenant: string | null;
  /** Measures how long the tenant's statements run, without waits for a connection; `null`: not measured. */
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
