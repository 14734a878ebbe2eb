/** Bytes that a client must read within its time limit, by default about 200 bytes/s. */
const TAKEN_BYTES_MIN = 64 * 1024;
/** Share of its unread bytes that a client must read within its time limit, if it has many. */
const TAKEN_PART_MIN = 1 / 64;
/** Up to this many unread bytes, the time limit is the idle time. With more, it becomes shorter in proportion. */
const FULL_TIME_BYTES = 256 * 1024;
/** Shortest time limit, as a share of the idle time: ten seconds by default. */
const TIME_PART_MIN = 1 / 30;
/** Above this many unread bytes, a client counts as having at least the share below of the unread bytes of all clients. */
const SMALL_BYTES = 64 * 1024;
const PART_OF_ALL = 1 / 16;

/** Checks per time limit. A client that stalls is detected at most a quarter of the limit too late. */
const CHECKS = 4;
const CHECK_MS_MAX = 1_000;

export function checkEveryMs(idleTimeoutMs: number): number {
  return Math.max((idleTimeoutMs * TIME_PART_MIN) / CHECKS, Math.min(idleTimeoutMs / CHECKS, CHECK_MS_MAX));
}

/** Bytes that were written but not read: those of one client, and those of all clients. */
export interface Unread {
  readonly bytes: number;
  readonly allBytes: number;
}

/**
 * Decides whether a client reads fast enough: the next 64 KiB, or a 64th of its unread bytes, within a time limit. The more bytes are
 * unread, the shorter is the limit, so that the product of used memory and time is bounded. Pure: callers pass the time.
 */
export class ReadPace {
  readonly #idleTimeoutMs: number;
  /** When the client last had read enough; `null`: nothing is unread. */
  #sinceMs: number | null = null;
  #takenBytes = 0;

  constructor(idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** Call this when nothing is unread. */
  isServed(): void {
    this.#sinceMs = null;
  }

  /** @param takenBytes what the client has read on this connection */
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
