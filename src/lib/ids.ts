import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Crockford's base 32 in lower case, without i, l, o and u. So an id can be read out. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** All pairs of characters. A string that is built from pairs leaves half as much garbage as one from characters. */
const PAIRS = Array.from(ALPHABET).flatMap((first) => Array.from(ALPHABET, (second) => first + second));
const RANDOM_CHARS = 16;
const POOL_BYTES = 4096;

export interface Ids {
  /** Returns a new id such as `call_01kaq…`: the prefix, 10 characters of time (sortable), 16 random characters (80 bits). */
  next(prefix: string): string;
}

/** Fills a buffer with random bytes. Tests use a generator with a seed instead. */
export type FillRandom = (bytes: Uint8Array) => void;

/** Creates ids. Random bytes are drawn in blocks, because a system call for each id would be noticeable. */
export function createIds(clock: Clock, fillRandom: FillRandom = randomFillSync): Ids {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  let lastMs = Number.NaN;
  let lastTime = '';

  function randomPart(): string {
    if (used + RANDOM_CHARS > POOL_BYTES) {
      fillRandom(pool);
      used = 0;
    }
    let text = '';
    for (let i = 0; i < RANDOM_CHARS; i += 2) text += PAIRS[((pool[used + i]! & 31) << 5) | (pool[used + i + 1]! & 31)];
    used += RANDOM_CHARS;
    return text;
  }

  return {
    next(prefix) {
      const nowMs = clock.nowMs();
      if (nowMs !== lastMs) {
        lastMs = nowMs;
        lastTime = timePart(nowMs);
      }
      return `${prefix}_${lastTime}${randomPart()}`;
    },
  };
}

/** Returns the smallest id with a prefix at an instant. All earlier ids sort before it. */
export function firstIdAt(prefix: string, atMs: number): string {
  return `${prefix}_${timePart(atMs)}`;
}

function timePart(nowMs: number): string {
  let rest = Math.max(0, Math.floor(nowMs));
  let text = '';
  for (let i = 0; i < 10; i++) {
    text = ALPHABET[rest % 32]! + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
