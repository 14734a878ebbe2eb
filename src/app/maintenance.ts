import type { Logger } from '../lib/logger.ts';

/** A part of the housekeeping. It takes no lock that others could wait behind for long. */
export interface HousekeepingTask {
  /** For the log. */
  readonly name: string;
  /** The partition that it works in; by default what is of the directory or the node. One task of a partition runs at a time. */
  readonly partition?: number;
  /** Whether it is tried once before the first call is taken. */
  readonly isBeforeCalls?: boolean;
  /**
   * Returns false if a part could not be done now; what else it returns does not matter. It ends early when the signal
   * aborts: the gateway waits for it before it ends.
   */
  run(signal: AbortSignal): Promise<unknown>;
}

/**
 * The hourly work of a gateway. Each task fails alone: that is logged once, and it is tried again sooner. No failure keeps a
 * node from starting.
 */
export interface Maintenance {
  /** Runs the tasks that stand before the first call, and resolves when they are done; the others follow when the start is over. Never throws. */
  start(): Promise<void>;
  /** Runs every task once. Never throws. */
  round(): Promise<void>;
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

interface MaintenanceOptions {
  readonly tasks: readonly HousekeepingTask[];
  readonly logger: Logger;
  /** For tests; what is absent is as in production. */
  readonly timing?: MaintenanceTiming;
}

interface MaintenanceTiming {
  /** How long the first calls after a start have the database for themselves. */
  readonly restMs?: number;
  readonly roundMs?: number;
  readonly retryMs?: number;
}

const REST_MS = 5_000;
const ROUND_MS = 3_600_000;
const RETRY_MS = 30_000;

/** How long after a run the next one follows: twice as long after each failure in a row, up to the usual time. */
export function nextRunInMs(
  failures: number,
  { roundMs, retryMs }: Required<Omit<MaintenanceTiming, 'restMs'>>,
): number {
  return failures === 0 ? roundMs : Math.min(roundMs, retryMs * 2 ** (failures - 1));
}

interface Scheduled {
  readonly task: HousekeepingTask;
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

export function createMaintenance({ tasks, logger, timing = {} }: MaintenanceOptions): Maintenance {
  const { restMs = REST_MS } = timing;
  const times = { roundMs: timing.roundMs ?? ROUND_MS, retryMs: timing.retryMs ?? RETRY_MS };
  const all = tasks.map((task): Scheduled => ({ task, failures: 0, timer: undefined }));
  const stopping = new AbortController();
  /** One of each partition runs at a time, so one that says nothing keeps no other from its turn. The first one has its lane with the directory. */
  const last = new Map<number, Promise<void>>();
  let rest: NodeJS.Timeout | undefined;

  function run(each: Scheduled): Promise<void> {
    const { partition = 0 } = each.task;
    const running = (last.get(partition) ?? Promise.resolve()).then(async () => {
      clearTimeout(each.timer);
      if (stopping.signal.aborted) return;
      await attempt(each);
      if (stopping.signal.aborted) return;
      each.timer = setTimeout(() => void run(each), nextRunInMs(each.failures, times));
      each.timer.unref();
    });
    last.set(partition, running);
    return running;
  }

  async function attempt(each: Scheduled): Promise<void> {
    const { name } = each.task;
    try {
      if ((await each.task.run(stopping.signal)) === false) throw new Error('others have locked rows that it needs');
      if (each.failures > 0) logger.info({ task: name }, 'a part of the housekeeping that had failed is done');
      each.failures = 0;
    } catch (error) {
      if (each.failures === 0) {
        logger.warn(
          { err: error, task: name },
          'a part of the housekeeping failed; it is tried again, and the others go on',
        );
      }
      each.failures++;
    }
  }

  async function runAll(those: readonly Scheduled[]): Promise<void> {
    await Promise.all(those.map(run));
  }

  return {
    async start() {
      await runAll(all.filter(({ task }) => task.isBeforeCalls));
      rest = setTimeout(() => void runAll(all.filter(({ task }) => !task.isBeforeCalls)), restMs);
      rest.unref();
    },
    async round() {
      clearTimeout(rest);
      await runAll(all);
    },
    async stop() {
      stopping.abort();
      clearTimeout(rest);
      for (const { timer } of all) clearTimeout(timer);
      await Promise.all(last.values());
    },
  };
}
