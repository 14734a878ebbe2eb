import { isLockTimeout, sqlState } from '../../db/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Pace } from '../../lib/pace.ts';
import { DisagreementError } from './disagreement.ts';
import { boundsOf, firstMonthKept, type Month, monthsToDrop } from './months.ts';
import { type RetentionStore, UNCLEARED, type Wait } from './retention-store.ts';

interface DroppingParts {
  readonly store: RetentionStore;
  /** For how long call records are kept; `undefined`: for ever. Read anew for each month. */
  readonly keptMs: () => number | undefined;
  /** The billing time zone in force. */
  readonly timezone: () => string;
  /** The database's clock. */
  readonly clock: Clock;
  /** Names the run of this node. */
  readonly runId: string;
  readonly pace: Pace;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Why a month stays until the next time, as the log says it. */
const WAITS: Readonly<Record<Wait | 'locked' | 'not_empty', string>> = {
  not_summed: 'usage is not summed yet',
  in_flight: 'calls of that time are in flight',
  elsewhere: 'another node is at it',
  changed: 'a call of it was refunded meanwhile',
  locked: 'others have locked the records',
  not_empty: 'records of it are left',
};

const UNDEFINED_TABLE = '42P01';

/** No id is before it. */
const FIRST_ID = '';

/**
 * Creates what drops the call records of months that are over for longer than records are kept: one month after the other, the oldest
 * first. What cannot go now stays until the next run.
 */
export function createDropping({ store, keptMs, timezone, clock, runId, pace, logger }: DroppingParts) {
  async function dropMonth(month: Month, signal: AbortSignal): Promise<'dropped' | 'stopped' | keyof typeof WAITS> {
    const ready = await store.readiness(boundsOf(month).toMs);
    if (ready !== 'ready') return ready;
    switch (await store.begin(month, runId)) {
      case 'elsewhere':
        return 'elsewhere';
      case 'dropped_before':
        if (!(await deleteAll(month, boundsOf(month).toMs, signal))) return 'stopped';
        return store.dropEmpty(month);
      case 'begun':
    }
    try {
      return await dropBegun(month, signal);
    } catch (error) {
      // Whoever mends what differs may mend what was looked at before.
      if (error instanceof DisagreementError) await store.void(month, runId);
      throw error;
    }
  }

  async function dropBegun(month: Month, signal: AbortSignal): Promise<'dropped' | 'stopped' | Wait> {
    for (let from: typeof UNCLEARED | null = UNCLEARED; from !== null; ) {
      if (signal.aborted) return 'stopped';
      const behind: typeof UNCLEARED = from;
      const next = await pace(() => store.clear(month, runId, behind));
      if (next === 'elsewhere') return 'elsewhere';
      from = next;
    }
    const found = await store.requireRecords(month, runId, async (slice) => {
      if (!signal.aborted) await pace(slice);
      return !signal.aborted;
    });
    if (found !== 'sure') return found;
    for (let slice: Awaited<ReturnType<RetentionStore['sumSlice']>> = 'more'; slice !== 'done'; ) {
      if (signal.aborted) return 'stopped';
      slice = await pace(() => store.sumSlice(month, runId, timezone()));
      if (slice === 'elsewhere' || slice === 'changed') return slice;
    }
    return store.drop(month, runId, timezone());
  }

  /** Deletes records row by row. Returns whether all were looked at. */
  async function deleteAll(month: Month | null, beforeMs: number, signal: AbortSignal): Promise<boolean> {
    let wrongId: string | null = null;
    let dropped = 0;
    for (let behindId: string | null = FIRST_ID; behindId !== null; ) {
      if (signal.aborted) return false;
      const from: string = behindId;
      const slice = await pace(() => store.deleteSlice(month, beforeMs, from, timezone()));
      wrongId ??= slice.wrongId;
      dropped += slice.dropped;
      behindId = slice.lastId;
    }
    if (dropped > 0) logger.info({ records: dropped }, 'call records that are older than they are kept were dropped');
    if (wrongId !== null) stays(month, `call ${wrongId}`);
    return true;
  }

  function stays(month: Month | null, detail: string): void {
    logger.warn(
      { ...(month !== null && { month: month.slice(0, 7) }), detail },
      'call records stay although their time is over, because they do not agree with the ledger; "faregate audit" says where',
    );
  }

  async function tryMonth(month: Month, signal: AbortSignal): Promise<void> {
    try {
      const result = await dropMonth(month, signal);
      if (result === 'stopped') return;
      if (result === 'dropped') logger.info({ month: month.slice(0, 7) }, 'the call records of a month were dropped');
      else wait(month, result);
    } catch (error) {
      if (error instanceof DisagreementError) stays(month, error.detail);
      else if (isLockTimeout(error)) wait(month, 'locked');
      // Another node has dropped it since it was found.
      else if (sqlState(error) === UNDEFINED_TABLE) wait(month, 'elsewhere');
      else throw error;
    }
  }

  function wait(month: Month, reason: keyof typeof WAITS): void {
    logger.info(
      { month: month.slice(0, 7), reason: WAITS[reason] },
      'the call records of a month wait to be dropped until the next hour',
    );
  }

  return {
    /** Drops what is due. Ends early when the signal aborts; what is written down by then is gone on with. */
    async run(signal: AbortSignal): Promise<void> {
      const kept = keptMs();
      if (kept === undefined) return;
      const nowMs = clock.nowMs();
      for (const month of monthsToDrop(await store.months(), nowMs, kept)) {
        if (signal.aborted) return;
        await tryMonth(month, signal);
      }
      const { fromMs } = boundsOf(firstMonthKept(nowMs, kept));
      if ((await store.readiness(fromMs)) === 'ready') await deleteAll(null, fromMs, signal);
    },
  };
}

export type Dropping = ReturnType<typeof createDropping>;
