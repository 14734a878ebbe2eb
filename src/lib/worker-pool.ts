import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Piscina } from 'piscina';
import { FairSlots } from './fair/fair-slots.ts';
import { Shares, type Tenant } from './fair/shares.ts';
import { NamedError } from './named-error.ts';

export interface WorkerPoolOptions {
  /** File of a module that exports `run`. */
  readonly file: string;
  readonly name: string;
  readonly threadsMax: number;
  /** Maximum number of waiting and running tasks, of all accounts together. */
  readonly placesMax: number;
  /** Time limit of a task, including the start of its thread. */
  readonly taskMsMax: number;
  /** Heap limit of a thread in MiB, without its buffers. */
  readonly heapMiBMax: number;
  /** After this time without a task, a thread exits. */
  readonly idleMs: number;
}

/** Maximum size of a thread's young generation. By default it takes up to 128 MiB, and an idle thread keeps them. */
const YOUNG_MIB_MAX = 48;

/** A message to a thread. The memory in `moved` is transferred, so the sender can no longer use it. */
interface WorkerMessage<Task> {
  readonly task: Task;
  readonly moved: readonly ArrayBuffer[];
}

/**
 * Threads for work that would block the thread that serves calls. Accounts are served in turn, and share the queue.
 *
 * If a task exceeds its time or memory limit, only its thread is terminated, and the caller gets an error. However, the whole process dies
 * if the heap overflows by more than 16 MiB before that, or within one call of the engine, such as `JSON.parse` of 64 MiB of `{},`. A task
 * must therefore check its input before it creates values from it.
 */
export interface WorkerPool {
  /**
   * @param prepare creates the message when the task can run, so that a waiting task needs no memory
   * @throws WorkerPoolBusyError if the account gets no place in the queue, WorkerFailedError if the thread failed or was terminated, and
   * errors of the task
   */
  run<Task, Result>(tenant: Tenant, prepare: () => WorkerMessage<Task> | Promise<WorkerMessage<Task>>): Promise<Result>;
  /** Waits for pending tasks, then terminates the threads. Later tasks are refused. */
  close(): Promise<void>;
  readonly running: number;
  readonly waiting: number;
}

/** Too many tasks wait. The caller can try again. */
export class WorkerPoolBusyError extends NamedError {
  constructor(name: string) {
    super(`too many tasks are waiting for a thread of the pool "${name}"`);
  }
}

/** The thread failed, or it was terminated because of the time limit or the heap limit. */
export class WorkerFailedError extends NamedError {}

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { file, name, threadsMax, placesMax, taskMsMax, heapMiBMax, idleMs } = options;
  /** The threads are created for the first task, because many gateways never run one. */
  let threads: Promise<Piscina> | null = null;
  const places = new Shares(placesMax);
  const pending = new Set<Promise<unknown>>();
  /** Tasks wait here, because the thread library starts threads only when a task is added: after a crash, its own queue might never run. */
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
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax, maxYoungGenerationSizeMb: YOUNG_MIB_MAX },
    });
    // A thread that dies without a task does no harm. Without a listener, the event would end the process.
    made.on('error', () => {});
    return made;
  }

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
      // Aborting the task terminates its thread.
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

  /** Piscina's own `close` is not used: it terminates threads that are starting, and so fails their tasks. */
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

/** Whether a thread has ended. For threads that it terminated, Node has error codes; for one that ended itself, Piscina has none. */
function isEndOfThread(error: unknown): boolean {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  return code?.startsWith('ERR_WORKER_') === true || message?.includes('worker exited') === true;
}

/** Bytes that are copied at a time. This takes about 2 ms, with page faults of new memory. */
const COPY_BYTES = 4 * 2 ** 20;

/** Copies bytes into memory that can be transferred to a thread. The event loop runs between parts of a long copy. */
export async function copyToMove(bytes: Buffer): Promise<ArrayBuffer> {
  const copy = new ArrayBuffer(bytes.length);
  const target = new Uint8Array(copy);
  for (let at = 0; at < bytes.length; at += COPY_BYTES) {
    if (at > 0) await nextTurn();
    target.set(bytes.subarray(at, at + COPY_BYTES), at);
  }
  return copy;
}

export async function takeToMove(bytes: Buffer): Promise<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length ? buffer : copyToMove(bytes);
}
