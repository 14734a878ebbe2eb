/**
 * Measures how long a task works. Time does not count while all pending operations of the task, such as database statements, are queued
 * behind those of other tenants.
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

  /** Call this when an operation begins, and `end` when it ends. */
  ask(): void {
    this.#settle();
    this.#pending++;
  }

  end(): void {
    this.#settle();
    this.#pending--;
  }

  /** Call this when an operation must wait in a queue, and `goOn` when it runs. */
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
