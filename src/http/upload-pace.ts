/**
 * The bytes, as sent, that count as progress: some 270 bytes a second by default. A byte now and then does not count.
 */
const PROGRESS_BYTES_MIN = 8 * 1024;
/** The bytes a second that an upload has to reach on average, once it has taken this time. */
const RATE_BYTES_MIN = 1024;
const RATE_GRACE_MS = 30_000;

/**
 * Whether a body comes fast enough. It may take any time in all, but in the idle time the next 8 KiB of it must arrive,
 * and after half a minute it must have come at 1 KiB a second on average. Only the client's time counts, not the time
 * for which the gateway lets it wait. Pure: callers pass every instant.
 */
export class UploadPace {
  readonly #idleTimeoutMs: number;
  readonly #startedAtMs: number;
  #waitedMs = 0;
  #waitsSinceMs: number | null = null;
  #arrivedBytes = 0;
  #progressBytes = 0;
  /** In the client's time: without the time for which it was held up. */
  #progressAtMs = 0;

  constructor(idleTimeoutMs: number, nowMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#startedAtMs = nowMs;
  }

  arrived(sizeBytes: number, nowMs: number): void {
    this.#arrivedBytes += sizeBytes;
    if (this.#arrivedBytes - this.#progressBytes < PROGRESS_BYTES_MIN) return;
    this.#progressBytes = this.#arrivedBytes;
    this.#progressAtMs = this.#clientMs(nowMs);
  }

  /** From now on the gateway lets the client wait. */
  heldUp(nowMs: number): void {
    this.#waitsSinceMs ??= nowMs;
  }

  resumed(nowMs: number): void {
    if (this.#waitsSinceMs === null) return;
    this.#waitedMs += nowMs - this.#waitsSinceMs;
    this.#waitsSinceMs = null;
  }

  get isHeldUp(): boolean {
    return this.#waitsSinceMs !== null;
  }

  /** The time until the client is too slow, if nothing more arrives; 0 or less: it is too slow. */
  leftMs(nowMs: number): number {
    const rateDueMs = Math.max(RATE_GRACE_MS, (this.#arrivedBytes / RATE_BYTES_MIN) * 1_000);
    return Math.min(this.#progressAtMs + this.#idleTimeoutMs, rateDueMs) - this.#clientMs(nowMs);
  }

  #clientMs(nowMs: number): number {
    return (this.#waitsSinceMs ?? nowMs) - this.#startedAtMs - this.#waitedMs;
  }
}
