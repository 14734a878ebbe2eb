/** The bytes of a response that a client has to take in the time it has: some 200 bytes a second by default. */
const TAKEN_BYTES_MIN = 64 * 1024;
/** Of a larger rest it has to take so large a part. */
const TAKEN_PART_MIN = 1 / 64;
/** A client has the whole time for so much; for more it has less time, as much less as it is more. */
const FULL_TIME_BYTES = 256 * 1024;
/** And no less than this part of it: ten seconds by default. */
const TIME_PART_MIN = 1 / 30;
/** A client that leaves more than this unread counts with this part of what all clients leave unread, if that is more. */
const SMALL_BYTES = 64 * 1024;
const PART_OF_ALL = 1 / 16;

/** How often a client is looked at in the time that it has, so that its end is noticed a quarter late at most. */
const LOOKS = 4;
const LOOK_MS_MAX = 1_000;

/** How often clients are looked at. */
export function lookEveryMs(idleTimeoutMs: number): number {
  return Math.max((idleTimeoutMs * TIME_PART_MIN) / LOOKS, Math.min(idleTimeoutMs / LOOKS, LOOK_MS_MAX));
}

/** What was written and not read. */
export interface Unread {
  /** By one client. */
  readonly bytes: number;
  /** By all. */
  readonly allBytes: number;
}

/**
 * Whether a client reads what waits for it fast enough. It may take any time in all, but in the time it has it must take the
 * next 64 KiB, or a 64th of what waits. That time is the idle time, or less the more waits for it: so the memory that it
 * takes times the time for which it takes it has a limit. Pure: callers pass every instant.
 */
export class ReadPace {
  readonly #idleTimeoutMs: number;
  /** Since when it has not taken enough; `null`: it has nothing to take. */
  #sinceMs: number | null = null;
  #takenBytes = 0;

  constructor(idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** Nothing waits for the client. */
  isServed(): void {
    this.#sinceMs = null;
  }

  /** `takenBytes`: all that the client has taken of its connection. */
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
