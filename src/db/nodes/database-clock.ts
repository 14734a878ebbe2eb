import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';

/** A reading of the database's clock, and when it was asked for and arrived by the clock of this node. */
interface ClockReading {
  readonly databaseMs: number;
  readonly askedMs: number;
  readonly arrivedMs: number;
}

/**
 * The database's clock as far as this node knows it from its heartbeats: for what is shown and for how long to wait. Decisions
 * read the clock itself, in their transactions.
 */
export interface DatabaseClock extends Clock {
  /** How far this node is ahead of it at least, in milliseconds; negative: behind. */
  readonly aheadMs: number;
  /** A sentence if the two differ by more than two seconds; else `null`. */
  readonly warning: string | null;
  read(reading: ClockReading): void;
}

const DIFFERENCE_MAX_MS = 2_000;

/** `testClock`: for tests, in place of the database's clock. */
export function createDatabaseClock(clock: Clock, logger: Logger, testClock?: Clock): DatabaseClock {
  let aheadMs = 0;
  let isOff = false;

  return {
    nowMs: () => testClock?.nowMs() ?? clock.nowMs() - aheadMs,
    get aheadMs() {
      return aheadMs;
    },
    get warning() {
      if (!isOff) return null;
      const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
      return `The clock of this node is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of the database.`;
    },
    read({ databaseMs, askedMs, arrivedMs }) {
      // It was read somewhere between the two: only what is beyond both is certain.
      if (askedMs > databaseMs) aheadMs = askedMs - databaseMs;
      else aheadMs = Math.min(arrivedMs - databaseMs, 0);
      const wasOff = isOff;
      isOff = Math.abs(aheadMs) > DIFFERENCE_MAX_MS;
      if (isOff && !wasOff) logger.warn({ aheadMs }, OFF);
      if (!isOff && wasOff)
        logger.info({ aheadMs }, 'the clock of this node agrees with the clock of the database again');
    },
  };
}

const OFF =
  'the clock of this node differs from the clock of the database; limits follow the database, but records and prices by the ' +
  'time of day follow this node: synchronize its clock';
