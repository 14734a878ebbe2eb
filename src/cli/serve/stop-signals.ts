/** How an operator, or whatever runs the process, stops a gateway. */
export type StopSignal = 'SIGTERM' | 'SIGINT';

export const STOP_SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT'];

/** The part of `process` that tells of signals. */
interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

/**
 * Listens to the signals that stop a gateway:
 *
 *     starting or serving ──first signal──▶ delaying ──further signal, or the delay is over──▶ closing ──signal──▶ ended at once
 *
 * The delay is that of `delay`, which a SIGTERM alone has: it comes from service managers, behind load balancers that have to
 * notice first. SIGINT comes from somebody at a terminal.
 */
export class StopSignals {
  /** Resolves with the first signal. */
  readonly first: Promise<StopSignal>;
  /** Aborted by the first signal: ends what the start waits for. */
  readonly begun: AbortSignal;
  readonly #source: SignalSource;
  readonly #listeners: (readonly [StopSignal, () => void])[];
  #onFurther: () => void = () => undefined;

  constructor(source: SignalSource) {
    this.#source = source;
    const { promise, resolve } = Promise.withResolvers<StopSignal>();
    const controller = new AbortController();
    this.first = promise;
    this.begun = controller.signal;
    this.#listeners = STOP_SIGNALS.map((signal) => [
      signal,
      () => {
        if (controller.signal.aborted) this.#onFurther();
        resolve(signal);
        controller.abort(new StoppedError());
      },
    ]);
    for (const [signal, listener] of this.#listeners) source.on(signal, listener);
  }

  /** Resolves after that time, or with a further signal. */
  delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onFurther = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** From now on a signal ends the process at once, as it does with every program. */
  letGo(): void {
    for (const [signal, listener] of this.#listeners) this.#source.off(signal, listener);
  }
}

/** The process was told to stop while it started. */
export class StoppedError extends Error {
  constructor() {
    super('The start was stopped by a signal.');
    this.name = 'StoppedError';
  }
}
