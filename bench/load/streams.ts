import { Pool } from 'undici';
import { requestBodies } from './bodies.ts';
import { quantilesOf, requestOf } from './call.ts';
import type { BeginStreamsOrder, LoadResult, WatchStreamsOrder } from './order.ts';
import { type SimulatedProvider, sendTimes } from './provider.ts';
import { createFailureCount, send } from './send.ts';

/** Chunks per second over all streams, whatever their number, so that 100 and 2,000 streams differ in the number of streams only. */
const CHUNKS_PER_SECOND = 5_000;
/** Number of streams that start at the same time. Thousands at once would measure kernel queues. */
const BEGIN_AT_A_TIME = 50;
/** Unlimited, because a stream that waits for the end of another one would wait forever. */
const FIRST_CHUNK_WITHIN_MS = 20_000;
/** Limit for targets that start a stream only once another one has ended. */
const END_WITHIN_MS = 20_000;

/** Clients of event streams. */
export interface StreamClients {
  begin(order: BeginStreamsOrder): Promise<LoadResult>;
  watch(order: WatchStreamsOrder): Promise<LoadResult>;
  end(): Promise<LoadResult>;
}

export function createStreamClients(provider: SimulatedProvider): StreamClients {
  let pool: Pool | null = null;
  let open: Promise<void>[] = [];
  let delays: number[] = [];
  const failures = createFailureCount();

  async function begin({ call, streams }: BeginStreamsOrder): Promise<LoadResult> {
    const startMs = performance.now();
    pool = new Pool(call.url, { connections: streams, allowH2: false });
    [open, delays] = [[], []];
    failures.take();
    const bodies = requestBodies(call.request, call.model, call.path);
    for (let begun = 0; begun < streams; begun += BEGIN_AT_A_TIME) {
      const count = Math.min(BEGIN_AT_A_TIME, streams - begun);
      await Promise.all(Array.from({ length: count }, (_, i) => beginOne(pool!, requestOf(call, bodies, begun + i))));
    }
    return result(streams, startMs);
  }

  /** Resolves at the first chunk, or once there will be none. */
  function beginOne(pool: Pool, request: ReturnType<typeof requestOf>): Promise<void> {
    return new Promise((hasBegun) => {
      const over = new Promise<void>((isOver) => {
        let text = '';
        let isBegun = false;
        send(
          pool,
          { ...request, bodyTimeout: 0 },
          {
            onStart(controller) {
              setTimeout(() => {
                if (!isBegun) controller.abort(new Error(`no chunk within ${FIRST_CHUNK_WITHIN_MS / 1_000} s`));
              }, FIRST_CHUNK_WITHIN_MS).unref();
            },
            onData(data) {
              const nowMs = performance.now();
              const { sentMs, rest } = sendTimes(text + data.toString('latin1'));
              text = rest;
              if (sentMs.length === 0) return;
              for (const sent of sentMs) delays.push(nowMs - sent);
              isBegun = true;
              hasBegun();
            },
            onEnd(failure) {
              if (failure !== null) failures.add(failure);
              hasBegun();
              isOver();
            },
          },
        );
      });
      open.push(over);
    });
  }

  async function watch({ seconds }: WatchStreamsOrder): Promise<LoadResult> {
    delays = [];
    const startMs = performance.now();
    const total = CHUNKS_PER_SECOND * seconds;
    let sent = 0;
    while (sent < total) {
      const due = Math.min(total, ((performance.now() - startMs) * CHUNKS_PER_SECOND) / 1_000);
      for (; sent < due; sent++) provider.sendChunk();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    // Chunks in transit arrive before the next reading of the target.
    await new Promise((resolve) => setTimeout(resolve, 200));
    return result(delays.length, startMs);
  }

  async function end(): Promise<LoadResult> {
    const startMs = performance.now();
    provider.endStreams();
    const late = setTimeout(
      () => void pool?.destroy(new Error(`no end within ${END_WITHIN_MS / 1_000} s`)),
      END_WITHIN_MS,
    );
    await Promise.all(open);
    clearTimeout(late);
    await pool?.close();
    return result(open.length, startMs);
  }

  function result(done: number, startMs: number): LoadResult {
    const elapsedMs = performance.now() - startMs;
    return { done, ...failures.take(), requestBytes: 0, elapsedMs, ...quantilesOf(delays) };
  }
  return { begin, watch, end };
}
