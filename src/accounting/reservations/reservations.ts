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

/** Hears of admissions, for metrics. */
export interface AdmissionObserver {
  /** A transaction with so many admissions has ended, whatever came of it. */
  batch(callCount: number, tookMs: number): void;
  /** An admission has ended with a verdict or an error; the time includes its wait for a batch. */
  admission(tookMs: number): void;
}

export interface ReservationsOptions {
  readonly store: ReservationStore;
  /** Decides on admissions, coalesced; each is decided on in time, or fails. */
  readonly admissions: Batcher<ReservationRequest, Admission>;
  readonly questions: Questions;
  readonly logger: Logger;
  /** Identifies this process in its reservations, so that other nodes know which node made them. */
  readonly nodeId: string;
  readonly terms: () => ReservationTerms;
  /** For tests; what is absent is as in production. A clock in place of the database's. */
  readonly testClock?: Clock | undefined;
  readonly retryDelayMs?: number | undefined;
  /** Lost admissions that may wait for their release; further ones are left for recovery. */
  readonly waitingItemsMax?: number | undefined;
  readonly observer?: AdmissionObserver | undefined;
}

const RETRY_DELAY_MS = 200;
const LOOKS_WAITING_MAX = 20_000;
/** How often a node looks for reservations of its own that it does not know. */
const RELEASE_MS = 60_000;

export type Reservations = ReturnType<typeof createReservations>;

/** Admits calls, coalesced; see `README.md` beside this file for the model and its invariants. */
export function createReservations(options: ReservationsOptions) {
  const { store, admissions, questions, testClock, logger, nodeId, terms, observer } = options;
  const { timers } = questions.limit;
  const retryDelayMs = options.retryDelayMs ?? RETRY_DELAY_MS;
  const waitingItemsMax = options.waitingItemsMax ?? WAITING_ITEMS_MAX;
  /** Calls of this node that have, or may rightly have, a reservation. */
  const known = new Set<string>();
  /**
   * Admissions whose result is unknown; their number is bounded, because each call adds one while the database is down. The
   * others are found among the reservations of this node.
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
    // What a minute leaves changes until the body is there.
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

  /** At least one round; as many as it takes if an admission is in doubt. */
  async function releaseRounds(): Promise<void> {
    do {
      const before = doubtful.size;
      if (before > 0) await pause(retryDelayMs);
      try {
        await releaseOnce();
      } catch (error) {
        logger.warn({ err: error, calls: doubtful.size }, 'reservations of failed admissions wait to be released');
      }
      // What stays now, such as that of accounts that are locked, is left for recovery.
      if (isClosing && doubtful.size >= before) break;
    } while (doubtful.size > 0);
    // In the same turn as the last look at the doubtful ones, so that the next one starts another round.
    releasing = null;
  }

  async function releaseOnce(): Promise<void> {
    const doubted = [...doubtful.values()].slice(0, BATCH_ITEMS_MAX);
    // Those that stay, because their accounts are locked, come after the others the next time.
    for (const call of doubted) doubtful.delete(callKey(call));
    const left = new Map(doubted.map((call) => [callKey(call), call]));
    try {
      // Locks their accounts, and so waits for those that are still under way in the server.
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

  /** Releases calls, but for those whose accounts somebody else has locked; returns the others. */
  function releaseFree(calls: readonly CallName[]): Promise<readonly CallName[]> {
    return pastLocked((locks) => store.release(calls, billingTime(), locks));
  }

  return {
    /**
     * Decides on a call. When it resolves with an admission, the reservation is durable.
     *
     * @throws GatewayError `databaseDown`; a reservation that was made all the same is released later.
     */
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
        // Before its turn, and with a refused value, nothing was reserved for certain; else that is unknown.
        if (!(error instanceof NotBegunError) && !isDataError(error)) doubt(request);
        throw refusedFor(error);
      } finally {
        observer?.admission(timers.nowMs() - askedAtMs);
      }
    },
    /** Why an admission would refuse a call now, whatever its body says; it reserves nothing. */
    async look(call: Omit<AskingCall, 'request'>): Promise<Refusal | null> {
      try {
        return await looks.submit(call);
      } catch (error) {
        throw refusedFor(error);
      }
    },
    /** The call has ended in the database: it is not one of this node's any more. */
    ended(call: CallName): void {
      known.delete(callKey(call));
    },
    /**
     * Releases this node's reservations of calls that it does not know: those of admissions whose result was lost. A timer
     * calls it, and every admission that fails without a certain result. Never throws.
     */
    releaseUnknown,
    /** Resolves when nothing waits for the database any more. */
    async drain(): Promise<void> {
      isClosing = true;
      clearInterval(timer);
      await admissions.drain();
      await looks.drain();
      await releasing;
    },
    /** Calls of this node that have a reservation, or are about to have one. */
    get open(): number {
      return known.size;
    },
    /** Admissions that wait for a batch, or are in one. */
    get waiting(): number {
      return admissions.size;
    },
    /** Failed admissions of which it is unknown whether they have reserved anything. */
    get doubtful(): number {
      return doubtful.size;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
