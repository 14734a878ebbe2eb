import { isDataError } from '../../db/errors.ts';
import { type Questions, refusedFor } from '../../db/questions/database-questions.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { ItemBatcher, withoutResults } from '../../lib/batcher.ts';
import { LateError } from '../../lib/batcher-errors.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Tenant } from '../../lib/fair/shares.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { createTwoPhase, type HeldCall } from '../../lib/two-phase.ts';
import { createLateClaims } from './late-claims.ts';
import type { CallKey, KeyedCall, StoredResponse } from './stored-response.ts';
import { ResponseMemory, STORING_FACTOR, type StoredResponseBudget } from './stored-response-budget.ts';
import { createStoredResponseCapacity } from './stored-response-capacity.ts';
import type {
  ClaimRequest,
  ClaimTerms,
  ClaimVerdict,
  FoundResponse,
  StoredClaim,
  StoredResponseStore,
} from './stored-response-store.ts';

export interface Waiter {
  readonly isGone: boolean;
  readonly gone: Promise<void>;
}

export type ClaimResult =
  | { readonly state: 'claimed'; readonly claim: Claim }
  | { readonly state: 'answered'; readonly response: StoredResponse }
  | { readonly state: 'other_request' }
  /** Too many requests wait for the end of the same call. */
  | { readonly state: 'crowded' }
  /** The waiting request was aborted, or the process stops. */
  | { readonly state: 'given_up' };

/** The right to run the call of an idempotency key. Must be closed. */
export interface Claim {
  readonly bodyBytesMax: number;
  /** Reserves memory to store a body of this size. Returns false if there is none. May be called again for a larger size. */
  takeMemory(bodyBytes: number): boolean;
  readonly held: HeldCall;
  /** How long the response is kept after the end of the call, in milliseconds. */
  readonly keptForMs: number;
  /** Called when the call is settled. `null`: no response is stored. */
  settled(response: StoredResponse | null): void;
  /** Ends the claim. If no response was stored, the key is freed in the background. */
  close(): void;
}

/** Thrown if this node counted as dead and another one has taken over the claim. */
export class ClaimLostError extends Error {
  constructor() {
    super('another node took over the claim of an idempotency key');
    this.name = 'ClaimLostError';
  }
}

interface StoredResponseTerms {
  readonly keptForMs: number;
  readonly bodyBytesMax: number;
  readonly accountBytesMax: number;
}

interface StoredResponsesOptions {
  readonly store: StoredResponseStore;
  readonly budget: StoredResponseBudget;
  readonly questions: Questions;
  readonly ids: Ids;
  readonly logger: Logger;
  /** This is a function because the configuration may be reloaded. */
  readonly terms: () => StoredResponseTerms;
  /** For tests: replaces the database's clock and the intervals. */
  readonly testClock?: Clock | undefined;
  readonly pollMs?: number;
  readonly renewMs?: number;
  readonly freeLateMs?: number;
}

/** After this time without renewal, a claim's node counts as dead, even if it only lost its connection to the database. */
const CLAIM_MS = 60_000;
const RENEW_MS = 15_000;
const FREE_LATE_MS = 2_000;
/** Interval of queries for the end of a call on another node. */
const POLL_MS = 500;
/** Maximum number of requests that wait for the same call. Their bodies stay in memory, which no budget limits. */
const WAITING_FOR_ONE_MAX = 100;
const BATCH_ITEMS_MAX = 256;
const WAITING_ITEMS_MAX = 50_000;

/**
 * An idempotency key that is being looked up, or whose call runs on this node:
 *
 *     looked up ──claimed, or running elsewhere──▶ certain ──stored──▶ over
 *          │                                          └──not stored──▶ being freed ──▶ over
 *          └──used for another request, aborted, failed──▶ over
 */
interface Local {
  readonly fingerprint: string;
  /** Whether the key certainly belongs to this request. Then a different request with the same key is refused. */
  isCertain: boolean;
  isOver: boolean;
  /** `null`: no response is stored. */
  response: StoredResponse | null;
  /** Callbacks for the next change, each called once. A waiting request that is aborted removes its own. */
  readonly waiting: Set<() => void>;
}

export type StoredResponses = ReturnType<typeof createStoredResponses>;

