/**
 * Measures the time of a task, without the time in which all its pending operations, such as database statements, are queued behind those
 * of other tenants.
 */
export class WorkTime {
  readonly #nowMs: () => number;
  #pending = 0;
  #queued = 0;
  #workedMs = 0;
  #atMs: number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#atMs = nowMs();
  }

  get workedMs(): number {
    this.#settle();
    return this.#workedMs;
  }

  /** Call this when an operation begins, and `end` when it has ended. */
  ask(): void {
    this.#settle();
    this.#pending++;
  }

  end(): void {
    this.#settle();
    this.#pending--;
  }

  /** Call this when a pending operation is queued, and `goOn` when it starts to run. */
  wait(): void {
    this.#settle();
    this.#queued++;
  }

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
