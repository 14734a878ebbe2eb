import { isDataError } from '../../db/errors.ts';
import { type Questions, refusedFor } from '../../db/questions/database-questions.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { ItemBatcher, withoutResults } from '../../lib/batcher.ts';
import { LateError } from '../../lib/batcher-errors.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { ShareHolder } from '../../lib/fair/shares.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { createTwoPhase, type HeldCall } from '../../lib/two-phase.ts';
import { createLateClaims } from './late-claims.ts';
import type { CallKey, KeyedCall, StoredResponse } from './stored-response.ts';
import { ResponseMemory, STORING_FACTOR, type StoredResponseBudget } from './stored-response-budget.ts';
import { createStoredResponseRoom } from './stored-response-room.ts';
import type {
  ClaimRequest,
  ClaimTerms,
  ClaimVerdict,
  FoundResponse,
  StoredClaim,
  StoredResponseStore,
} from './stored-response-store.ts';

/** A request that waits for a response. */
export interface Waiter {
  readonly isGone: boolean;
  /** Resolves when the client does not wait any more. */
  readonly gone: Promise<void>;
}

export type ClaimResult =
  | { readonly state: 'claimed'; readonly claim: Claim }
  | { readonly state: 'answered'; readonly response: StoredResponse }
  | { readonly state: 'other_request' }
  /** Too many requests wait for the same call. */
  | { readonly state: 'crowded' }
  /** The waiter is gone, or the process is about to end. */
  | { readonly state: 'given_up' };

/** The right to run the call of a key. Its owner has to close it. */
export interface Claim {
  /** The largest body that is stored. */
  readonly bodyBytesMax: number;
  /** Takes the memory to store a body of this size; returns false if there is none now. May be called again for more. */
  takeMemory(bodyBytes: number): boolean;
  /** The claim as it is stored. */
  readonly held: HeldCall;
  /** How long a response is kept from the end of its call on. */
  readonly keptForMs: number;
  /** The call is settled, with a response for its repeats, or with nothing that is stored. */
  settled(response: StoredResponse | null): void;
  /**
   * The call is over. If it was not settled, or nothing was stored, the key is freed in the background: only repeats wait
   * for that, not the client that was refused.
   */
  close(): void;
}

/** This node was taken for dead, and another one has taken over the claim. */
export class ClaimLostError extends Error {
  constructor() {
    super('the claim of an idempotency key was taken over');
    this.name = 'ClaimLostError';
  }
}

interface StoredResponseTerms {
  readonly keptForMs: number;
  /** The largest body that is stored. */
  readonly bodyBytesMax: number;
  /** What all bodies of an account may take. */
  readonly accountBytesMax: number;
}

interface StoredResponsesOptions {
  readonly store: StoredResponseStore;
  readonly budget: StoredResponseBudget;
  readonly questions: Questions;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Read anew each time: the configuration may be reloaded. */
  readonly terms: () => StoredResponseTerms;
  /** For tests; what is absent is as in production. A clock in place of the database's. */
  readonly testClock?: Clock | undefined;
  readonly pollMs?: number;
  readonly renewMs?: number;
  readonly freeLateMs?: number;
}

/** A node that has not renewed its claims for this long is taken for dead, even if it only lost the database. */
const CLAIM_MS = 60_000;
const RENEW_MS = 15_000;
/** How often claims that came too late are freed again. */
const FREE_LATE_MS = 2_000;
/** How often the database is asked whether a call on another node has ended. */
const POLL_MS = 500;
/** How many requests may wait for one call on a node: each keeps its body in memory, and has no reservation. */
const WAITING_FOR_ONE_MAX = 100;
const BATCH_ITEMS_MAX = 256;
const WAITING_ITEMS_MAX = 50_000;

/**
 * A key whose call runs here, or that is being looked up:
 *
 *     looked up ──claimed, or running elsewhere──▶ certain ──stored──▶ over
 *          │                                          └──not stored──▶ being freed ──▶ over
 *          └──used for another request, given up, failed──▶ over
 */
interface Local {
  readonly fingerprint: string;
  /** Whether the key belongs to this request, so that another one is refused. */
  isCertain: boolean;
  isOver: boolean;
  /** The stored response of the call; `null` if there is none. */
  response: StoredResponse | null;
  /** Run once at the next change. A waiter that leaves removes its own, so that none piles up while the call runs. */
  readonly waiting: Set<() => void>;
}

export type StoredResponses = ReturnType<typeof createStoredResponses>;

