import { isDataError } from '../../db/errors.ts';
import { type Questions, refusedFor } from '../../db/questions/database-questions.ts';
import { type Batcher, ItemBatcher } from '../../lib/batcher.ts';
import { NotBegunError } from '../../lib/batcher-errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { type BillingTime, runningPeriods } from '../pricing/running-periods.ts';
import { AskedAccounts } from './account-store.ts';
import { admissionTerms, type ReservationTerms } from './admission-terms.ts';
import { decideLooks } from './admit.ts';
import type { AskingCall } from './limits/limit.ts';
import { BATCH_ITEMS_MAX, pastLocked, WAITING_ITEMS_MAX } from './locked-accounts.ts';
import { type Admission, type CallName, callKey, type Refusal, type ReservationRequest } from './reservation.ts';
import type { ReservationStore } from './store.ts';

export interface AdmissionObserver {
  batch(callCount: number, tookMs: number): void;
  /** Called after success and failure. The time includes the wait for a batch. */
  admission(tookMs: number): void;
}

export interface ReservationsOptions {
  readonly store: ReservationStore;
  /** Each admission completes or fails within its time limit. */
  readonly admissions: Batcher<ReservationRequest, Admission>;
  readonly questions: Questions;
  readonly logger: Logger;
  readonly nodeId: string;
  readonly terms: () => ReservationTerms;
  readonly testClock?: Clock | undefined;
  readonly retryDelayMs?: number | undefined;
  /** Maximum number of admissions with an unknown result that wait for their release. Recovery releases further ones. */
  readonly waitingItemsMax?: number | undefined;
  readonly observer?: AdmissionObserver | undefined;
}

const RETRY_DELAY_MS = 200;
const LOOKS_WAITING_MAX = 20_000;
/** Interval of the search for reservations of this node that belong to no known call. */
const RELEASE_MS = 60_000;

export type Reservations = ReturnType<typeof createReservations>;

