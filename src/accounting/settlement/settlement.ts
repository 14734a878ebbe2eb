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

/** Where the end of a call became durable first; `nowhere`: its response is withheld. */
export type EndPlace = 'database' | 'journal' | 'nowhere';

/** For tests; what is absent is as in production. */
export interface SettlementTiming {
  /** How long the database may take before the end goes to the journal. */
  readonly patienceMs?: number;
  /** The first pause before the database is tried again; it doubles for as long as the database takes nothing. */
  readonly retryDelayMs?: number;
  readonly timers?: Timers;
}

interface SettlementOptions extends SettlementTiming {
  readonly database: Pick<DatabaseSettlement, 'end' | 'endLate' | 'drain'>;
  /** How many partitions there are, and which one an account is in; by default there is one. */
  readonly partitions?: { readonly count: number; find(accountId: string): number | Promise<number> };
  readonly journal: Journal;
  readonly budget: Pick<StoredResponseBudget, 'takeDisk'>;
  /** Whether an error came from the data of a call rather than from the connection. */
  readonly isDataFault: (error: unknown) => boolean;
  readonly logger: Logger;
  /** For tests: how many ends may wait for the database and be in no journal. */
  readonly unjournaledMax?: number;
  /** A call has ended, after so long: for metrics. */
  readonly onEnd?: ((place: EndPlace, tookMs: number) => void) | undefined;
}

/** Far longer than a busy database takes; a client waits with its last byte for no longer than this. */
const PATIENCE_MS = 2_000;
const RETRY_DELAY_MS = 200;
/** Ends that wait for the database and are in no journal: of calls that were in flight when both failed. */
const UNJOURNALED_MAX = 10_000;

/** What the database has not taken yet: an entry of the journal, or the end of a call that only this process knows. */
type Unwritten = { readonly entry: EntryId } | { readonly record: SettlementRecord };

const ONE_PARTITION = { count: 1, find: () => 0 };

export type Settlement = ReturnType<typeof createSettlement>;

/**
 * The ends of calls, durable before delivery:
 *
 *     end ─▶ to the database ──done──▶ durable
 *                 │
 *                 └ down, or slow ─▶ to the journal ──done──▶ durable ─▶ to the database, as soon as it takes ends again
 *                                          │
 *                                          └ failed ─▶ not durable: the response is withheld, and nothing is charged
 *
 * The database records an end once, however often it comes: the first end of a call counts (`settle.ts`). So an end may be
 * in the journal and in the database, and a journal may be read again after a crash.
 */
