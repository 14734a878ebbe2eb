/** Number of bytes that a client must read within its time limit: some 200 bytes/s by default. */
const TAKEN_BYTES_MIN = 64 * 1024;
/** If many bytes are unread, the client must read at least this fraction of them. */
const TAKEN_PART_MIN = 1 / 64;
/**
 * Up to this number of unread bytes, the time limit is the whole idle time. Above it, the limit is inversely proportional to their number.
 */
const FULL_TIME_BYTES = 256 * 1024;
/** The shortest time limit as a fraction of the idle time: ten seconds by default. */
const TIME_PART_MIN = 1 / 30;
/** A client with more than `SMALL_BYTES` unread bytes is treated as if it had at least this fraction of the unread bytes of all clients. */
const SMALL_BYTES = 64 * 1024;
const PART_OF_ALL = 1 / 16;

/** Number of checks within a client's time limit, so that a stall is detected at most a quarter of the limit late. */
const CHECKS = 4;
const CHECK_MS_MAX = 1_000;

/** The interval between two checks of all clients. */
export function checkEveryMs(idleTimeoutMs: number): number {
  return Math.max((idleTimeoutMs * TIME_PART_MIN) / CHECKS, Math.min(idleTimeoutMs / CHECKS, CHECK_MS_MAX));
}

/** Numbers of bytes that were written but not read: of one client, and of all clients. */
export interface Unread {
  readonly bytes: number;
  readonly allBytes: number;
}

/**
 * Decides whether a client reads fast enough. The total time of a response is not limited, but within its time limit a client must read the
 * next 64 KiB, or a 64th of the unread bytes. The limit is the idle time, or less if much is unread, so that the product of occupied memory
 * and time is bounded. Pure: callers pass every instant.
 */
export class ReadPace {
  readonly #idleTimeoutMs: number;
  /** The last time at which the client had read enough; `null` if nothing is unread. */
  #sinceMs: number | null = null;
  #takenBytes = 0;

  constructor(idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** Call this when nothing is unread. */
  isServed(): void {
    this.#sinceMs = null;
  }

  /** `takenBytes`: the bytes that the client has read since its connection was opened. */
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
