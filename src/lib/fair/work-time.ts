/**
 * Measures the time of a piece of work. Its operations, such as database statements, may be queued behind operations of other tenants; time
 * during which all its pending operations are queued does not count.
 */
export class WorkTime {
  readonly #nowMs: () => number;
  #pending = 0;
  /** Pending operations that are queued. */
  #queued = 0;
  #workedMs = 0;
  #atMs: number;

  /** Starts now. `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#atMs = nowMs();
  }

  get workedMs(): number {
    this.#settle();
    return this.#workedMs;
  }

  /** An operation begins. */
  ask(): void {
    this.#settle();
    this.#pending++;
  }

  /** An operation has ended. */
  end(): void {
    this.#settle();
    this.#pending--;
  }

  /** A pending operation is queued behind those of other tenants. */
  wait(): void {
    this.#settle();
    this.#queued++;
  }

  /** A queued operation runs. */
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