export function createSettlement(options: SettlementOptions) {
  const { database, journal, budget, isDataFault, logger, onEnd, timers = systemTimers } = options;
  const { partitions = ONE_PARTITION, unjournaledMax = UNJOURNALED_MAX } = options;

  const inTime = new InTime(options.patienceMs ?? PATIENCE_MS);
  /** Ends, and attempts whose caller has its result already; a shutdown waits for them. */
  let underWay = 0;
  let onIdle: () => void = () => undefined;
  const journaled = new JournaledResponses(journal, budget);
  /** How many of them are in no journal. */
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
        logger.info({ calls }, 'the database has all ends of calls again');
        isDownLogged = false;
      },
    }),
  );
  const unwritten = (): number => replays.reduce((sum, { size }) => sum + size, 0);

  /** Whether the journal takes it. The attempt removes the entry if it is done all the same; if its time is over, the end is written later. */
  async function writeJournal(record: SettlementRecord, attempt: Promise<BalanceAfterEnd>): Promise<boolean> {
    const { callId } = record.outcome;
    let id: EntryId;
    try {
      id = await journaled.append(record);
    } catch (error) {
      logger.error(
        { err: error, callId },
        'the end of a call could be stored neither in the database nor in the journal',
      );
      return false;
    }
    if (!isDownLogged) logger.warn({ callId }, 'the database does not take the ends of calls; they go to the journal');
    isDownLogged = true;
    underWay++;
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

  /** Only the database is left: a slow attempt may still succeed, and where its result was lost, a second one returns it. */
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
        logger.error({ callId }, 'too many ends of calls wait for the database; this one is left for recovery');
        return;
      }
      unjournaled++;
    }
    const partition = partitions.find(accountId);
    // Where it is not known at once, the first one finds out.
    (replays[typeof partition === 'number' ? partition : 0] ?? replays[0]!).add(end);
  }

  function ended(): void {
    underWay--;
    if (underWay === 0) onIdle();
  }

  /** An end that is not of this partition goes to its own, which is the one that fails then. */
  async function replayEnd(end: Unwritten, partition: number): Promise<void> {
    if ('record' in end) {
      if (await isMoved(end, end.record, partition)) return;
      await replayRecord(end.record);
      unjournaled--;
      return;
    }
    const text = await readEntry(end.entry);
    // Another process has written it to the database.
    if (text === null) {
      journaled.remove(end.entry);
      return;
    }
    let record: SettlementRecord;
    try {
      record = decodeRecord(text);
    } catch (error) {
      // It stays if it is, for a program that can read it.
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

  /** Null if the entry is gone. If the disk cannot be read now, the entry is tried again later. */
  async function readEntry(entry: EntryId): Promise<string | null> {
    try {
      return await journal.read(entry);
    } catch (error) {
      if (error instanceof JournalEntryGoneError) return null;
      if (!isClosing) logger.error({ err: error, entry }, 'the journal cannot be read; it is tried again');
      throw error;
    }
  }

  /** The response was delivered: an end that the database refuses is written with as much of it as the database takes. */
  async function replayRecord(record: SettlementRecord): Promise<void> {
    const { callId, accountId } = record.outcome;
    try {
      await database.endLate(record);
    } catch (error) {
      if (error instanceof ClaimLostError) {
        logger.warn(
          { callId, accountId },
          'a repeat of a call ran before the end of the call was in the database; the call is not charged',
        );
        await database.endLate(unpaid(record, 'repeat_charged'));
      } else if (isDataFault(error)) {
        logger.error({ err: error, callId, accountId }, 'the database refuses the charge of a call; it is not charged');
        await writeRefused(record);
      } else throw error;
    }
  }

  async function writeRefused(record: SettlementRecord): Promise<void> {
    const { callId, accountId } = record.outcome;
    const delivered = unpaid(record, 'charge_refused');
    // What is stored for repeats may be what the database refuses.
    const withoutResponse = delivered.kept === null ? [] : [{ ...delivered, kept: null }];
    for (const lesser of [delivered, ...withoutResponse, withheld(record)]) {
      try {
        await database.endLate(lesser);
        return;
      } catch (error) {
        if (!isDataFault(error)) throw error;
        logger.error({ err: error, callId, accountId }, 'the database refuses the end of a call');
      }
    }
  }

  return {
    /** Whether a call that begins now could be settled even if the database fails. */
    get canTakeCalls(): boolean {
      return journal.isWritable;
    },
    /**
     * Ends a call. When it resolves, the end is durable: in the database, or in the journal; then `availableNano` is `null`.
     *
     * @throws ClaimLostError if a repeat of the call runs elsewhere: the call is not ended, and must not be charged.
     * @throws where it could not be made durable. The call is ended in the background, with nothing charged.
     */
    async end(record: SettlementRecord): Promise<BalanceAfterEnd> {
      underWay++;
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
    /**
     * Writes to the database what earlier processes left in their journals; returns how many ends are still to be written.
     *
     * @param partition which one is waited for; by default all are.
     */
    async recover(partition?: number): Promise<number> {
      // The first one finds out whose entries are; the others have what it has moved to them.
      const waitedFor = replays.slice(1).filter((_, at) => partition === undefined || at + 1 === partition);
      // A journal takes over no more at a time than it has room for.
      for (let left = await journal.takeOver(); left.length > 0; left = await journal.takeOver()) {
        logger.warn({ calls: left.length }, 'an earlier process left ends of calls in its journal');
        await replays[0]!.once(left.map((entry) => ({ entry })));
        await Promise.all(waitedFor.map((replay) => replay.once()));
        if (unwritten() > 0) break;
      }
      return unwritten();
    },
    /** Resolves when nothing is under way any more; what the database did not take stays in the journal. */
    async drain(): Promise<void> {
      while (underWay > 0) {
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
          'ends of calls are not in the database; those in the journal wait for the next start',
        );
      }
      await database.drain();
      await journal.close();
    },
    /** Ends that wait for the database, but for those of calls in flight. */
    get unwritten(): number {
      return unwritten();
    },
  };
}
