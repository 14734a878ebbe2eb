/** The pieces of at most 64 KiB that are read in each tick: some 50 MB a second, of all connections together. */
const PIECES_A_TICK = 8;
const TICK_MS = 10;

/**
 * Lets lingering connections read by turns. A connection whose bytes are read as they come may take megabytes in one
 * turn of the event loop, which accepts one new connection a turn: two hundred refused uploads once delayed new
 * connections by ten seconds.
 */
export class LingerTurns {
  readonly #waiting = new Set<() => void>();
  #left = PIECES_A_TICK;
  #ticks: NodeJS.Timeout | null = null;

  /** Whether a connection may read on after a piece. Otherwise `resume` is called when it is its turn again. */
  mayReadOn(resume: () => void): boolean {
    this.#ticks ??= setInterval(() => this.#tick(), TICK_MS).unref();
    if (this.#left > 0) {
      this.#left--;
      return true;
    }
    this.#waiting.add(resume);
    return false;
  }

  /** The connection has ended. */
  leave(resume: () => void): void {
    this.#waiting.delete(resume);
  }

  #tick(): void {
    if (this.#waiting.size === 0 && this.#left === PIECES_A_TICK && this.#ticks !== null) {
      clearInterval(this.#ticks);
      this.#ticks = null;
    }
    this.#left = PIECES_A_TICK;
    for (const resume of this.#waiting) {
      if (this.#left === 0) return;
      this.#left--;
      this.#waiting.delete(resume);
      resume();
    }
  }
}
