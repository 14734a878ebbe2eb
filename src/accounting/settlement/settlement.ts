import { type EntryId, type Journal, JournalEntryGoneError } from '../../journal/journal.ts';
import { InTime, LATE } from '../../lib/in-time.ts';
import type { Logger } from '../../lib/logger.ts';
import { systemTimers, type Timers } from '../../lib/timers.ts';
import type { BalanceAfterEnd } from '../calls/call-outcome.ts';
import { UnknownPartitionError } from '../partitions/routes.ts';
import type { StoredResponseBudget } from '../repeats/stored-response-budget.ts';
import { ClaimLostError } from '../repeats/stored-responses.ts';
import type { CallName } from '../reservations/reservation.ts';
import type { DatabaseSettlement } from './database-settlement.ts';
import { JournaledResponses } from './journaled-responses.ts';
import { createReplay } from './replay.ts';
import { decodeRecord, type SettlementRecord, unpaid, withheld } from './settlement-record.ts';

/** Where the end of a call first became durable. `nowhere`: its response is not delivered. */
export type EndPlace = 'database' | 'journal' | 'nowhere';

export interface SettlementTiming {
  /** How long the database may take to accept an end. After that, the end goes to the journal. */
  readonly patienceMs?: number;
  /** Pause before the database is tried again. It doubles while the database accepts nothing. */
  readonly retryDelayMs?: number;
  readonly timers?: Timers;
}

interface SettlementOptions extends SettlementTiming {
  readonly database: Pick<DatabaseSettlement, 'end' | 'endLate' | 'drain'>;
  /** Partitions of accounts; absent: there is one. */
  readonly partitions?: { readonly count: number; find(accountId: string): number | Promise<number> };
  readonly journal: Journal;
  readonly budget: Pick<StoredResponseBudget, 'takeDisk'>;
  /** Whether the data of a call caused the error, rather than the connection. */
  readonly isDataFault: (error: unknown) => boolean;
  readonly logger: Logger;
  readonly unjournaledMax?: number;
  readonly onEnd?: ((place: EndPlace, tookMs: number) => void) | undefined;
}

/** Far longer than a busy database takes. The last byte of a response is delayed by at most this time. */
const PATIENCE_MS = 2_000;
const RETRY_DELAY_MS = 200;
/** Maximum number of finished calls that wait for the database without a journal entry. They were in flight when both failed. */
const UNJOURNALED_MAX = 10_000;

/** An end that the database has not accepted yet: in the journal, or only in memory. */
type Unwritten = { readonly entry: EntryId } | { readonly record: SettlementRecord };

const ONE_PARTITION = { count: 1, find: () => 0 };

export type Settlement = ReturnType<typeof createSettlement>;

/**
 * Makes the ends of calls durable before delivery:
 *
 *     end ─▶ to the database ──done──▶ durable
 *                 │
 *                 └ down, or slow ─▶ to the journal ──done──▶ durable ─▶ to the database, as soon as it accepts ends again
 *                                          │
 *                                          └ failed ─▶ not durable: the response is withheld, and nothing is charged
 *
 * An end may be in the journal and in the database, because the database records only the first end of a call (`settle.ts`).
 */
