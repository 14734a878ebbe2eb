import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';

/** A time of the database's clock, and this node's times of the request and the response. */
interface ClockReading {
  readonly databaseMs: number;
  readonly askedMs: number;
  readonly arrivedMs: number;
}

/** Estimates the database's clock from heartbeats, for display and waiting times. Decisions use the clock itself. */
export interface DatabaseClock extends Clock {
  /** Difference between the clocks that is certain: positive if this node's clock is ahead of the database's. */
  readonly aheadMs: number;
  /** Message if the clocks differ by more than two seconds; otherwise `null`. */
  readonly warning: string | null;
  read(reading: ClockReading): void;
}

const DIFFERENCE_MAX_MS = 2_000;

/** @param testClock replaces the database's clock in tests */
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
      // The clock was read at some time between request and response, so only a difference beyond these times is certain.
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
  'the clocks of this node and the database differ; limits use the database’s clock, but records and time-of-day prices ' +
  'use this node’s: synchronize its clock';
