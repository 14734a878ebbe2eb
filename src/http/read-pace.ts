/** The bytes that a client has to read within its time limit: some 200 bytes a second by default. */
const TAKEN_BYTES_MIN = 64 * 1024;
/** If more is unread, the client has to read this part of it. */
const TAKEN_PART_MIN = 1 / 64;
/** Up to this many unread bytes the limit is the whole idle time; above, it is inversely proportional to their number. */
const FULL_TIME_BYTES = 256 * 1024;
/** The least part of the idle time: ten seconds by default. */
const TIME_PART_MIN = 1 / 30;
/** A client with more unread bytes than this counts as if it had at least this part of the unread bytes of all clients. */
const SMALL_BYTES = 64 * 1024;
const PART_OF_ALL = 1 / 16;

/** How often a client is checked within its time limit, so that a stall is noticed at most a quarter of the limit late. */
const LOOKS = 4;
const LOOK_MS_MAX = 1_000;

/** The interval between two checks of all clients. */
export function lookEveryMs(idleTimeoutMs: number): number {
  return Math.max((idleTimeoutMs * TIME_PART_MIN) / LOOKS, Math.min(idleTimeoutMs / LOOKS, LOOK_MS_MAX));
}

/** Bytes that were written and not read. */
export interface Unread {
  /** Of one client. */
  readonly bytes: number;
  /** Of all clients. */
  readonly allBytes: number;
}

/**
 * Whether a client reads fast enough. A response may take any time in all, but within its time limit a client must read the next 64 KiB, or
 * a 64th of the unread bytes. The limit is the idle time, or less if much is unread, so that the product of occupied memory and time is
 * bounded. Pure: callers pass every instant.
 */
export class ReadPace {
  readonly #idleTimeoutMs: number;
  /** Since when the client has not read enough; `null`: nothing is unread. */
  #sinceMs: number | null = null;
  #takenBytes = 0;

  constructor(idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** Nothing is unread. */
  isServed(): void {
    this.#sinceMs = null;
  }

  /** `takenBytes`: all bytes that the client has read on its connection. */
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
