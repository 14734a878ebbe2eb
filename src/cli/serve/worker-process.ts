import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { WorkerOptions } from '../../app/gateway-options.ts';
import { guessesAt } from '../../app/guesses.ts';
import type { Environment } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Readiness } from '../../http/health.ts';
import type { Part } from '../../lib/part.ts';
import { ProcessLink } from '../../lib/process-link.ts';
import type { MetricsReport, MetricsText } from '../../telemetry/summed-metrics.ts';

/** Variable with the number of the worker and of all workers, such as `2/4`. The primary sets it. */
export const WORKER_VARIABLE = 'FAREGATE_WORKER';
/** Variable with the admin token for command lines on this machine, the same for all workers. The primary sets it. */
export const WORKER_TOKEN_VARIABLE = 'FAREGATE_WORKER_TOKEN';

export interface WorkerServes {
  readonly url: string;
  readonly nodeId: string;
}

type LogFormat = Config['log']['format'];

/** Requests of the primary to this worker. */
interface WorkerOwn {
  readonly report: () => Promise<MetricsReport>;
  readonly readReadiness: () => Promise<Readiness>;
}

export type WorkerProcess = ReturnType<typeof createWorkerProcess>;

/** Returns this worker; `null` if this process is none. */
export function thisWorker(environment: Environment): WorkerProcess | null {
  const named = /^(\d+)\/(\d+)$/.exec(environment[WORKER_VARIABLE] ?? '');
  if (!cluster.isWorker || cluster.worker === undefined || named === null) return null;
  const part = { index: Number(named[1]) - 1, count: Number(named[2]) };
  return createWorkerProcess(part, environment[WORKER_TOKEN_VARIABLE] ?? null);
}

function createWorkerProcess(part: Part, localToken: string | null) {
  const signals = new EventEmitter();
  let own: WorkerOwn | null = null;
  // Keeps this process alive if the primary dies. By default it would exit at once, with calls in flight.
  cluster.worker!.exitedAfterDisconnect = true;
  // Terminals and service managers send signals to all processes, and the primary passes them on, so each would arrive twice.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  const channel = {
    send: (message: object, done: (error: Error | null) => void) => process.send!(message, undefined, {}, done),
    on: (event: 'message', listener: (message: unknown) => void) => process.on(event, listener),
  };
  const primary = new ProcessLink(channel, {
    signal: (signal: string) => void signals.emit(signal),
    report: () => own?.report() ?? [],
    readiness: () => own?.readReadiness() ?? { isReady: false, detail: [] },
  });
  process.once('disconnect', () => {
    primary.close();
    signals.emit('SIGINT');
  });
  return {
    part,
    localToken,
    /** Number of the worker, from 1. */
    number: part.index + 1,
    /** Emits the primary's signals, and SIGINT if the primary dies, because no new connections arrive after that. */
    signals,
    options: {
      part,
      guesses: guessesAt(primary),
      scrapeAll: () => primary.ask<MetricsText>('scrape'),
      readReadiness: () => primary.ask<Readiness>('readiness'),
    } satisfies WorkerOptions,
    isWired(wired: WorkerOwn): void {
      own = wired;
    },
    serves: (where: WorkerServes) => primary.tell('serves', where),
    cannotStart: (message: string) => primary.tell('cannotStart', message),
    logsAs: (format: LogFormat) => primary.tell('logsAs', format),
    /** Makes all workers reload the configuration. */
    reloads: () => primary.tell('reloads'),
    /** Tells the primary that this worker accepts no new calls any more. */
    closes: () => primary.tell('closes'),
    leave(): void {
      if (process.connected) process.disconnect();
    },
  };
}
