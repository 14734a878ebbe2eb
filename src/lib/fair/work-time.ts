/**
 * Measures the time of a task. Its operations, such as database statements, can be queued behind operations of other tenants. Time during
 * which all its pending operations are queued does not count.
 */
export class WorkTime {
  readonly #nowMs: () => number;
  #pending = 0;
  /** Number of pending operations that are queued. */
  #queued = 0;
  #workedMs = 0;
  #atMs: number;

  /** Starts the measurement now. `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#atMs = nowMs();
  }

  get workedMs(): number {
    this.#settle();
    return this.#workedMs;
  }

  /** Call this when an operation begins. */
  ask(): void {
    this.#settle();
    this.#pending++;
  }

  /** Call this when an operation has ended. */
  end(): void {
    this.#settle();
    this.#pending--;
  }

  /** Call this when a pending operation is queued behind operations of other tenants. */
  wait(): void {
    this.#settle();
    this.#queued++;
  }

  /** Call this when a queued operation starts to run. */
  goOn(): void {
    this.#settle();
    this.#queued--;
  }

  #settle(): void {
    const nowMs = this.#nowMs();
    const isOnlyQueued = this.#queued > 0 && this.#queued >= this.#pending;
    if (!isOnlyQueued) this.#workedMs += nowMs - this.#atMs;
    this.#atMs = nowMs;
  }
}
