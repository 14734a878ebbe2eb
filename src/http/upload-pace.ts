/** Bytes, as sent, that count as progress: about 270 bytes/s with the default idle time. */
const PROGRESS_BYTES_MIN = 8 * 1024;
/** Average bytes per second that an upload must reach after the grace time. */
const RATE_BYTES_MIN = 1024;
const RATE_GRACE_MS = 30_000;

/**
 * Decides whether a body arrives fast enough: 8 KiB within each idle time, and 1 KiB/s on average after half a minute. Time in which the
 * gateway pauses the client does not count. Pure: callers pass the time.
 */
export class UploadPace {
  readonly #idleTimeoutMs: number;
  readonly #startedAtMs: number;
  #pausedMs = 0;
  #pausedSinceMs: number | null = null;
  #arrivedBytes = 0;
  #progressBytes = 0;
  /** Time of the last progress, on a clock that stops while the client is paused. */
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

  paused(nowMs: number): void {
    this.#pausedSinceMs ??= nowMs;
  }

  resumed(nowMs: number): void {
    if (this.#pausedSinceMs === null) return;
    this.#pausedMs += nowMs - this.#pausedSinceMs;
    this.#pausedSinceMs = null;
  }

  get isPaused(): boolean {
    return this.#pausedSinceMs !== null;
  }

  /** Returns the milliseconds until the client is too slow if no byte arrives; 0 or less: it is too slow. */
  leftMs(nowMs: number): number {
    const rateDueMs = Math.max(RATE_GRACE_MS, (this.#arrivedBytes / RATE_BYTES_MIN) * 1_000);
    return Math.min(this.#progressAtMs + this.#idleTimeoutMs, rateDueMs) - this.#clientMs(nowMs);
  }

  #clientMs(nowMs: number): number {
    return (this.#pausedSinceMs ?? nowMs) - this.#startedAtMs - this.#pausedMs;
  }
}
