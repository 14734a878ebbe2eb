import { monitorEventLoopDelay } from 'node:perf_hooks';

/** By how much the event loop was late, in milliseconds. */
export interface EventLoopDelays {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface EventLoopMonitor {
  /** Of the last whole minute, and of the one that runs. */
  read(): EventLoopDelays;
  stop(): void;
}

const RESOLUTION_MS = 10;
/** Longer than the pause between two scrapes, so that each scraper sees every delay. */
const WINDOW_MS = 60_000;

/** Measures how late the event loop is. What is read does not depend on how often, or by how many, it is read. */
export function monitorEventLoop(): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  let last: EventLoopDelays = { p50Ms: 0, p99Ms: 0, maxMs: 0 };

  /** A sample is the time between two turns of a timer, which is the resolution if nothing is late. */
  const late = (nanoseconds: number): number => Math.max(nanoseconds / 1e6 - RESOLUTION_MS, 0);

  function current(): EventLoopDelays {
    if (histogram.count === 0) return last;
    return {
      p50Ms: late(histogram.percentile(50)),
      p99Ms: late(histogram.percentile(99)),
      maxMs: late(histogram.max),
    };
  }

  const window = setInterval(() => {
    last = current();
    histogram.reset();
  }, WINDOW_MS);
  window.unref();

  return {
    read() {
      const now = current();
      return {
        p50Ms: Math.max(last.p50Ms, now.p50Ms),
        p99Ms: Math.max(last.p99Ms, now.p99Ms),
        maxMs: Math.max(last.maxMs, now.maxMs),
      };
    },
    stop() {
      clearInterval(window);
      histogram.disable();
    },
  };
}
