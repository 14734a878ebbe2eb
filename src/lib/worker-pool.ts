import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Piscina } from 'piscina';
import { FairSlots } from './fair/fair-slots.ts';
import { Shares, type Tenant } from './fair/shares.ts';
import { NamedError } from './named-error.ts';

export interface WorkerPoolOptions {
  /** A module that exports the function `run`. */
  readonly file: string;
  readonly name: string;
  readonly threadsMax: number;
  /** Tasks of all accounts that may wait or run. */
  readonly placesMax: number;
  /** The time limit of a task, including the start of its thread. */
  readonly taskMsMax: number;
  /** The heap limit of a thread. Buffers do not count. */
  readonly heapMiBMax: number;
  /** The time after which an idle thread exits. */
  readonly idleMs: number;
}

/** A message to a thread. `moved` is transferred, so that the sender can no longer use it. */
interface WorkerMessage<Task> {
  readonly task: Task;
  readonly moved: readonly ArrayBuffer[];
}

/**
 * Threads for work that would block the thread that serves calls. Accounts take turns, and share the places for waiting
 * tasks.
 *
 * A task that exceeds its time or memory limit ends its thread and nothing else: its caller gets an error, and the next
 * task a new thread. But the process ends if a heap overflows inside a single call of the engine, such as `JSON.parse` of
 * 64 MiB of `{},`, or by more than 16 MiB before the thread has ended. So a task must check its input before it creates
 * values from it.
 */
export interface WorkerPool {
  /**
   * Runs a task.
   *
   * @param prepare Called when the task may run, so that waiting tasks need no memory.
   * @throws WorkerPoolBusyError if there is no place for this account now, WorkerFailedError if the thread has ended,
   * and whatever the task throws.
   */
  run<Task, Result>(tenant: Tenant, prepare: () => WorkerMessage<Task> | Promise<WorkerMessage<Task>>): Promise<Result>;
  /** Waits for pending tasks and ends the threads. Later tasks are refused. */
  close(): Promise<void>;
  readonly running: number;
  readonly waiting: number;
}

/** Too many tasks are waiting. The task itself is not at fault, and may be retried. */
export class WorkerPoolBusyError extends NamedError {
  constructor(name: string) {
    super(`too many tasks are waiting for a thread of the pool "${name}"`);
  }
}

/** The thread of the task has ended: by the time limit, by the heap limit, or because it failed. */
export class WorkerFailedError extends NamedError {}

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { file, name, threadsMax, placesMax, taskMsMax, heapMiBMax, idleMs } = options;
  /** Created with the first task, because many gateways have none. */
  let threads: Promise<Piscina> | null = null;
  const places = new Shares(placesMax);
  const pending = new Set<Promise<unknown>>();
  /**
   * Tasks wait here and not in the queue of the threads, which starts a thread only for a new task: after a thread has
   * died, tasks in that queue might never run.
   */
  const slots = new FairSlots({ slotsMax: threadsMax });
  let closing: Promise<void> | null = null;

  async function makeThreads(): Promise<Piscina> {
    const { Piscina } = await import('piscina');
    const made = new Piscina({
      filename: file,
      name: 'run',
      minThreads: 0,
      maxThreads: threadsMax,
      idleTimeout: idleMs,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax },
    });
    // If a thread dies without a task, no caller is affected; without a listener, the event would end the process.
    made.on('error', () => {});
    return made;
  }

  /** If it fails, the waiting tasks fail, and the next task tries again. */
  function startThreads(): Promise<Piscina> {
    threads ??= makeThreads().catch((error: unknown) => {
      threads = null;
      throw error;
    });
    return threads;
  }

  async function runInTurn<Task, Result>(
    accountId: string,
    prepare: () => WorkerMessage<Task> | Promise<WorkerMessage<Task>>,
  ): Promise<Result> {
    const queued = slots.enter(accountId);
    if (queued !== null) await queued;
    try {
      return await runNow(await prepare());
    } finally {
      slots.leave(accountId);
    }
  }

  async function runNow<Task, Result>({ task, moved }: WorkerMessage<Task>): Promise<Result> {
    const pool = await startThreads();
    const overdue = new AbortController();
    const timer = setTimeout(() => overdue.abort(), taskMsMax);
    try {
      // An aborted task ends its thread.
      return await pool.run(task, { transferList: moved, signal: overdue.signal });
    } catch (error) {
      if (overdue.signal.aborted) {
        throw new WorkerFailedError(`a task of the pool "${name}" took longer than ${taskMsMax} ms`, { cause: error });
      }
      if (isEndOfThread(error))
        throw new WorkerFailedError(`a thread of the pool "${name}" has ended`, { cause: error });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Does not use Piscina's `close`, which ends starting threads and fails their tasks. */
  async function closePool(): Promise<void> {
    await Promise.allSettled(pending);
    await (await threads)?.destroy();
  }

  return {
    async run(tenant, prepare) {
      if (closing !== null) throw new Error(`the pool "${name}" is closed`);
      const place = places.take(tenant, 1);
      if (place === null) throw new WorkerPoolBusyError(name);
      const task = runInTurn(tenant.accountId, prepare);
      pending.add(task);
      try {
        return (await task) as never;
      } finally {
        pending.delete(task);
        place.release();
      }
    },
    close() {
      closing ??= closePool();
      return closing;
    },
    get running() {
      return slots.running;
    },
    get waiting() {
      return slots.waiting;
    },
  };
}

/** Node has error codes for threads that it ended; Piscina has none for a thread that ended itself. */
function isEndOfThread(error: unknown): boolean {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  return code?.startsWith('ERR_WORKER_') === true || message?.includes('worker exited') === true;
}

/** The bytes that are copied at a time; this takes about 2 ms, including page faults of new memory. */
const COPY_BYTES = 4 * 2 ** 20;

/** Copies bytes into memory that can be transferred to a thread. Long copies let the event loop run in between. */
export async function copyToMove(bytes: Buffer): Promise<ArrayBuffer> {
  const copy = new ArrayBuffer(bytes.length);
  const target = new Uint8Array(copy);
  for (let at = 0; at < bytes.length; at += COPY_BYTES) {
    if (at > 0) await nextTurn();
    target.set(bytes.subarray(at, at + COPY_BYTES), at);
  }
  return copy;
}

/** Returns the memory of the bytes, for transfer to a thread; a copy if other bytes share the memory. */
export async function takeToMove(bytes: Buffer): Promise<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length ? buffer : copyToMove(bytes);
}
