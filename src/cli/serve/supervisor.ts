import { ForeseenError } from '../../lib/foreseen-error.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Handlers, ProcessLink } from '../../lib/process-link.ts';
import type { AskedWorker } from '../../telemetry/all-workers.ts';
import { afterDeath, NEW_WORKER, type WorkerHistory } from './restarts.ts';
import type { StopSignal } from './stop-signals.ts';
import { onStopSignal, onWorkerCloses, type StopStage } from './stop-stage.ts';
import type { WorkerServes } from './worker-process.ts';

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ForkedWorker {
  readonly pid: number;
  readonly link: ProcessLink;
  readonly ended: Promise<ProcessEnd>;
  kill(): void;
}

interface SupervisorOptions {
  readonly count: number;
  readonly logger: Logger;
  readonly nowMs: () => number;
  readonly fork: (number: number, handlers: Handlers) => ForkedWorker;
  /** Called when all workers serve. */
  readonly onUp: (workers: readonly RunningWorker[], url: string) => void;
  readonly onLeft: (number: number) => void;
}

interface RunningWorker {
  readonly worker: number;
  readonly process: number;
}

/** A worker and its current process. */
interface Slot {
  readonly number: number;
  process: ForkedWorker | null;
  servesSinceMs: number | null;
  startFailure: string | null;
  history: WorkerHistory;
  restart: NodeJS.Timeout | null;
}

class WorkerStartError extends ForeseenError {}

/** If a worker cannot start, the others have this time to stop before they are killed. */
const GIVE_UP_MS = 10_000;

/**
 * Runs the workers of a gateway: passes signals on, and replaces processes that die (`restarts.ts`). If one of the first processes cannot
 * start, the gateway stops.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #slots: readonly Slot[];
  readonly #ended = Promise.withResolvers<number>();
  #stage: StopStage = 'running';
  #isUp = false;
  #failure: Error | null = null;
  #hasBadEnd = false;
  #givingUp: NodeJS.Timeout | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.count }, (_, index) => ({
      number: index + 1,
      process: null,
      servesSinceMs: null,
      startFailure: null,
      history: NEW_WORKER,
      restart: null,
    }));
  }

  /**
   * Resolves with the exit code when all processes have exited after a signal: 1 if one of them failed.
   *
   * @throws WorkerStartError when all have exited because one could not start
   */
  get ended(): Promise<number> {
    return this.#ended.promise;
  }

  get workers(): readonly AskedWorker[] {
    return this.#slots.map(({ number, process }) => ({ number, link: process?.link ?? null }));
  }

  start(): void {
    for (const slot of this.#slots) this.#begin(slot);
  }

  /** Handles a signal. With the result `ended`, all workers were killed, and this process should exit too. */
  stop(signal: StopSignal): 'passed on' | 'ended' {
    const { stage, act } = onStopSignal(this.#stage, signal);
    if (act === 'end') {
      for (const { process } of this.#slots) process?.kill();
      return 'ended';
    }
    this.#end(stage, signal);
    return 'passed on';
  }

  reload(): void {
    this.#tell('SIGHUP');
  }

  #begin(slot: Slot): void {
    slot.restart = null;
    slot.startFailure = null;
    const forked = this.#options.fork(slot.number, {
      serves: ({ url }: WorkerServes) => this.#serves(slot, url),
      cannotStart: (message: string) => {
        slot.startFailure = message;
      },
      reloads: () => this.reload(),
      closes: () => {
        this.#stage = onWorkerCloses(this.#stage);
      },
    });
    slot.process = forked;
    void forked.ended.then((end) => this.#left(slot, forked, end));
  }

  #serves(slot: Slot, url: string): void {
    const { nowMs, logger, onUp } = this.#options;
    slot.servesSinceMs = nowMs();
    if (this.#isUp) {
      logger.info({ worker: slot.number, process: slot.process?.pid }, 'a worker serves in place of one that has died');
      return;
    }
    if (this.#slots.some(({ servesSinceMs }) => servesSinceMs === null)) return;
    this.#isUp = true;
    const running = this.#slots.map(({ number, process }) => ({ worker: number, process: process!.pid }));
    onUp(running, url);
  }

  #left(slot: Slot, { pid, link }: ForkedWorker, end: ProcessEnd): void {
    const { logger, nowMs, onLeft } = this.#options;
    const { number, servesSinceMs, startFailure } = slot;
    link.close();
    onLeft(number);
    slot.process = null;
    slot.servesSinceMs = null;
    const details = { worker: number, process: pid, code: end.code, signal: end.signal };
    if (this.#stage !== 'running') {
      if (end.code !== 0 && this.#failure === null) {
        this.#hasBadEnd = true;
        logger.error(details, 'a worker failed while it stopped');
      }
      this.#settle();
      return;
    }
    const isStart = servesSinceMs === null;
    const failure = startFailure ?? `Worker ${number} exited while it started: ${describeEnd(end)}.`;
    const death = isStart ? 'before-it-served' : { servedMs: nowMs() - servesSinceMs };
    const { history, afterMs } = afterDeath(slot.history, death);
    slot.history = history;
    if (isStart && (!this.#isUp || afterMs === null)) {
      this.#giveUp(new WorkerStartError(failure));
      return;
    }
    const pauseMs = afterMs ?? 0;
    if (isStart) logger.error({ ...details, pauseMs, failure }, 'a worker failed to start; retrying');
    else logger.error({ ...details, pauseMs }, 'a worker has died; restarting it');
    slot.restart = setTimeout(() => this.#begin(slot), pauseMs);
  }

  #giveUp(error: Error): void {
    this.#failure = error;
    if (!this.#isUp) {
      this.#givingUp = setTimeout(() => {
        for (const { process } of this.#slots) process?.kill();
      }, GIVE_UP_MS);
    }
    this.#end('closing', 'SIGINT');
  }

  #end(stage: StopStage, signal: StopSignal): void {
    this.#stage = stage;
    for (const slot of this.#slots) {
      if (slot.restart !== null) clearTimeout(slot.restart);
      slot.restart = null;
    }
    this.#tell(signal);
    this.#settle();
  }

  #tell(signal: string): void {
    for (const { process } of this.#slots) process?.link.tell('signal', signal);
  }

  #settle(): void {
    if (this.#slots.some(({ process }) => process !== null)) return;
    if (this.#givingUp !== null) clearTimeout(this.#givingUp);
    if (this.#failure === null) this.#ended.resolve(this.#hasBadEnd ? 1 : 0);
    else this.#ended.reject(this.#failure);
  }
}

function describeEnd({ code, signal }: ProcessEnd): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
