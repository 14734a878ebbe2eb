import { BATCH_LOCK_MAX_MS } from '../../db/errors.ts';
import type { Questions } from '../../db/questions/database-questions.ts';
import type { Batcher } from '../../lib/batcher.ts';
import type { AdmissionTerms } from '../reservations/account-state.ts';
import { AccountBatcher, type LockMode, type RunBatch, WAITING_ITEMS_MAX } from '../reservations/locked-accounts.ts';
import type { Admission, CallName, ReservationRequest } from '../reservations/reservation.ts';
import type { SettlementRecord } from '../settlement/settlement-record.ts';
import type { EndResult } from '../settlement/store.ts';
import type { BatchStore } from './store.ts';

interface BatchObserver {
  ends(count: number, tookMs: number): void;
  admissions(count: number, tookMs: number): void;
}

interface CallBatchDependencies {
  readonly store: BatchStore;
  readonly questions: Pick<Questions, 'guard' | 'unlessDown' | 'limit'>;
  readonly terms: () => AdmissionTerms;
  /** Maximum number of waiting admissions, and of waiting ends of calls. Further ones are refused. */
  readonly waitingItemsMax?: number | undefined;
  /** Called when the end of a call is stored, even if nobody waits for it any more. */
  readonly onEnded: (call: CallName) => void;
  /** Called when an item begins to wait for the lock of its account. */
  readonly onLocked?: ((accountId: string) => void) | undefined;
  readonly observer?: BatchObserver | undefined;
}

type Item = SettlementRecord | ReservationRequest;
type Result = EndResult | Admission;

/** Maximum size of a batch. Settlement records with long ids and many continuation keys would otherwise delay the other items. */
const BATCH_BYTES_MAX = 1024 * 1024;
/** Approximate size of a settlement record or a reservation request, without the parts that vary. */
const ITEM_BYTES = 1024;

export type CallBatches = ReturnType<typeof createCallBatches>;

/**
 * Writes all ends of calls and admissions that wait at the same time in one transaction:
 *
 *     end ───────┐
 *                ├─▶ waiting ─▶ lock, read ─▶ decide ends, then admissions ─▶ write, commit ─▶ return each result
 *     admission ─┘
 *
 * An admission can use what an end in the same batch releases. After two seconds, an admission fails, and an end goes to the journal
 * (`settlement/settlement.ts`).
 */
export function createCallBatches(dependencies: CallBatchDependencies) {
  const { store, questions, terms, onEnded, onLocked, observer, waitingItemsMax = WAITING_ITEMS_MAX } = dependencies;
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

  /** Judges by the duration of batches whether the database is down, except if they only settle calls: these can wait for locks. */
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
    // If a batch that only settles calls takes longer than this, admissions run next to it, and vice versa.
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
    /** Like `ends`, for records whose result no caller awaits, such as those from a journal. These batches have no time limit. */
    lateEnds: batcherOf<SettlementRecord, EndResult>(late, 'end'),
  };
}

type Kind = 'end' | 'admission';

const kindOf = (item: Item): Kind => ('outcome' in item ? 'end' : 'admission');

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

/** Approximate size of an item. Keys of provider state, ids from clients and failed routes vary in size. */
function sizeBytesOf(item: Item): number {
  if (!('outcome' in item)) return ITEM_BYTES + item.facts.length;
  const { outcome, made } = item;
  let bytes = ITEM_BYTES + outcome.requestId.length + (outcome.clientRequestId?.length ?? 0);
  for (const key of made?.keys ?? []) bytes += key.length;
  for (const { provider, model, words } of outcome.notes?.attempts ?? []) {
    bytes += provider.length + model.length + (words?.length ?? 0);
  }
  for (const { provider, model, error } of outcome.failedRoutes) bytes += provider.length + model.length + error.length;
  return bytes;
}
