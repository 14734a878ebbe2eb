import { Pool } from 'undici';
import { createCaller } from './call.ts';
import type { ClosedOrder, LoadResult, OpenOrder } from './order.ts';

/** Maximum concurrent calls at a fixed rate. Further due calls wait, and their waiting time counts. */
const OPEN_CONNECTIONS_MAX = 512;
/** How long to wait for responses after the last call at a fixed rate. */
const LAST_RESPONSES_MS = 10_000;

/** This many connections, each of which makes its next call after the response to the last one. */
export async function callInTurns({ call, connections, seconds }: ClosedOrder): Promise<LoadResult> {
  const pool = new Pool(call.url, { connections, allowH2: false });
  const caller = createCaller(pool, call);
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endMs) await caller.call();
    }),
  );
  const result = caller.result(performance.now() - startMs);
  await pool.close();
  return result;
}

/**
 * Calls at a fixed rate. The latency of a call begins when it is due, not when it is sent. Otherwise a target that stalls would hide the
 * calls that wait.
 */
export async function callAtRate({ call, callsPerSecond, seconds }: OpenOrder): Promise<LoadResult> {
  const pool = new Pool(call.url, { connections: OPEN_CONNECTIONS_MAX, allowH2: false });
  const caller = createCaller(pool, call);
  const startMs = performance.now();
  const total = Math.floor(callsPerSecond * seconds);
  const calls: Promise<void>[] = [];
  while (calls.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startMs) * callsPerSecond) / 1_000) + 1);
    while (calls.length < due) calls.push(caller.call(startMs + (calls.length * 1_000) / callsPerSecond));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const last = new Promise((resolve) => setTimeout(resolve, LAST_RESPONSES_MS).unref());
  await Promise.race([Promise.all(calls), last]);
  const result = caller.result(performance.now() - startMs);
  await pool.destroy();
  const missing = total - result.done - result.failures;
  return { ...result, failures: result.failures + missing };
}
