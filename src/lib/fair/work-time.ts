/**
 * The time that a piece of work takes. What it asks for, such as statements, may wait behind what others have asked for: the time in which
 * all of it waits is not the work's.
 */
export class WorkTime {
  readonly #nowMs: () => number;
  /** What was asked for and has not ended, and how much of that waits. */
  #asked = 0;
  #waiting = 0;
  #workedMs = 0;
  #atMs: number;

  /** Begins now. `nowMs`: any clock that never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#atMs = nowMs();
  }

  get workedMs(): number {
    this.#settle();
    return this.#workedMs;
  }

  /** Something is asked for. */
  ask(): void {
    this.#settle();
    this.#asked++;
  }

  /** Something that was asked for has ended. */
  end(): void {
    this.#settle();
    this.#asked--;
  }

  /** Something that was asked for waits behind the work of others. */
  wait(): void {
    this.#settle();
    this.#waiting++;
  }

  /** It waits no longer. */
  goOn(): void {
    this.#settle();
    this.#waiting--;
  }

  #settle(): void {
    const nowMs = this.#nowMs();
    const onlyWaits = this.#waiting > 0 && this.#waiting >= this.#asked;
    if (!onlyWaits) this.#workedMs += nowMs - this.#atMs;
    this.#atMs = nowMs;
  }
}
