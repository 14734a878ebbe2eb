import { isLockTimeout, sqlState } from '../../db/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Pace } from '../../lib/pace.ts';
import { DisagreementError } from './disagreement.ts';
import { boundsOf, firstMonthKept, type Month, monthsToDrop } from './months.ts';
import type { RetentionStore, Wait } from './retention-store.ts';

interface DroppingDependencies {
  readonly store: RetentionStore;
  /** Returns how long records are kept; `undefined`: forever. Read for each run. */
  readonly keptMs: () => number | undefined;
  readonly timezone: () => string;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Log messages: why a month is kept until the next run. */
const WAITS: Readonly<Record<Wait | 'locked' | 'not_empty', string>> = {
  not_summed: 'usage is not summed yet',
  in_flight: 'calls of the month are still in flight',
  elsewhere: 'another node is dropping the month',
  changed: 'a call of the month was refunded in the meantime',
  locked: 'another transaction has locked the records',
  not_empty: 'the month still has call records',
};

const UNDEFINED_TABLE = '42P01';

const FIRST_ID = '';

/** Drops the call records of months past their retention, oldest month first. A month that cannot be dropped is kept until the next run. */
export function createDropping({ store, keptMs, timezone, clock, pace, logger }: DroppingDependencies) {
  async function dropMonth(month: Month, signal: AbortSignal): Promise<'dropped' | 'stopped' | keyof typeof WAITS> {
    const ready = await store.readiness(boundsOf(month).toMs);
    if (ready !== 'ready') return ready;
    if ((await store.begin(month)) === 'dropped_before') {
      if (!(await deleteAll(month, boundsOf(month).toMs, signal))) return 'stopped';
      return store.dropEmpty(month);
    }
    const summed = await store.sum(month, timezone(), signal);
    if (summed !== 'summed') return summed;
    return signal.aborted ? 'stopped' : store.drop(month, timezone());
  }

  /** Deletes records row by row. Returns false if the signal stopped it. */
  async function deleteAll(month: Month | null, beforeMs: number, signal: AbortSignal): Promise<boolean> {
    let wrongId: string | null = null;
    let dropped = 0;
    for (let lastId: string | null = FIRST_ID; lastId !== null; ) {
      if (signal.aborted) return false;
      const afterId: string = lastId;
      const batch = await pace(() => store.deleteBatch(month, beforeMs, afterId, timezone()));
      wrongId ??= batch.wrongId;
      dropped += batch.dropped;
      lastId = batch.lastId;
    }
    if (dropped > 0) logger.info({ records: dropped }, 'call records past their retention were dropped');
    if (wrongId !== null) reportDisagreement(month, `call ${wrongId}`);
    return true;
  }

  function reportDisagreement(month: Month | null, detail: string): void {
    logger.warn(
      { ...(month !== null && { month: month.slice(0, 7) }), detail },
      'call records past their retention are kept because they disagree with the ledger; run "faregate audit" for details',
    );
  }

  async function tryMonth(month: Month, signal: AbortSignal): Promise<void> {
    try {
      const result = await dropMonth(month, signal);
      if (result === 'stopped') return;
      if (result === 'dropped') logger.info({ month: month.slice(0, 7) }, 'the call records of a month were dropped');
      else reportWait(month, result);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof DisagreementError) reportDisagreement(month, error.detail);
      else if (isLockTimeout(error)) reportWait(month, 'locked');
      // Another node has dropped the table since it was listed.
      else if (sqlState(error) === UNDEFINED_TABLE) reportWait(month, 'elsewhere');
      else throw error;
    }
  }

  function reportWait(month: Month, reason: keyof typeof WAITS): void {
    logger.info(
      { month: month.slice(0, 7), reason: WAITS[reason] },
      'the call records of a month were not dropped; retrying in an hour',
    );
  }

  return {
    /** Drops old months. After an abort, the next run repeats what was not committed. */
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