/** `README.md` describes the model and its invariants. */
export function createReservations(options: ReservationsOptions) {
  const { store, admissions, questions, testClock, logger, nodeId, terms, observer } = options;
  const { timers } = questions.limit;
  const retryDelayMs = options.retryDelayMs ?? RETRY_DELAY_MS;
  const waitingItemsMax = options.waitingItemsMax ?? WAITING_ITEMS_MAX;
  /** Calls of this node that have a reservation or might get one. */
  const known = new Set<string>();
  /**
   * Calls whose admission has an unknown result. Above the limit, only `releaseOnce` finds further ones, among the reservations of this
   * node.
   */
  const doubtful = new Map<string, CallName>();
  let releasing: Promise<void> | null = null;
  let isClosing = false;

  const looks = new ItemBatcher<Omit<AskingCall, 'request'>, Refusal | null>({
    run: questions.guard((calls, { signal }) => lookAll(calls, signal)),
    limit: questions.limit,
    isItemFault: () => false,
    batchItemsMax: BATCH_ITEMS_MAX,
    waitingItemsMax: LOOKS_WAITING_MAX,
  });
  const timer = setInterval(() => void releaseUnknown(), RELEASE_MS);
  timer.unref();

  function billingTime(): BillingTime {
    const { localTime } = terms();
    return { nowMs: testClock?.nowMs() ?? null, periodsAt: (epochMs) => runningPeriods(localTime, epochMs) };
  }

  async function lookAll(
    calls: readonly Omit<AskingCall, 'request'>[],
    signal: AbortSignal,
  ): Promise<(Refusal | null)[]> {
    const termsNow = admissionTerms(options);
    const asked = new AskedAccounts();
    // Limits per minute are not read: their use can change a lot before the body has arrived.
    for (const call of calls) {
      asked.addCall(call);
      if (call.isOnPlan) asked.callsOnPlan.set(call.accountId, 1);
    }
    const found = await store.look(asked, termsNow, signal);
    return decideLooks(calls, found.accounts, termsNow.contextAt(found.nowMs));
  }

  function doubt(call: CallName): void {
    if (doubtful.size < waitingItemsMax) {
      doubtful.set(callKey(call), { accountId: call.accountId, callId: call.callId });
    }
    void releaseUnknown();
  }

  function releaseUnknown(): Promise<void> {
    releasing ??= releaseRounds();
    return releasing;
  }

  /** At least one round, and further ones while the result of an admission is unknown. */
  async function releaseRounds(): Promise<void> {
    do {
      const before = doubtful.size;
      if (before > 0) await pause(retryDelayMs);
      try {
        await releaseOnce();
      } catch (error) {
        logger.warn(
          { err: error, calls: doubtful.size },
          'failed to release the reservations of failed admissions; retrying',
        );
      }
      // Recovery releases the remaining reservations, for example those of locked accounts.
      if (isClosing && doubtful.size >= before) break;
    } while (doubtful.size > 0);
    // Runs synchronously after the last check of `doubtful`, so that the next doubtful admission starts another round.
    releasing = null;
  }

  async function releaseOnce(): Promise<void> {
    const doubted = [...doubtful.values()].slice(0, BATCH_ITEMS_MAX);
    // Calls whose accounts are locked move to the end of the queue.
    for (const call of doubted) doubtful.delete(callKey(call));
    const left = new Map(doubted.map((call) => [callKey(call), call]));
    try {
      // The release locks the accounts, and therefore waits for admissions that are pending on the server.
      for (const call of doubted.length > 0 ? await releaseFree(doubted) : []) left.delete(callKey(call));
    } finally {
      for (const [key, call] of left) doubtful.set(key, call);
    }
    const mine = await store.listOfNode(nodeId);
    const unknown = mine.filter((call) => !known.has(callKey(call)));
    for (let from = 0; from < unknown.length; from += BATCH_ITEMS_MAX) {
      await releaseFree(unknown.slice(from, from + BATCH_ITEMS_MAX));
    }
  }

  /** Skips calls whose accounts are locked. Returns the released calls. */
  function releaseFree(calls: readonly CallName[]): Promise<readonly CallName[]> {
    return pastLocked((locks) => store.release(calls, billingTime(), locks));
  }

  return {
    /** When this resolves with an admission, the reservation is durable. @throws GatewayError `databaseDown`. */
    async admit(request: ReservationRequest): Promise<Admission> {
      const key = callKey(request);
      const askedAtMs = timers.nowMs();
      known.add(key);
      try {
        const admission = await admissions.submit(request);
        if (!admission.isAdmitted) known.delete(key);
        return admission;
      } catch (error) {
        known.delete(key);
        // Nothing was reserved if the admission was not sent, or the database rejected a value. Otherwise the result is unknown.
        if (!(error instanceof NotBegunError) && !isDataError(error)) doubt(request);
        throw refusedFor(error);
      } finally {
        observer?.admission(timers.nowMs() - askedAtMs);
      }
    },
    /** Returns why an admission would refuse the call now, whatever its body contains, or `null`. Reserves nothing. */
    async look(call: Omit<AskingCall, 'request'>): Promise<Refusal | null> {
      try {
        return await looks.submit(call);
      } catch (error) {
        throw refusedFor(error);
      }
    },
    /** Must be called when a call has ended in the database. */
    ended(call: CallName): void {
      known.delete(callKey(call));
    },
    /** Releases reservations of this node whose admissions failed with an unknown result. Also called by a timer. Never throws. */
    releaseUnknown,
    async drain(): Promise<void> {
      isClosing = true;
      clearInterval(timer);
      await admissions.drain();
      await looks.drain();
      await releasing;
    },
    get open(): number {
      return known.size;
    },
    get waiting(): number {
      return admissions.size;
    },
    /** Number of failed admissions that might have reserved something. */
    get doubtful(): number {
      return doubtful.size;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
