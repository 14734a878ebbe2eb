import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isTarget, replyToOrders } from './orders.ts';

/**
 * Loaded into a target before its own code (`node --import`): replies to each `MeterOrder` of the bench with what the process
 * has used so far, and stops the target when the bench is gone. It knows nothing of the target's source, so that it can
 * be loaded into any checkout.
 */

/** What is done before a reading. */
export interface MeterOrder {
  /** Collects garbage, so that the memory is that of what is in use. */
  readonly collect?: boolean;
  /** Begins to watch how late the event loop of the main thread is, or ends it. Watching wakes the thread each millisecond. */
  readonly watchDelay?: boolean;
}

/** What a target has used since it started. */
export interface MeterReading {
  /** Of all threads, user and system, by the operating system. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** What the main thread has allocated and still refers to, if garbage was collected; `null` if it cannot be known. */
  readonly inUseBytes: number | null;
  /** By how much the event loop was late, at the 99th percentile since it is watched; `null` if it is not. */
  readonly delayP99Ms: number | null;
}

const DELAY_RESOLUTION_MS = 1;
const FINALISED_WITHIN_MS = 50;

let delay: ReturnType<typeof monitorEventLoopDelay> | null = null;

if (isTarget) replyToOrders(read);

async function read({ collect, watchDelay }: MeterOrder): Promise<MeterReading> {
  // Before garbage is collected, which takes time that no call has asked for.
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

/** Twice: what the first one finds to be finalised is freed by the second. */
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
