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
  /** Called after each admission, also a failed one. The time includes the wait for a batch. */
  admission(tookMs: number): void;
}

export interface ReservationsOptions {
  readonly store: ReservationStore;
  /** Runs admissions in batches. Each one completes or fails within its time limit. */
  readonly admissions: Batcher<ReservationRequest, Admission>;
  readonly questions: Questions;
  readonly logger: Logger;
  readonly nodeId: string;
  readonly terms: () => ReservationTerms;
  readonly testClock?: Clock | undefined;
  readonly retryDelayMs?: number | undefined;
  /** Maximum number of remembered admissions with an unknown result, which must be released. Recovery releases further ones. */
  readonly waitingItemsMax?: number | undefined;
  readonly observer?: AdmissionObserver | undefined;
}

const RETRY_DELAY_MS = 200;
const LOOKS_WAITING_MAX = 20_000;
/** How often this node searches for its reservations that belong to no known call. */
const RELEASE_MS = 60_000;

export type Reservations = ReturnType<typeof createReservations>;

/** Admits calls and releases what failed admissions reserved. `README.md` describes the model and its invariants. */
export function createReservations(options: ReservationsOptions) {
  const { store, admissions, questions, testClock, logger, nodeId, terms, observer } = options;
  const { timers } = questions.limit;
  const retryDelayMs = options.retryDelayMs ?? RETRY_DELAY_MS;
  const waitingItemsMax = options.waitingItemsMax ?? WAITING_ITEMS_MAX;
  /** Calls of this node that have a reservation, or may get one. */
  const known = new Set<string>();
  /** Admissions with an unknown result. If there are too many, the others are found only by the search for reservations of this node. */
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
    // A precheck skips limits per minute: their use can change much until the body has arrived.
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

  /** Releases reservations with an unknown result, in rounds, until none is left; at least one round. */
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
      // At shutdown, a round without progress is the last one. Recovery releases the rest, for example those of locked accounts.
      if (isClosing && doubtful.size >= before) break;
    } while (doubtful.size > 0);
    // Runs synchronously after the last check of `doubtful`, so the next unknown result starts new rounds.
    releasing = null;
  }

  async function releaseOnce(): Promise<void> {
    const doubted = [...doubtful.values()].slice(0, BATCH_ITEMS_MAX);
    // Calls of locked accounts move to the end, so that others are released first.
    for (const call of doubted) doubtful.delete(callKey(call));
    const left = new Map(doubted.map((call) => [callKey(call), call]));
    try {
      // Releasing locks the accounts, so it happens after admissions that still run on the server.
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

  /** Releases calls, except those whose accounts are locked, and returns the released ones. */
  function releaseFree(calls: readonly CallName[]): Promise<readonly CallName[]> {
    return pastLocked((locks) => store.release(calls, billingTime(), locks));
  }

  return {
    /** Admits a call or refuses it. When an admission resolves, its reservation is durable. @throws GatewayError `databaseDown`. */
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
        // An admission that was not sent, or whose values the database rejected, reserved nothing. Otherwise the result is unknown.
        if (!(error instanceof NotBegunError) && !isDataError(error)) doubt(request);
        throw refusedFor(error);
      } finally {
        observer?.admission(timers.nowMs() - askedAtMs);
      }
    },
    /** Returns why an admission would be refused now, whatever the body contains; `null`: it might not be. Reserves nothing. */
    async look(call: Omit<AskingCall, 'request'>): Promise<Refusal | null> {
      try {
        return await looks.submit(call);
      } catch (error) {
        throw refusedFor(error);
      }
    },
    /** Call this when a call has ended in the database. */
    ended(call: CallName): void {
      known.delete(callKey(call));
    },
    /** Releases reservations of this node whose admissions failed with an unknown result. A timer calls it, too. Never throws. */
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
    /** Number of failed admissions that may have reserved something. */
    get doubtful(): number {
      return doubtful.size;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
