import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface EventLoopDelays {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface EventLoopMonitor {
  /** Returns the delays of the last full minute and the current one. */
  read(): EventLoopDelays;
  stop(): void;
}

const RESOLUTION_MS = 10;
/** Length of a window. It is longer than the interval of scrapes, so that each scraper sees every delay. */
const WINDOW_MS = 60_000;

/** Measures delays of the event loop. Reading does not reset them, so several scrapers see the same values. */
export function monitorEventLoop(): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  let last: EventLoopDelays = { p50Ms: 0, p99Ms: 0, maxMs: 0 };

  /** Converts a sample, the time between two calls of a timer: the resolution plus the delay. */
  const delayMs = (nanoseconds: number): number => Math.max(nanoseconds / 1e6 - RESOLUTION_MS, 0);

  function current(): EventLoopDelays {
    if (histogram.count === 0) return last;
    return {
      p50Ms: delayMs(histogram.percentile(50)),
      p99Ms: delayMs(histogram.percentile(99)),
      maxMs: delayMs(histogram.max),
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
