export type StopSignal = 'SIGTERM' | 'SIGINT';

export const STOP_SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT'];

interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

/**
 * Handles the signals that stop a gateway:
 *
 *     starting or serving ──first signal──▶ delaying ──another signal, or the delay ends──▶ closing ──signal──▶ killed
 *
 * Only SIGTERM has the delay: service managers send it, and load balancers in front of the gateway need time to notice. SIGINT comes from a
 * terminal.
 */
export class StopSignals {
  readonly first: Promise<StopSignal>;
  /** Aborted by the first signal, to cancel a start. */
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

  /** Resolves after the time, or at the next signal. */
  delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onFurther = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Stops handling signals, so that the next one kills the process. */
  letGo(): void {
    for (const [signal, listener] of this.#listeners) this.#source.off(signal, listener);
  }
}

export class StoppedError extends Error {
  constructor() {
    super('A signal cancelled the start.');
    this.name = 'StoppedError';
  }
}
