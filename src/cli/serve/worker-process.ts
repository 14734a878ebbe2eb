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

/** Number of the worker and number of workers, such as `2/4`. Set by the primary. */
export const WORKER_VARIABLE = 'FAREGATE_WORKER';
/** The admin token for command lines on this machine, the same for all workers. Set by the primary. */
export const WORKER_TOKEN_VARIABLE = 'FAREGATE_WORKER_TOKEN';

export interface WorkerServes {
  readonly url: string;
  readonly nodeId: string;
}

type LogFormat = Config['log']['format'];

/** What the primary requests. */
interface WorkerOwn {
  readonly report: () => Promise<MetricsReport>;
  readonly readReadiness: () => Promise<Readiness>;
}

export type WorkerProcess = ReturnType<typeof createWorkerProcess>;

/** `null` if this process is not a worker. */
export function thisWorker(environment: Environment): WorkerProcess | null {
  const named = /^(\d+)\/(\d+)$/.exec(environment[WORKER_VARIABLE] ?? '');
  if (!cluster.isWorker || cluster.worker === undefined || named === null) return null;
  const part = { index: Number(named[1]) - 1, count: Number(named[2]) };
  return createWorkerProcess(part, environment[WORKER_TOKEN_VARIABLE] ?? null);
}

function createWorkerProcess(part: Part, localToken: string | null) {
  const signals = new EventEmitter();
  let own: WorkerOwn | null = null;
  // Without this, the process would exit at once, with calls in flight, if the primary dies.
  cluster.worker!.exitedAfterDisconnect = true;
  // Terminals and service managers signal all processes, and the primary passes signals on, so each signal would arrive twice.
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
    /** Counts from 1. */
    number: part.index + 1,
    /** Emits the signals from the primary, and SIGINT if the primary dies, because no new connections arrive after that. */
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
    /** No new calls are accepted from now on. */
    closes: () => primary.tell('closes'),
    leave(): void {
      if (process.connected) process.disconnect();
    },
  };
}
