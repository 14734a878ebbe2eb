import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isTarget, replyToOrders } from './orders.ts';

/**
 * Loaded into a target before its own code (`node --import`). Replies to each `MeterOrder` of the bench with the usage of the process,
 * and stops the target when the bench exits. It is independent of the target's source, so that it works in any checkout.
 */

/** What to do before a reading. */
export interface MeterOrder {
  /** Collects garbage first, so that the reading has live memory only. */
  readonly collect?: boolean;
  /** Starts or stops measuring the delay of the main thread's event loop. Measuring wakes the thread every millisecond. */
  readonly watchDelay?: boolean;
}

/** Usage of a target since it started. */
export interface MeterReading {
  /** User and system time of all threads, from the operating system. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** Live memory of the main thread after garbage collection; `null` if it is unknown. */
  readonly inUseBytes: number | null;
  /** 99th percentile of the event loop delay since measuring started; `null` without measuring. */
  readonly delayP99Ms: number | null;
}

const DELAY_RESOLUTION_MS = 1;
const FINALISED_WITHIN_MS = 50;

let delay: ReturnType<typeof monitorEventLoopDelay> | null = null;

if (isTarget) replyToOrders(read);

async function read({ collect, watchDelay }: MeterOrder): Promise<MeterReading> {
  // Before garbage collection, whose time no call has caused.
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const delayP99Ms = delay === null ? null : delay.percentile(99) / 1e6;
  if (collect) await collectGarbage();
  if (watchDelay !== undefined) watch(watchDelay);
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    cpuMicros: userCPUTime + systemCPUTime,
    rssBytes: rss,
    inUseBytes: heapUsed + external,
    delayP99Ms,
  };
}

/** Twice: the second collection frees what the first one finalised. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  await setTimeout(FINALISED_WITHIN_MS);
  gc();
}

function watch(isWatched: boolean): void {
  delay?.disable();
  delay = isWatched ? monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS }) : null;
  delay?.enable();
}
