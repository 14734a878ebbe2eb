/**
 * Number of bytes, as sent, that counts as progress. With the default idle time, this requires some 270 bytes/s; single bytes do not count.
 */
const PROGRESS_BYTES_MIN = 8 * 1024;
/** Average rate that an upload must reach after the grace time, in bytes per second. */
const RATE_BYTES_MIN = 1024;
const RATE_GRACE_MS = 30_000;

/**
 * Decides whether a body arrives fast enough. The total time is not limited, but the next 8 KiB must arrive within the idle
 * time, and after half a minute the average must be 1 KiB/s. Time during which the gateway pauses the client does not
 * count. Pure: callers pass every instant.
 */
export class UploadPace {
  readonly #idleTimeoutMs: number;
  readonly #startedAtMs: number;
  #pausedMs = 0;
  #pausedSinceMs: number | null = null;
  #arrivedBytes = 0;
  #progressBytes = 0;
  /** Measured in the client's time, without pauses. */
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

  /** Call this when the gateway pauses the client. */
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

  /** Remaining time in milliseconds until the client is too slow, if nothing more arrives; 0 or less if it is already too slow. */
  leftMs(nowMs: number): number {
    const rateDueMs = Math.max(RATE_GRACE_MS, (this.#arrivedBytes / RATE_BYTES_MIN) * 1_000);
    return Math.min(this.#progressAtMs + this.#idleTimeoutMs, rateDueMs) - this.#clientMs(nowMs);
  }

  #clientMs(nowMs: number): number {
    return (this.#pausedSinceMs ?? nowMs) - this.#startedAtMs - this.#pausedMs;
  }
}