export function createSettlement(options: SettlementOptions) {
  const { database, journal, budget, isDataFault, logger, onEnd, timers = systemTimers } = options;
  const { partitions = ONE_PARTITION, unjournaledMax = UNJOURNALED_MAX } = options;

  const inTime = new InTime(options.patienceMs ?? PATIENCE_MS);
  /** Number of calls that are being settled, even if their caller already has a result. A shutdown waits for them. */
  let pending = 0;
  let onIdle: () => void = () => undefined;
  const journaled = new JournaledResponses(journal, budget);
  /** Number of waiting calls whose settlement record is only in memory. */
  let unjournaled = 0;
  let isClosing = false;
  let isDownLogged = false;
  const replays = Array.from({ length: partitions.count }, (_, partition) =>
    createReplay<Unwritten>({
      retryDelayMs: options.retryDelayMs ?? RETRY_DELAY_MS,
      countAtOnce: (next) => journaled.readAtOnce(next.map((end) => ('entry' in end ? end.entry : null))),
      attempt: (end) => replayEnd(end, partition),
      onAllTaken(calls) {
        if (unwritten() > 0) return;
        logger.info({ calls }, 'all results of finished calls are in the database again');
        isDownLogged = false;
      },
    }),
  );
  const unwritten = (): number => replays.reduce((sum, { size }) => sum + size, 0);

  /** Writes a record to the journal; false if it cannot. If the pending `attempt` at the database succeeds, the entry is removed. */
  async function writeJournal(record: SettlementRecord, attempt: Promise<BalanceAfterEnd>): Promise<boolean> {
    const { callId } = record.outcome;
    let id: EntryId;
    try {
      id = await journaled.append(record);
    } catch (error) {
      logger.error(
        { err: error, callId },
        'the result of a finished call could be stored neither in the database nor in the journal',
      );
      return false;
    }
    if (!isDownLogged)
      logger.warn(
        { callId },
        'the database does not accept results of finished calls; they are written to the journal',
      );
    isDownLogged = true;
    pending++;
    void attempt
      .then(
        () => {
          journaled.remove(id);
          if (journal.size === 0) isDownLogged = false;
        },
        () => retryLater({ entry: id }, record.outcome),
      )
      .finally(ended);
    return true;
  }

  /** Settles a call by the database alone. A slow attempt may still succeed; if its result was lost, a second attempt returns it. */
  async function writeUnjournaled(
    record: SettlementRecord,
    attempt: Promise<BalanceAfterEnd>,
  ): Promise<BalanceAfterEnd> {
    try {
      return await attempt.catch(() => database.endLate(record));
    } catch (error) {
      if (!(error instanceof ClaimLostError)) retryLater({ record: withheld(record) }, record.outcome);
      throw error;
    }
  }

  function retryLater(end: Unwritten, { accountId, callId }: CallName): void {
    if ('record' in end) {
      if (unjournaled >= unjournaledMax) {
        logger.error(
          { callId },
          'too many results of finished calls are waiting for the database; this one is dropped, and its call is left for recovery',
        );
        return;
      }
      unjournaled++;
    }
    const partition = partitions.find(accountId);
    // If the partition is not known at once, the replay of the first one takes the end and finds its partition.
    (replays[typeof partition === 'number' ? partition : 0] ?? replays[0]!).add(end);
  }

  function ended(): void {
    pending--;
    if (pending === 0) onIdle();
  }

  async function replayEnd(end: Unwritten, partition: number): Promise<void> {
    if ('record' in end) {
      if (await isMoved(end, end.record, partition)) return;
      await replayRecord(end.record);
      unjournaled--;
      return;
    }
    const text = await readEntry(end.entry);
    // The entry is gone, because another process has written the end.
    if (text === null) {
      journaled.remove(end.entry);
      return;
    }
    let record: SettlementRecord;
    try {
      record = decodeRecord(text);
    } catch (error) {
      // The entry stays in the journal for a program that can read it.
      logger.error({ err: error, entry: end.entry }, 'an entry of the journal cannot be read; its call is not charged');
      return;
    }
    if (await isMoved(end, record, partition)) return;
    await replayRecord(record);
    journaled.remove(end.entry);
  }

  async function isMoved(end: Unwritten, { outcome }: SettlementRecord, partition: number): Promise<boolean> {
    if (partitions.count === 1) return false;
    const own = await partitions.find(outcome.accountId);
    if (own === partition) return false;
    const replay = replays[own];
    if (replay === undefined) throw new UnknownPartitionError(own);
    replay.add(end);
    return true;
  }

  /** Reads a journal entry; `null` if it is gone. If the disk cannot be read, it is tried again later. */
  async function readEntry(entry: EntryId): Promise<string | null> {
    try {
      return await journal.read(entry);
    } catch (error) {
      if (error instanceof JournalEntryGoneError) return null;
      if (!isClosing) logger.error({ err: error, entry }, 'reading the journal failed; retrying');
      throw error;
    }
  }

  /** Writes an end from the journal. Its response was delivered, so if the database refuses the end, a reduced form is written. */
  async function replayRecord(record: SettlementRecord): Promise<void> {
    const { callId, accountId } = record.outcome;
    try {
      await database.endLate(record);
    } catch (error) {
      if (error instanceof ClaimLostError) {
        logger.warn(
          { callId, accountId },
          'a repeat of this call ran and was charged before the result of this call was in the database; this call is not charged',
        );
        await database.endLate(unpaid(record, 'repeat_charged'));
      } else if (isDataFault(error)) {
        logger.error(
          { err: error, callId, accountId },
          'the database refuses the charge of a call; the call is not charged',
        );
        await writeRefused(record);
      } else throw error;
    }
  }

  async function writeRefused(record: SettlementRecord): Promise<void> {
    const { callId, accountId } = record.outcome;
    const delivered = unpaid(record, 'charge_refused');
    // The database may have refused the stored response, so the end is tried without it.
    const withoutResponse = delivered.kept === null ? [] : [{ ...delivered, kept: null }];
    for (const lesser of [delivered, ...withoutResponse, withheld(record)]) {
      try {
        await database.endLate(lesser);
        return;
      } catch (error) {
        if (!isDataFault(error)) throw error;
        logger.error({ err: error, callId, accountId }, 'the database refuses the result of a call');
      }
    }
  }

  return {
    /** Whether a call that begins now can be settled even if the database fails. */
    get canTakeCalls(): boolean {
      return journal.isWritable;
    },
    /**
     * Ends a call. When it resolves, the end is durable; `availableNano` is `null` if it is in the journal.
     *
     * @throws ClaimLostError if a repeat of the call runs on another node: this call has not ended, and must not be charged
     * @throws if the end could not be made durable. It is then written in the background, without a charge.
     */
    async end(record: SettlementRecord): Promise<BalanceAfterEnd> {
      pending++;
      const askedAtMs = timers.nowMs();
      let place: EndPlace | null = 'database';
      try {
        const attempt = database.end(record);
        try {
          const result = await inTime.of(attempt);
          if (result !== LATE) return result;
        } catch (error) {
          if (error instanceof ClaimLostError) throw error;
          if (isDataFault(error)) {
            const lesser = withheld(record);
            await database.endLate(lesser).catch(() => retryLater({ record: lesser }, record.outcome));
            throw error;
          }
        }
        if (!(await writeJournal(record, attempt))) return await writeUnjournaled(record, attempt);
        place = 'journal';
        return { availableNano: null };
      } catch (error) {
        place = error instanceof ClaimLostError ? null : 'nowhere';
        throw error;
      } finally {
        ended();
        if (place !== null) onEnd?.(place, timers.nowMs() - askedAtMs);
      }
    },
    /** Writes ends from journals of earlier processes to the database. Returns how many are left. */
    async recover(partition?: number): Promise<number> {
      // The first replay finds the partition of each entry and passes it to the replay of that partition.
      const waitedFor = replays.slice(1).filter((_, at) => partition === undefined || at + 1 === partition);
      // This takes several steps, because a journal takes over only as many entries as fit.
      for (let left = await journal.takeOver(); left.length > 0; left = await journal.takeOver()) {
        logger.warn({ calls: left.length }, 'an earlier process left results of finished calls in its journal');
        await replays[0]!.once(left.map((entry) => ({ entry })));
        await Promise.all(waitedFor.map((replay) => replay.once()));
        if (unwritten() > 0) break;
      }
      return unwritten();
    },
    /** Tries to settle all waiting calls. Those that the database does not accept stay in the journal. */
    async drain(): Promise<void> {
      while (pending > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      isClosing = true;
      await replays[0]!.close();
      await Promise.all(replays.slice(1).map((replay) => replay.close()));
      if (unwritten() > 0) {
        logger.warn(
          { calls: unwritten() },
          'some results of finished calls are not in the database yet; those in the journal are written at the next start',
        );
      }
      await database.drain();
      await journal.close();
    },
    get unwritten(): number {
      return unwritten();
    },
  };
}