/** Stores responses for repeated requests. `calls/idempotency/README.md` describes the whole path. */
export function createStoredResponses(options: StoredResponsesOptions) {
  const { store, questions, budget, testClock, ids, logger } = options;
  const pollMs = options.pollMs ?? POLL_MS;
  const local = new Map<string, Local>();
  const claimed = new Set<HeldCall>();
  const pauses = new Set<() => void>();
  const memories = new Map<string, ResponseMemory>();
  const room = createStoredResponseCapacity({
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
    // The statement requires distinct keys. `local` ensures this: it allows one lookup per key.
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
      logger.warn({ err: error }, 'failed to renew the claims of idempotency keys');
    });
  }, options.renewMs ?? RENEW_MS);
  renewal.unref();

  /** Waits for `pollMs`, or until `stopWaiting` is called. */
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

  /** Queries the database until the key is claimed, or the call on another node has ended with a stored response. */
  async function ask(
    request: ClaimRequest,
    waiter: Waiter,
    tenant: Tenant,
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
      if (response !== null) return readWhole(request, response, tenant);
      await pause();
      if (waiter.isGone || isStopped) return 'given_up';
    }
  }

  /** Reads a stored body. @throws GatewayError `overloaded` if there is no memory */
  async function readWhole(
    call: KeyedCall,
    { head, body, unreadBytes }: FoundResponse,
    tenant: Tenant,
  ): Promise<StoredResponse> {
    if (unreadBytes === undefined) return { head, body };
    const memory = budget.takeMemory(tenant, unreadBytes * STORING_FACTOR);
    if (memory === null) throw new GatewayError('overloaded', { headers: { 'retry-after': '2' } });
    try {
      return { head, body: await questions.ask((signal) => store.readBody(call, signal)) };
    } finally {
      memory.release();
    }
  }

  function createClaim(
    held: HeldCall,
    tenant: Tenant,
    mine: Local,
    end: (response: StoredResponse | null) => void,
  ): Claim {
    const { bodyBytesMax, keptForMs } = options.terms();
    const memory = new ResponseMemory(budget, tenant);
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
            logger.warn({ err: error }, 'failed to release an idempotency key; retrying');
            calls.abandon(held);
          })
          .finally(() => end(null));
      },
    };
  }

  return {
    /** Claims a key. Waits while another call with this key runs on any node. @throws GatewayError `databaseDown`; `overloaded` */
    async claim(call: KeyedCall, waiter: Waiter, tenant: Tenant): Promise<ClaimResult> {
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
        const found = await ask(request, waiter, tenant, onCertain);
        if (found === 'claimed') {
          onCertain();
          const { accountId, callId } = request;
          return { state: 'claimed', claim: createClaim({ accountId, callId }, tenant, mine, end) };
        }
        end(typeof found === 'string' ? null : found);
        return typeof found === 'string' ? { state: found } : { state: 'answered', response: found };
      } catch (error) {
        end(null);
        throw refusedFor(error);
      }
    },
    /** Whether a call with the key runs or has a stored response. @throws GatewayError `databaseDown`. */
    async isKnown(key: CallKey): Promise<boolean> {
      if (local.get(placeOf(key))?.isCertain === true) return true;
      try {
        return await questions.ask((signal) => store.isHeld(key, terms().nowMs, signal));
      } catch (error) {
        throw refusedFor(error);
      }
    },
    /**
     * Stores a response before its call is settled, without its body if the account's limit is reached. Safe to repeat.
     *
     * @throws ClaimLostError if another node runs the call; it must not be charged here
     * @throws if the response was not stored, or the outcome is unknown
     */
    async keep(responded: StoredClaim): Promise<void> {
      const { accountId, callId, body } = responded;
      // If the response went to the journal first, the call is already over, and this memory still has the body.
      const memory = memories.get(callId);
      memory?.use();
      try {
        const hasCapacity = await room.take(accountId, body?.length ?? 0);
        const stored = hasCapacity || body === null ? responded : withoutBody(responded);
        if (!(await calls.end(stored))) throw new ClaimLostError();
      } catch (error) {
        // The response will be stored by a later attempt, and its size must count only once.
        room.forget(accountId);
        throw error;
      } finally {
        memory?.release();
      }
    },
    /** Frees idempotency keys that an earlier process claimed. Only for a database that one process uses alone. */
    freeLeftClaims: (): Promise<void> => store.freeLeft(),
    /** From now on, requests that wait for another call are refused rather than run. */
    stopWaiting(): void {
      isStopped = true;
      for (const end of pauses) end();
    },
    async drain(): Promise<void> {
      clearInterval(renewal);
      await frees.drain();
      await calls.drain();
      await lateClaims.stop();
    },
    get size(): number {
      return local.size;
    },
  };
}

function placeOf({ accountId, keyId, idempotencyKey }: CallKey): string {
  return JSON.stringify([accountId, keyId, idempotencyKey]);
}

/** Returns a response without its body, for a body that exceeds the capacity. */
export function withoutBody(responded: StoredClaim): StoredClaim {
  const { head } = responded;
  return { ...responded, head: 'error' in head ? head : { ...head, hasNoRoom: true }, body: null };
}

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
