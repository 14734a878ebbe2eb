import type { Pool } from 'undici';
import { quantile } from '../quantile.ts';
import { type Body, requestBodies } from './bodies.ts';
import type { CallShape, LoadResult } from './order.ts';

/** Makes one call of a shape after the other, each with the next key, and counts what became of them. */
export interface Caller {
  /** Resolves when the call is over, however it ends. Its time is counted from `startMs`. */
  call(startMs?: number): Promise<void>;
  result(elapsedMs: number): LoadResult;
}

/** How much of a failed response is shown. */
const FAILURE_CHARACTERS = 300;

export function createCaller(pool: Pool, shape: CallShape): Caller {
  const bodies = requestBodies(shape.request, shape.model);
  const took: number[] = [];
  let [failures, turn] = [0, 0];
  let firstFailure: string | null = null;

  function fail(why: string): void {
    failures++;
    firstFailure ??= why.slice(0, FAILURE_CHARACTERS);
  }

  function call(startMs = performance.now()): Promise<void> {
    return new Promise((resolve) => {
      let status = 0;
      let refusal = '';
      pool.dispatch(requestOf(shape, bodies, turn++), {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, received) => {
          status = received;
        },
        onResponseData: (_controller, data) => {
          if (status !== 200) refusal += data.toString();
        },
        onResponseEnd() {
          if (status === 200) took.push(performance.now() - startMs);
          else fail(`${status} ${refusal}`);
          resolve();
        },
        onResponseError(_controller, error) {
          fail(String(error));
          resolve();
        },
      });
    });
  }

  function result(elapsedMs: number): LoadResult {
    const requestBytes = took.length * (bodies[0]?.bytes.length ?? 0);
    return { done: took.length, failures, firstFailure, requestBytes, elapsedMs, ...quantilesOf(took) };
  }
  return { call, result };
}

/** What undici is to send for the call of a turn. */
export function requestOf(shape: CallShape, bodies: readonly Body[], turn: number): Parameters<Pool['dispatch']>[0] {
  const { path, keys } = shape;
  const headers: Record<string, string> = { authorization: `Bearer ${keys[turn % keys.length]}`, ...shape.headers };
  const body = bodies[turn % bodies.length];
  if (body === undefined) return { method: 'GET', path, headers };
  return { method: 'POST', path, headers: { ...headers, 'content-type': body.contentType }, body: body.bytes };
}

export function quantilesOf(took: readonly number[]): Pick<LoadResult, 'p50Ms' | 'p99Ms' | 'p999Ms'> {
  const at = (share: number): number | null => (took.length === 0 ? null : quantile(took, share));
  return { p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999) };
}
