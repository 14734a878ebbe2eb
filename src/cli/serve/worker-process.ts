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

/** Says which of how many workers a process is, such as `2/4`. The primary sets it. */
export const WORKER_VARIABLE = 'FAREGATE_WORKER';
/** The admin token of the command line of this machine, which all workers take. The primary sets it. */
export const WORKER_TOKEN_VARIABLE = 'FAREGATE_WORKER_TOKEN';

/** Where a worker serves, for the primary. */
export interface WorkerServes {
  readonly url: string;
  readonly nodeId: string;
}

type LogFormat = Config['log']['format'];

/** What the primary asks of a worker once it is wired. */
interface WorkerOwn {
  readonly report: () => Promise<MetricsReport>;
  readonly readReadiness: () => Promise<Readiness>;
}

export type WorkerProcess = ReturnType<typeof createWorkerProcess>;

/** The worker that this process is; `null` if it is none. */
export function thisWorker(environment: Environment): WorkerProcess | null {
  const named = /^(\d+)\/(\d+)$/.exec(environment[WORKER_VARIABLE] ?? '');
  if (!cluster.isWorker || cluster.worker === undefined || named === null) return null;
  const part = { index: Number(named[1]) - 1, count: Number(named[2]) };
  return createWorkerProcess(part, environment[WORKER_TOKEN_VARIABLE] ?? null);
}

/** The side of a worker: what it hears from the primary, and what it says. */
function createWorkerProcess(part: Part, localToken: string | null) {
  const signals = new EventEmitter();
  let own: WorkerOwn | null = null;
  // Without it the process would end with its calls at once if the primary is gone.
  cluster.worker!.exitedAfterDisconnect = true;
  // A terminal and a service manager signal every process of a gateway, and the primary passes signals on: each would come twice.
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
    /** From 1, for logs and people. */
    number: part.index + 1,
    /** The signals that the primary passes on, and SIGINT if the primary is gone: then no new connection comes. */
    signals,
    options: {
      part,
      guesses: guessesAt(primary),
      scrapeAll: () => primary.ask<MetricsText>('scrape'),
      readReadiness: () => primary.ask<Readiness>('readiness'),
    } satisfies WorkerOptions,
    /** From now on the primary can ask. */
    isWired(wired: WorkerOwn): void {
      own = wired;
    },
    serves: (where: WorkerServes) => primary.tell('serves', where),
    /** It cannot start. `message`: for people. */
    cannotStart: (message: string) => primary.tell('cannotStart', message),
    /** From now on the log has this format: that of the primary, too. */
    logsAs: (format: LogFormat) => primary.tell('logsAs', format),
    /** It finishes what is under way, and takes nothing new. */
    closes: () => primary.tell('closes'),
    /** Lets the process end. */
    leave(): void {
      if (process.connected) process.disconnect();
    },
  };
}
