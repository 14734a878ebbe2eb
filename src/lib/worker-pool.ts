import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Piscina } from 'piscina';
import { FairSlots } from './fair/fair-slots.ts';
import { type ShareHolder, Shares } from './fair/shares.ts';
import { NamedError } from './named-error.ts';

export interface WorkerPoolOptions {
  /** The file whose function `run` the threads run. */
  readonly file: string;
  readonly name: string;
  readonly threadsMax: number;
  /** Tasks that may be under way at once, waiting or running, of all accounts. */
  readonly placesMax: number;
  /** How long a task may run, the start of its thread included. */
  readonly taskMsMax: number;
  /** The heap of a thread. What a task keeps in buffers does not count. */
  readonly heapMiBMax: number;
  /** How long a thread stays without work. */
  readonly idleMs: number;
}

/** A message to a thread. The sender can no longer use the memory in `moved`. */
interface WorkerMessage<Task> {
  readonly task: Task;
  readonly moved: readonly ArrayBuffer[];
}

/**
 * Threads for work that would block the thread that serves calls. Accounts take turns, and share the places for waiting
 * tasks.
 *
 * A task that takes longer than it may, or more memory, ends its thread and nothing else: its caller gets an error, the next
 * task a new thread. A heap that overflows inside of a single call of the engine, such as `JSON.parse` of 64 MiB of `{},`, or
 * by more than 16 MiB before the thread has ended, would end the process: so a task must know that its input is harmless
 * before it makes values of it.
 */
export interface WorkerPool {
  /**
   * Runs a task.
   *
   * @param prepare Called when the task has its turn, so that waiting tasks need no memory.
   * @throws WorkerPoolBusyError if there is no place for this account now, WorkerFailedError where the thread has ended,
   * and whatever the task throws.
   */
  run<Task, Result>(
    holder: ShareHolder,
    prepare: () => WorkerMessage<Task> | Promise<WorkerMessage<Task>>,
  ): Promise<Result>;
  /** Waits for the tasks under way and ends the threads. Later tasks are refused. */
  close(): Promise<void>;
  readonly running: number;
  readonly waiting: number;
}

/** Too many tasks wait. The task itself is not at fault: it may be run again. */
export class WorkerPoolBusyError extends NamedError {
  constructor(name: string) {
    super(`too many tasks wait for the threads of the pool "${name}"`);
  }
}

/** The thread of the task has ended: by the limit of time, by that of its heap, or because it failed. */
export class WorkerFailedError extends NamedError {}

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { file, name, threadsMax, placesMax, taskMsMax, heapMiBMax, idleMs } = options;
  /** Made with the first task: many a gateway has none. */
  let threads: Promise<Piscina> | null = null;
  const places = new Shares(placesMax);
  const underWay = new Set<Promise<unknown>>();
  /**
   * Tasks wait here and not in the queue of the threads: a thread is started only when there is a task for it, so a
   * thread that died would leave waiting tasks without a result.
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
    // A thread that died without a task fails no caller; without a listener, the event would end the process.
    made.on('error', () => {});
    return made;
  }

  /** A failure is that of the tasks that wait for it; the next one tries again. */
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

  /** Not the threads' own `close`, which ends a thread that is still starting and fails what waits for it. */
  async function closePool(): Promise<void> {
    await Promise.allSettled(underWay);
    await (await threads)?.destroy();
  }

  return {
    async run(holder, prepare) {
      if (closing !== null) throw new Error(`the pool "${name}" is closed`);
      const place = places.take(holder, 1);
      if (place === null) throw new WorkerPoolBusyError(name);
      const task = runInTurn(holder.accountId, prepare);
      underWay.add(task);
      try {
        return (await task) as never;
      } finally {
        underWay.delete(task);
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

/** Node names what has ended a thread by codes of its own; the library has no code for a thread that ended itself. */
function isEndOfThread(error: unknown): boolean {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  return code?.startsWith('ERR_WORKER_') === true || message?.includes('worker exited') === true;
}

/** The bytes that are copied at a time, which takes about 2 ms with the pages that are touched for the first time. */
const COPY_BYTES = 4 * 2 ** 20;

/** A copy that can be moved to another thread. Large ones are copied in steps, with other work between. */
export async function copyToMove(bytes: Buffer): Promise<ArrayBuffer> {
  const copy = new ArrayBuffer(bytes.length);
  const target = new Uint8Array(copy);
  for (let at = 0; at < bytes.length; at += COPY_BYTES) {
    if (at > 0) await nextTurn();
    target.set(bytes.subarray(at, at + COPY_BYTES), at);
  }
  return copy;
}

/** The memory of the bytes, to be moved to another thread; a copy if it is shared with other bytes. */
export async function takeToMove(bytes: Buffer): Promise<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length ? buffer : copyToMove(bytes);
}
