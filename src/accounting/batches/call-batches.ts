import { BATCH_LOCK_MAX_MS } from '../../db/errors.ts';
import type { Questions } from '../../db/questions/database-questions.ts';
import type { Batcher } from '../../lib/batcher.ts';
import type { AdmissionTerms } from '../reservations/account-state.ts';
import { AccountBatcher, type LockMode, type RunBatch, WAITING_ITEMS_MAX } from '../reservations/locked-accounts.ts';
import type { Admission, CallName, ReservationRequest } from '../reservations/reservation.ts';
import type { SettlementRecord } from '../settlement/settlement-record.ts';
import type { EndResult } from '../settlement/store.ts';
import type { BatchStore } from './store.ts';

/** Hears of batches, for metrics. */
export interface BatchObserver {
  /** A transaction has ended that had so many ends, whatever came of it. */
  ends(count: number, tookMs: number): void;
  /** The same of admissions. */
  admissions(count: number, tookMs: number): void;
}

interface CallBatchParts {
  readonly store: BatchStore;
  readonly questions: Pick<Questions, 'guard' | 'unlessDown' | 'limit'>;
  /** The configuration in force. */
  readonly terms: () => AdmissionTerms;
  /** Admissions that may wait; one more is refused. As many ends may wait besides. */
  readonly waitingItemsMax?: number | undefined;
  /** A call has ended in the database, whether its end was still waited for or not. */
  readonly onEnded: (call: CallName) => void;
  /** The items of an account begin to wait for its lock. */
  readonly onLocked?: ((accountId: string) => void) | undefined;
  readonly observer?: BatchObserver | undefined;
}

/** An end or an admission. */
type Item = SettlementRecord | ReservationRequest;
type Result = EndResult | Admission;

/** Records with long ids and many keys are no reason for others to wait: a batch has no more than this of them. */
const BATCH_BYTES_MAX = 1024 * 1024;
/** The columns of a record, or of a reservation, roughly. */
const ITEM_BYTES = 1024;

export type CallBatches = ReturnType<typeof createCallBatches>;

/**
 * Ends and admissions of this node that wait at the same time are one transaction:
 *
 *     end ───────┐
 *                ├─▶ waiting ─▶ lock, read ─▶ decide ends, then admissions ─▶ write, commit ─▶ each its result
 *     admission ─┘
 *
 * So ends and admissions do not wait for each other's locks, and what ends gave back is there for the admissions beside them. Either has two
 * seconds: then an admission fails, and an end goes to the journal (`settlement/settlement.ts`). Beside ends that are slow, admissions go on.
 */
export function createCallBatches(parts: CallBatchParts) {
  const { store, questions, terms, onEnded, onLocked, observer, waitingItemsMax = WAITING_ITEMS_MAX } = parts;
  const { timers } = questions.limit;

  async function run(
    items: readonly Item[],
    locks: LockMode,
    signal: AbortSignal,
  ): Promise<readonly (Result | 'locked')[]> {
    const ends: SettlementRecord[] = [];
    const admissions: ReservationRequest[] = [];
    for (const item of items) {
      if ('outcome' in item) ends.push(item);
      else admissions.push(item);
    }
    const startedAtMs = timers.nowMs();
    try {
      const results = await store.run({ ends, admissions }, terms(), locks, signal);
      for (let i = 0; i < ends.length; i++) if (typeof results.ends[i] === 'object') onEnded(ends[i]!.outcome);
      if (ends.length === 0) return results.admissions;
      if (admissions.length === 0) return results.ends;
      let [end, admission] = [0, 0];
      return items.map((item) => ('outcome' in item ? results.ends[end++]! : results.admissions[admission++]!));
    } finally {
      const tookMs = timers.nowMs() - startedAtMs;
      if (ends.length > 0) observer?.ends(ends.length, tookMs);
      if (admissions.length > 0) observer?.admissions(admissions.length, tookMs);
    }
  }

  /** What a batch of ends alone takes says nothing of the database: it may wait for more than admissions do, which go on beside it. */
  function guarded(run: RunBatch<Item, Result>): RunBatch<Item, Result> {
    const [watched, unwatched] = [questions.guard(run), questions.unlessDown(run)];
    return (items, batch) => (items.every((item) => 'outcome' in item) ? unwatched : watched)(items, batch);
  }

  const shared = {
    run,
    accountOf: (item: Item) => ('outcome' in item ? item.outcome.accountId : item.accountId),
    kindOf,
    lockLimit: questions.limit,
    waitingItemsMax,
    bytes: { of: sizeBytesOf, batchMax: BATCH_BYTES_MAX },
  };
  const batches = new AccountBatcher<Item, Result>({
    ...shared,
    guarded,
    limit: questions.limit,
    // A batch that takes longer than it may wait for a lock is slow. If it has ends alone, which may wait for more than admissions
    // do, such as for a table of records, admissions go on beside it; and the other way round.
    besideAfterMs: BATCH_LOCK_MAX_MS,
    onLocked,
  });
  const late = new AccountBatcher<Item, Result>({
    ...shared,
    guarded: questions.unlessDown,
    waitingItemsMax: WAITING_ITEMS_MAX,
  });
  return {
    admissions: batcherOf<ReservationRequest, Admission>(batches, 'admission'),
    ends: batcherOf<SettlementRecord, EndResult>(batches, 'end'),
    /** Ends that nobody waits for, such as those of a journal: in batches of their own, without a limit of time. */
    lateEnds: batcherOf<SettlementRecord, EndResult>(late, 'end'),
  };
}

type Kind = 'end' | 'admission';

const kindOf = (item: Item): Kind => ('outcome' in item ? 'end' : 'admission');

/** What one kind of items, whose results are of one kind too, sees of a batcher of both. */
function batcherOf<Given extends Item, Got extends Result>(
  batches: AccountBatcher<Item, Result>,
  kind: Kind,
): Batcher<Given, Got> {
  return {
    submit: (given, dueMs) => batches.submit(given, dueMs) as Promise<Got>,
    drain: () => batches.drain(),
    get size() {
      return batches.countOf(kind);
    },
  };
}

/** What varies in size is the keys of state at a provider, and the ids that clients send. */
function sizeBytesOf(item: Item): number {
  if (!('outcome' in item)) return ITEM_BYTES + item.facts.length;
  const { outcome, made } = item;
  let bytes = ITEM_BYTES + outcome.requestId.length + (outcome.clientRequestId?.length ?? 0);
  for (const key of made?.keys ?? []) bytes += key.length;
  for (const { provider, model, error } of outcome.failedRoutes) bytes += provider.length + model.length + error.length;
  return bytes;
}
