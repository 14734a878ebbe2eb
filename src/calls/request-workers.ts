import { availableParallelism } from 'node:os';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Tenant } from '../lib/fair/shares.ts';
import { moduleFile } from '../lib/files/module-file.ts';
import { defaultJsonScanLimits, JsonStepsError } from '../lib/json/json-scan.ts';
import type { Soon } from '../lib/soon.ts';
import { copyToMove, createWorkerPool, takeToMove, type WorkerPool, WorkerPoolBusyError } from '../lib/worker-pool.ts';
import { jsonOperationOf } from '../protocols/operations/all.ts';
import type { Estimate } from '../protocols/operations/estimate.ts';
import type { JsonOperation, RequestFacts } from '../protocols/operations/operation.ts';
import type { MemberParameters } from '../protocols/parameters/parameters.ts';
import type { Count } from '../protocols/token-estimate/budgets.ts';
import type { BodyKind } from '../protocols/token-estimate/count-body.ts';
import { AnswerError } from '../protocols/translation/answer.ts';
import type { TranslationTarget } from '../protocols/translation/translated-request.ts';
import type { Estimated, ReadBody, Refusal, RequestTask, TranslatedAnswer } from './request-worker.ts';
import { type Rewritten, rewritten } from './rewritten.ts';
import {
  type AskedTranslation,
  type Translated,
  translated,
  translatedAnswer,
  type WholeAnswer,
} from './translated.ts';

export interface ReadRequest {
  readonly facts: RequestFacts;
  /** The body, with the same bytes but possibly in other memory. */
  readonly body: Buffer;
}

export interface PoolTasks {
  readonly pool: 'quick' | 'slow';
  readonly running: number;
  readonly waiting: number;
}

export interface RequestWorkersOptions {
  readonly file?: string;
  readonly quickThreadsMax?: number;
  readonly placesMax?: number;
  readonly taskMsMax?: number;
  readonly heapMiBMax?: number;
  readonly idleMs?: number;
}

const KIB = 2 ** 10;
const MIB = 2 ** 20;

/**
 * Maximum size of a body that is read in the serving thread (`here`) or in a quick thread (`quick`). So a body blocks the serving thread
 * for at most 4 to 9 ms, and a quick thread for at most 60 to 150 ms. Scanning takes at most 60 ns per byte, or 140 ns if every name is
 * escaped. Parsing and checking takes at most 250 ns. Common text takes 1 to 10 ns.
 */
const READING_BYTES_MAX: Readonly<Record<JsonOperation['reading'], { readonly here: number; readonly quick: number }>> =
  {
    scans: { here: 64 * KIB, quick: MIB },
    parses: { here: 16 * KIB, quick: 256 * KIB },
  };
/**
 * Bodies up to this size are first scanned in the serving thread, with a limit of steps. If one exceeds the limit, another thread starts
 * anew. Agents' prompts are some hundred KB of text with few values: moving them to another thread and back takes longer than scanning
 * them. The worst body takes 5 ms.
 */
const TRIED_HERE = { sizeBytesMax: 512 * KIB, limits: { ...defaultJsonScanLimits, stepsMax: 32_768 } } as const;
/** Maximum size of a body whose tokens the quick threads count. The slow thread counts larger ones; the serving thread counts none. */
const QUICK_COUNT_BYTES_MAX = 256 * KIB;

/** Maximum size of a body that is translated in the serving thread. Translating decodes and writes all text. */
const TRANSLATED_HERE_BYTES_MAX = 16 * KIB;
const QUICK_TRANSLATION_BYTES_MAX = MIB;
/** Maximum size of a whole answer that is translated in the serving thread. Most are smaller. */
const ANSWERED_HERE_BYTES_MAX = 64 * KIB;

/** One core is left for the serving thread. The single slow thread is mostly idle. */
export const QUICK_THREADS_MAX = Math.max(1, Math.min(2, availableParallelism() - 1));
const SLOW_THREADS_MAX = 1;
/** Maximum number of tasks in each pool. Their bodies have a separate memory budget. */
export const PLACES_MAX = 256;
/** Time limit of a task: ten times the duration of the worst body of 64 MiB on a busy machine. */
const TASK_MS_MAX = 30_000;
/** Heap limit of a thread: twice the need of the worst body of 64 MiB within the limits of `scanJson`. */
const HEAP_MIB_MAX = 1_024;
const IDLE_MS = 300_000;
/** Waiting tasks take a few seconds at most. */
const RETRY_AFTER_SECONDS = '2';

const WORKER_FILE = moduleFile('./request-worker', import.meta.url);

function tasksOf(pool: PoolTasks['pool'], { running, waiting }: WorkerPool): PoolTasks {
  return { pool, running, waiting };
}

/** Reads a body in the serving thread; `null` if it takes too many steps. @throws GatewayError as `JsonOperation.read` */
function tryHere(operation: JsonOperation, body: Buffer): RequestFacts | null {
  if (body.length > TRIED_HERE.sizeBytesMax) return null;
  try {
    return operation.read(body, TRIED_HERE.limits);
  } catch (error) {
    if (error instanceof JsonStepsError) return null;
    throw error;
  }
}

export type RequestWorkers = ReturnType<typeof createRequestWorkers>;

/**
 * Reads request bodies and counts their tokens without blocking the serving thread: larger bodies are processed in other threads (decision
 * 16) with limits of time and memory. All methods reject or throw `GatewayError`: the refusal of the body, or `overloaded` if too many
 * bodies of the account wait.
 */
