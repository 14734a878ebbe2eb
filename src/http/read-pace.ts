/** Bytes that a client must read within its time limit: some 200 bytes/s by default. */
const TAKEN_BYTES_MIN = 64 * 1024;
/** A client with many unread bytes must read at least this fraction of them within its time limit. */
const TAKEN_PART_MIN = 1 / 64;
/** Up to this many unread bytes, the time limit is the idle time. Above, the limit is inversely proportional to the number of bytes. */
const FULL_TIME_BYTES = 256 * 1024;
/** Shortest time limit as a fraction of the idle time: ten seconds by default. */
const TIME_PART_MIN = 1 / 30;
/** A client with more than `SMALL_BYTES` unread bytes is treated as if it had at least this fraction of the unread bytes of all clients. */
const SMALL_BYTES = 64 * 1024;
const PART_OF_ALL = 1 / 16;

/** Checks within a client's time limit, so that a stall is detected at most a quarter of the limit late. */
const CHECKS = 4;
const CHECK_MS_MAX = 1_000;

export function checkEveryMs(idleTimeoutMs: number): number {
  return Math.max((idleTimeoutMs * TIME_PART_MIN) / CHECKS, Math.min(idleTimeoutMs / CHECKS, CHECK_MS_MAX));
}

/** Bytes that were written but not read: of one client, and of all clients. */
export interface Unread {
  readonly bytes: number;
  readonly allBytes: number;
}

/**
 * Decides whether a client reads fast enough: the next 64 KiB, or a 64th of its unread bytes, within a time limit. The more bytes are
 * unread, the shorter the limit, so that the product of occupied memory and time is bounded. Pure: callers pass the time.
 */
export class ReadPace {
  readonly #idleTimeoutMs: number;
  /** When the client last had read enough; `null` if nothing is unread. */
  #sinceMs: number | null = null;
  #takenBytes = 0;

  constructor(idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** Call this when nothing is unread. */
  isServed(): void {
    this.#sinceMs = null;
  }

  /** `takenBytes`: the bytes that the client has read on this connection. */
  isTooSlow(unread: Unread, takenBytes: number, nowMs: number): boolean {
    const needed = Math.max(TAKEN_BYTES_MIN, unread.bytes * TAKEN_PART_MIN);
    if (this.#sinceMs === null || takenBytes - this.#takenBytes >= needed) {
      this.#sinceMs = nowMs;
      this.#takenBytes = takenBytes;
      return false;
    }
    return nowMs - this.#sinceMs >= timeFor(unread, this.#idleTimeoutMs);
  }
}

function timeFor({ bytes, allBytes }: Unread, idleTimeoutMs: number): number {
  const counted = bytes <= SMALL_BYTES ? bytes : Math.max(bytes, allBytes * PART_OF_ALL);
  return idleTimeoutMs * Math.min(1, Math.max(FULL_TIME_BYTES / counted, TIME_PART_MIN));
}