/** Stored responses of calls that carry an Idempotency-Key; `calls/idempotency/README.md` has the whole path. */
export function createStoredResponses(options: StoredResponsesOptions) {
  const { store, questions, budget, testClock, ids, logger } = options;
  const pollMs = options.pollMs ?? POLL_MS;
  const local = new Map<string, Local>();
  const claimed = new Set<HeldCall>();
  const pauses = new Set<() => void>();
  /** Of claims whose call runs here, or whose response is being stored. */
  const memories = new Map<string, ResponseMemory>();
  const room = createStoredResponseRoom({
    readBytes: (accountId) => store.storedBytes(accountId),
    bytesMax: () => options.terms().accountBytesMax,
    clock: testClock ?? systemClock,
    logger,
  });
  let isStopped = false;

  const terms = (): ClaimTerms => ({
    nowMs: testClock?.nowMs() ?? null,
    claimedForMs: CLAIM_MS,
    keptForMs: options.terms().keptForMs,
  });
  const calls = createTwoPhase<ClaimRequest, ClaimVerdict, StoredClaim, boolean>({
    // No key occurs twice in a batch, which the statement could not take: `local` has one look-up for each.
    admit: questions.guard((requests, { signal }) => store.claim(requests, terms(), signal)),
    admissionLimit: questions.limit,
    async end(responded) {
      const results: boolean[] = [];
      for (const each of responded) results.push(await store.keep(each, terms()));
      return results;
    },
    release: (claims) => store.free(claims),
    isItemFault: isDataError,
    logger,
  });
  const frees = new ItemBatcher<HeldCall, undefined>({
    run: withoutResults((claims) => store.free(claims)),
    isItemFault: () => false,
    batchItemsMax: BATCH_ITEMS_MAX,
    waitingItemsMax: WAITING_ITEMS_MAX,
  });

  const lateClaims = createLateClaims({
    free: (claims) => store.free(claims),
    claimMs: CLAIM_MS,
    everyMs: options.freeLateMs ?? FREE_LATE_MS,
    logger,
  });

  const renewal = setInterval(() => {
    if (claimed.size === 0) return;
    store.renew([...claimed], terms()).catch((error: unknown) => {
      logger.warn({ err: error }, 'the claims of idempotency keys could not be renewed');
    });
  }, options.renewMs ?? RENEW_MS);
  renewal.unref();

  /** Resolves after `pollMs`, or when all waiting ends. */
  function pause(): Promise<void> {
    if (isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        pauses.delete(end);
        resolve();
      };
      const timer = setTimeout(end, pollMs);
      pauses.add(end);
    });
  }

  /** Asks the database until the key is claimed, or the call of another node has ended with a stored response. */
  async function ask(
    request: ClaimRequest,
    waiter: Waiter,
    holder: ShareHolder,
    onCertain: () => void,
  ): Promise<'claimed' | 'other_request' | 'given_up' | StoredResponse> {
    for (;;) {
      const verdict = await calls.admit(request).catch((error: unknown) => {
        if (error instanceof LateError) lateClaims.add(request);
        throw error;
      });
      if (verdict === 'claimed' || verdict === 'other_request') return verdict;
      if (verdict === 'contended') continue;
      onCertain();
      const response = verdict === 'answered' ? await questions.ask((signal) => store.find(request, signal)) : null;
      if (response !== null) return readWhole(request, response, holder);
      await pause();
      if (waiter.isGone || isStopped) return 'given_up';
    }
  }

  /** @throws GatewayError `overloaded` */
  async function readWhole(
    call: KeyedCall,
    { head, body, unreadBytes }: FoundResponse,
    holder: ShareHolder,
  ): Promise<StoredResponse> {
    if (unreadBytes === undefined) return { head, body };
    const memory = budget.takeMemory(holder, unreadBytes * STORING_FACTOR);
    if (memory === null) throw new GatewayError('overloaded', { headers: { 'retry-after': '2' } });
    try {
      return { head, body: await questions.ask((signal) => store.readBody(call, signal)) };
    } finally {
      memory.release();
    }
  }

  function createClaim(
    held: HeldCall,
    holder: ShareHolder,
    mine: Local,
    end: (response: StoredResponse | null) => void,
  ): Claim {
    const { bodyBytesMax, keptForMs } = options.terms();
    const memory = new ResponseMemory(budget, holder);
    let kept: StoredResponse | null = null;
    claimed.add(held);
    memories.set(held.callId, memory);
    return {
      bodyBytesMax,
      takeMemory: (bodyBytes) => memory.take(bodyBytes),
      held,
      keptForMs,
      settled(response) {
        kept = response;
      },
      close() {
        claimed.delete(held);
        memories.delete(held.callId);
        memory.release();
        if (kept !== null) {
          end(kept);
          return;
        }
        mine.isCertain = false;
        frees
          .submit(held)
          .catch((error: unknown) => {
            logger.warn({ err: error }, 'an idempotency key could not be freed yet');
            calls.abandon(held);
          })
          .finally(() => end(null));
      },
    };
  }

  return {
    /**
     * Claims the key of a call. If another call with the same key runs, on this node or another, it waits for that one, as
     * long as the waiter does.
     *
     * @throws GatewayError `overloaded` if there is no memory for a stored response that is large; `databaseDown`.
     */
    async claim(call: KeyedCall, waiter: Waiter, holder: ShareHolder): Promise<ClaimResult> {
      const place = placeOf(call);
      for (let other = local.get(place); other !== undefined; other = local.get(place)) {
        const isSame = other.fingerprint === call.fingerprint;
        if (!isSame && other.isCertain) return { state: 'other_request' };
        if (other.waiting.size >= WAITING_FOR_ONE_MAX) return { state: 'crowded' };
        await nextChange(other, waiter);
        if (isSame && other.response !== null) return { state: 'answered', response: other.response };
        if (waiter.isGone || (isStopped && other.isOver)) return { state: 'given_up' };
      }
      const mine: Local = {
        fingerprint: call.fingerprint,
        isCertain: false,
        isOver: false,
        response: null,
        waiting: new Set(),
      };
      local.set(place, mine);
      const onCertain = (): void => {
        mine.isCertain = true;
        wake(mine);
      };
      const end = (response: StoredResponse | null): void => {
        local.delete(place);
        mine.isOver = true;
        mine.response = response;
        wake(mine);
      };
      const request: ClaimRequest = { ...call, callId: ids.next('claim') };
      try {
        const found = await ask(request, waiter, holder, onCertain);
        if (found === 'claimed') {
          onCertain();
          const { accountId, callId } = request;
          return { state: 'claimed', claim: createClaim({ accountId, callId }, holder, mine, end) };
        }
        end(typeof found === 'string' ? null : found);
        return typeof found === 'string' ? { state: found } : { state: 'answered', response: found };
      } catch (error) {
        end(null);
        throw refusedFor(error);
      }
    },
    /**
     * Whether a key belongs to a call that runs or has left a response, so that a further request with it is no new call.
     *
     * @throws GatewayError `databaseDown`.
     */
    async isKnown(key: CallKey): Promise<boolean> {
      if (local.get(placeOf(key))?.isCertain === true) return true;
      try {
        return await questions.ask((signal) => store.isHeld(key, terms().nowMs, signal));
      } catch (error) {
        throw refusedFor(error);
      }
    },
    /**
     * Stores the response of a call before the call is settled; repeats get it after that. Where the account's responses take
     * all of their room, it is stored without its body. Safe to repeat.
     *
     * @throws ClaimLostError where this node was taken for dead and another one runs the call; it must not be charged here.
     * @throws if the response was not stored, or it is not known whether it was.
     */
    async keep(responded: StoredClaim): Promise<void> {
      const { accountId, callId, body } = responded;
      // The call may be over before its response is stored: then it is in the journal, and the body still in memory.
      const memory = memories.get(callId);
      memory?.use();
      try {
        const hasRoom = await room.take(accountId, body?.length ?? 0);
        const stored = hasRoom || body === null ? responded : withoutBody(responded);
        if (!(await calls.end(stored))) throw new ClaimLostError();
      } catch (error) {
        // It is tried again until the database has it, and takes its room once.
        room.forget(accountId);
        throw error;
      } finally {
        memory?.release();
      }
    },
    /** Frees the claims that an earlier process left. Only for a database that has one owner. */
    freeLeftClaims: (): Promise<void> => store.freeLeft(),
    /** Ends all waiting for calls of other nodes; a call that waited for another one to end does not begin any more. */
    stopWaiting(): void {
      isStopped = true;
      for (const end of pauses) end();
    },
    /** Resolves when nothing waits for the database any more. */
    async drain(): Promise<void> {
      clearInterval(renewal);
      await frees.drain();
      await calls.drain();
      await lateClaims.stop();
    },
    /** Keys whose call runs here, or that are being looked up. */
    get size(): number {
      return local.size;
    },
  };
}

function placeOf({ accountId, keyId, idempotencyKey }: CallKey): string {
  return JSON.stringify([accountId, keyId, idempotencyKey]);
}

/** The response without its body, as if there is no room for it. */
export function withoutBody(responded: StoredClaim): StoredClaim {
  const { head } = responded;
  return { ...responded, head: 'error' in head ? head : { ...head, hasNoRoom: true }, body: null };
}

/** Resolves when something has changed, or the waiter is gone. */
function nextChange({ waiting }: Local, waiter: Waiter): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve);
    void waiter.gone.then(() => {
      waiting.delete(resolve);
      resolve();
    });
  });
}

function wake({ waiting }: Local): void {
  for (const resolve of waiting) resolve();
  waiting.clear();
}
