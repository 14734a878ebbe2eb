import type { Dispatcher, Pool } from 'undici';
import { quantile } from '../quantile.ts';
import { type Body, requestBodies } from './bodies.ts';
import type { CallShape, LoadResult } from './order.ts';
import { createFailureCount, send } from './send.ts';

/** Makes calls of one shape, rotating through the keys, and counts outcomes. */
export interface Caller {
  /** Resolves at the end of the call, whatever its outcome. Its latency counts from `startMs`. */
  call(startMs?: number): Promise<void>;
  result(elapsedMs: number): LoadResult;
}

export function createCaller(pool: Pool, shape: CallShape): Caller {
  const bodies = requestBodies(shape.request, shape.model, shape.path);
  const took: number[] = [];
  const failures = createFailureCount();
  let turn = 0;

  function call(startMs = performance.now()): Promise<void> {
    return new Promise((resolve) => {
      send(pool, requestOf(shape, bodies, turn++), {
        onEnd(failure) {
          if (failure === null) took.push(performance.now() - startMs);
          else failures.add(failure);
          resolve();
        },
      });
    });
  }

  function result(elapsedMs: number): LoadResult {
    const requestBytes = took.length * (bodies[0]?.bytes.length ?? 0);
    return { done: took.length, ...failures.take(), requestBytes, elapsedMs, ...quantilesOf(took) };
  }
  return { call, result };
}

/** Undici options for the nth call. */
export function requestOf(shape: CallShape, bodies: readonly Body[], turn: number): Dispatcher.DispatchOptions {
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
