import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Count } from './budgets.ts';
import type { BodyKind } from './count-body.ts';
import type { CountTask } from './worker.ts';

/** Goes out in the header `x-gateway-token-estimate` (contract 4.4). */
export const ESTIMATOR_VERSION = 'o200k-heuristic-v2';

/**
 * Counts the input tokens of bodies without a provider: visible text by the o200k vocabulary, and budgets for structure,
 * images and files. `totalTokens` makes the estimate of it.
 *
 * Every body is counted in a worker thread, the smallest too: reading the vocabulary takes 130 ms, for which the thread
 * that serves calls must never be held, and a warm worker answers a small body in 0.1 ms. Measured with
 * `bench/token-estimate.ts` on two shared cores: 4 MiB bodies back to back take 120 ms each and the event loop's delay is
 * 1.7 ms at p99, 1.2 ms without them. The first estimate starts a thread and waits for it, 0.35 s; a thread that had no
 * work for a while ends, and with it go its 65 MB.
 */
export interface TokenEstimator<Result = Count> {
  /**
   * @param body It is read until the promise settles, and left as it is.
   * @returns What the worker answers.
   * @throws EstimatorBusyError where too much is waiting already, and what the worker throws.
   */
  count(kind: BodyKind, body: Buffer): Promise<Result>;
  /** Waits for the estimates under way and ends the threads. Later estimates are refused. */
  close(): Promise<void>;
}

export interface TokenEstimatorOptions {
  readonly threadsMax?: number;
  /** Bodies that may be under way at once, waiting or being counted. */
  readonly bodiesMax?: number;
  /** Their sizes together, in bytes. One body alone may be larger. */
  readonly bodyBytesMax?: number;
  /** How long a thread stays without work. */
  readonly idleMs?: number;
  /** What a thread runs instead of `worker.ts`, which takes bodies that are known to be JSON. */
  readonly workerFile?: string;
}

/** Too many bodies, or too large ones, wait to be counted. Nothing is wrong with this one: it may be sent again. */
export class EstimatorBusyError extends Error {
  constructor() {
    super('too many token estimates are waiting');
    this.name = 'EstimatorBusyError';
  }
}

/** One of two cores is left to the thread that serves calls. */
const THREADS_MAX = Math.max(1, Math.min(2, availableParallelism() - 1));
/** At 20 MB of text a second about 3 s of work. */
const BODIES_MAX = 256;
const BODY_BYTES_MAX = 64 * 2 ** 20;
const IDLE_MS = 300_000;
/** Several times what a body of 64 MiB takes, whatever is in it: `VALUES_MAX` bounds the rest. */
const HEAP_MIB_MAX = 1_024;

const WORKER_FILE = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));

export function createTokenEstimator<Result = Count>(options: TokenEstimatorOptions = {}): TokenEstimator<Result> {
  const { threadsMax = THREADS_MAX, bodiesMax = BODIES_MAX, bodyBytesMax = BODY_BYTES_MAX, idleMs = IDLE_MS } = options;
  const pool = new Piscina<CountTask, Result>({
    filename: options.workerFile ?? WORKER_FILE,
    name: 'count',
    minThreads: 0,
    maxThreads: threadsMax,
    idleTimeout: idleMs,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
  });
  // A thread that died without a body has failed nobody; unheard, the event would end the process.
  pool.on('error', () => {});
  const underWay = new Set<Promise<Result>>();
  const waiting: (() => void)[] = [];
  let running = 0;
  let bodyBytes = 0;
  let closing: Promise<void> | null = null;

  /**
   * Bodies wait here and not in the pool's queue: the pool starts a thread only when it is given a body, so one that died
   * would leave what waits behind it without an answer. They also wait uncopied.
   */
  async function countInTurn(kind: BodyKind, body: Buffer): Promise<Result> {
    if (running < threadsMax) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      const copy = copyBytes(body);
      return await pool.run({ kind, body: copy }, { transferList: [copy] });
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  /** Not the pool's own `close`, which ends a thread that is still starting and fails what waits for it. */
  async function closePool(): Promise<void> {
    await Promise.allSettled(underWay);
    await pool.destroy();
  }

  return {
    async count(kind, body) {
      if (closing !== null) throw new Error('the token estimator is closed');
      const isOverfull = underWay.size > 0 && bodyBytes + body.length > bodyBytesMax;
      if (underWay.size >= bodiesMax || isOverfull) throw new EstimatorBusyError();
      const counting = countInTurn(kind, body);
      underWay.add(counting);
      bodyBytes += body.length;
      try {
        return await counting;
      } finally {
        underWay.delete(counting);
        bodyBytes -= body.length;
      }
    },
    close() {
      closing ??= closePool();
      return closing;
    },
  };
}

/** A buffer of its own, which can be handed to another thread; a body may be a slice of one that others use. */
function copyBytes(body: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(body.length);
  new Uint8Array(copy).set(body);
  return copy;
}