export function createRequestWorkers(options: RequestWorkersOptions = {}) {
  const pool = (name: string, threadsMax: number): WorkerPool =>
    createWorkerPool({
      file: options.file ?? WORKER_FILE,
      name,
      threadsMax,
      placesMax: options.placesMax ?? PLACES_MAX,
      taskMsMax: options.taskMsMax ?? TASK_MS_MAX,
      heapMiBMax: options.heapMiBMax ?? HEAP_MIB_MAX,
      idleMs: options.idleMs ?? IDLE_MS,
    });
  // There are two pools, so that short tasks never wait for long ones.
  const quick = pool('quick', options.quickThreadsMax ?? QUICK_THREADS_MAX);
  const slow = pool('slow', SLOW_THREADS_MAX);

  async function run<Result extends object>(
    tenant: Tenant,
    isQuick: boolean,
    body: () => Promise<ArrayBuffer>,
    toTask: (body: ArrayBuffer) => RequestTask,
  ): Promise<Result> {
    const done = await (isQuick ? quick : slow)
      .run<RequestTask, Result | Refusal>(tenant, async () => {
        const buffer = await body();
        return { task: toTask(buffer), moved: [buffer] };
      })
      .catch((error: unknown) => {
        throw error instanceof WorkerPoolBusyError
          ? new GatewayError('overloaded', { headers: { 'retry-after': RETRY_AFTER_SECONDS }, cause: error })
          : error;
      });
    if ('refusal' in done) throw new GatewayError(done.refusal.kind, done.refusal.options);
    return done;
  }

  async function readElsewhere(
    operation: JsonOperation,
    body: Buffer,
    isQuick: boolean,
    tenant: Tenant,
  ): Promise<ReadRequest> {
    const { name } = jsonOperationOf(operation.name);
    const read = await run<ReadBody>(
      tenant,
      isQuick,
      () => takeToMove(body),
      (buffer) => ({ does: 'read', operation: name, body: buffer }),
    );
    return { facts: read.facts, body: Buffer.from(read.body) };
  }

  return {
    /** Reads and checks a body. It may move to another thread, so use only the returned `body` afterwards. */
    read(operation: JsonOperation, body: Buffer, tenant: Tenant): Soon<ReadRequest> {
      const sizes = READING_BYTES_MAX[operation.reading];
      if (body.length <= sizes.here) return { facts: operation.read(body), body };
      const triedFacts = operation.reading === 'scans' ? tryHere(operation, body) : null;
      if (triedFacts !== null) return { facts: triedFacts, body };
      return readElsewhere(operation, body, body.length <= sizes.quick, tenant);
    },
    /** Estimates the tokens of a body. Do not use `body` afterwards. */
    estimate(kind: Estimate['kind'], body: Buffer, tenant: Tenant): Promise<Estimated> {
      return run(
        tenant,
        body.length <= QUICK_COUNT_BYTES_MAX,
        () => takeToMove(body),
        (buffer) => ({ does: 'estimate', kind, body: buffer }),
      );
    },
    /** Counts the tokens of a body that was read before. It must not change until the promise settles. */
    count(kind: BodyKind, body: Buffer, tenant: Tenant): Promise<Count> {
      return run(
        tenant,
        body.length <= QUICK_COUNT_BYTES_MAX,
        () => copyToMove(body),
        (buffer) => ({ does: 'count', kind, body: buffer }),
      );
    },
    /** Applies the parameters of a route to a body that was read before. It must not change until the promise settles. */
    rewrite(operation: string, body: Buffer, parameters: readonly MemberParameters[], tenant: Tenant): Soon<Rewritten> {
      const { name, reading } = jsonOperationOf(operation);
      const sizes = READING_BYTES_MAX[reading];
      if (body.length <= sizes.here) return rewritten(name, body, parameters);
      return run(
        tenant,
        body.length <= sizes.quick,
        () => copyToMove(body),
        (buffer) => ({ does: 'rewrite', operation: name, parameters, body: buffer }),
      );
    },
    /** Translates a body that was read before. It must not change until the promise settles. */
    translate(asked: AskedTranslation, body: Buffer, target: TranslationTarget, tenant: Tenant): Soon<Translated> {
      if (body.length <= TRANSLATED_HERE_BYTES_MAX) return translated(asked, body, target);
      return run(
        tenant,
        body.length <= QUICK_TRANSLATION_BYTES_MAX,
        () => copyToMove(body),
        (buffer) => ({ does: 'translate', asked, target, body: buffer }),
      );
    },
    /**
     * Translates a whole answer. It may move to another thread, so do not use `answer` afterwards.
     * @throws AnswerError or JsonSyntaxError, or rejects with AnswerError, if it cannot be expressed
     */
    translateAnswer(whole: WholeAnswer, answer: Buffer, tenant: Tenant): Soon<Buffer> {
      if (answer.length <= ANSWERED_HERE_BYTES_MAX) return translatedAnswer(whole, answer);
      return run<TranslatedAnswer>(
        tenant,
        answer.length <= QUICK_TRANSLATION_BYTES_MAX,
        () => takeToMove(answer),
        (buffer) => ({ does: 'answer', whole, body: buffer }),
      ).then((done) => {
        if ('failure' in done) throw new AnswerError(done.failure);
        return Buffer.from(done.answer);
      });
    },
    async close(): Promise<void> {
      await Promise.all([quick.close(), slow.close()]);
    },
    get tasks(): readonly PoolTasks[] {
      return [tasksOf('quick', quick), tasksOf('slow', slow)];
    },
  };
}
