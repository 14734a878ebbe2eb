import assert from 'node:assert/strict';
import type { StoredResponse } from '../../src/accounting/repeats/stored-response.ts';
import {
  createStoredResponseStore,
  type StoredClaim,
  type StoredResponseStore,
} from '../../src/accounting/repeats/stored-response-store.ts';
import {
  type ClaimResult,
  createStoredResponses,
  type StoredResponses,
  type Waiter,
} from '../../src/accounting/repeats/stored-responses.ts';
import type { Database } from '../../src/db/database.ts';
import { BodyBudgets } from '../../src/http/body-budgets.ts';
import { createIds } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { NOW_MS, outcomeOf, recordOf, TIME } from '../support/accounting-builders.ts';
import { createTestSettlementStore } from '../support/call-stores.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { waitingForLocks } from '../support/locks.ts';
import { patientQuestions } from '../support/questions.ts';

export const ACCOUNT = 'acct_kept';
export const KEPT_FOR_MS = 3_600_000;

/** One node's handling of stored responses: its own map, and the database that all nodes share. */
export interface Node {
  readonly storedResponses: StoredResponses;
  readonly clock: TestClock;
  /** The keys of each statement that claimed some. */
  readonly batches: string[][];
  claim(key: string, fingerprint?: string, waiter?: Waiter): Promise<ClaimResult>;
  /** What happens to a call around its claim. */
  run(key: string, work: () => Promise<Fate>): Promise<Result>;
}

/** The outcome of a call at its provider and in the database. */
export type Fate = 'succeeded' | 'outcome unknown' | 'refused' | 'not settled';

/** The body of a response, or why the client gets none. */
export type Result =
  | { readonly run: number; readonly fate: Fate }
  | { readonly kept: string }
  | { readonly not: string };

/** A request that waits until the end. */
export function patient(): Waiter {
  return { isGone: false, gone: new Promise(() => undefined) };
}

/** A request whose client may leave. */
export function leaving(): Waiter & { leave(): void } {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  let isGone = false;
  return {
    gone,
    get isGone() {
      return isGone;
    },
    leave() {
      isGone = true;
      resolve();
    },
  };
}

function failureOf(requestId: string): StoredResponse {
  const error = {
    kind: 'upstreamError',
    status: 502,
    code: 'upstream_error',
    message: 'Gone.',
    param: null,
    type: null,
  };
  return {
    head: { error: { ...error, kind: 'upstreamError', retry: 'no', headers: {}, requestId }, callHeaders: {} },
    body: null,
  };
}

function saidBy({ head, body }: StoredResponse): string {
  return 'error' in head ? head.error.requestId : body!.toString();
}

export function responseOf(text: string): StoredResponse {
  return { head: { status: 200, headers: { 'x-request-id': text }, callHeaders: {} }, body: Buffer.from(text) };
}

let runs = 0;

export function createNode(
  database: Database,
  options: {
    store?: Partial<StoredResponseStore>;
    renewMs?: number;
    freeLateMs?: number;
    accountBytesMax?: number;
  } = {},
): Node {
  const clock = createTestClock(new Date(NOW_MS).toISOString());
  const real = createStoredResponseStore(database);
  const batches: string[][] = [];
  const store: StoredResponseStore = {
    ...real,
    claim(requests, terms) {
      batches.push(requests.map(({ idempotencyKey }) => idempotencyKey));
      return real.claim(requests, terms);
    },
    ...options.store,
  };
  const storedResponses = createStoredResponses({
    budget: new BodyBudgets({ memoryBytes: 2 ** 30, diskBytes: 2 ** 30 }),
    store,
    questions: patientQuestions(),
    testClock: clock,
    ids: createIds(clock),
    logger: silentLogger,
    terms: () => ({ keptForMs: KEPT_FOR_MS, bodyBytesMax: 1024, accountBytesMax: options.accountBytesMax ?? 2 ** 20 }),
    pollMs: 1,
    ...(options.renewMs === undefined ? {} : { renewMs: options.renewMs }),
    ...(options.freeLateMs === undefined ? {} : { freeLateMs: options.freeLateMs }),
  });
  const claim = (key: string, fingerprint = 'same', waiter = patient()): Promise<ClaimResult> =>
    storedResponses.claim({ accountId: ACCOUNT, keyId: 'key_1', idempotencyKey: key, fingerprint }, waiter, {
      accountId: ACCOUNT,
      isOnlyAccount: true,
    });

  return {
    storedResponses,
    clock,
    batches,
    claim,
    async run(key, work) {
      const result = await claim(key);
      if (result.state === 'answered') return { kept: saidBy(result.response) };
      if (result.state !== 'claimed') return { not: result.state };
      const run = ++runs;
      try {
        const fate = await work();
        if (fate === 'refused') return { run, fate };
        const callId = `call_${run}`;
        const response = fate === 'succeeded' ? responseOf(`run ${run}`) : failureOf(`run ${run}`);
        const kept = {
          ...result.claim.held,
          ...response,
          billedCallId: callId,
          startedAtMs: NOW_MS,
          keptForMs: result.claim.keptForMs,
        };
        await storedResponses.keep(kept);
        if (fate === 'not settled') return { run, fate };
        await endCall(database, kept, fate === 'succeeded' ? 1n : null);
        result.claim.settled(response);
        return { run, fate };
      } finally {
        result.claim.close();
      }
    },
  };
}

/** Ends the call of a claim whose response is stored. */
export async function endCall(database: Database, kept: StoredClaim, chargeNano: bigint | null): Promise<void> {
  const record = recordOf(outcomeOf(kept.accountId, kept.billedCallId, chargeNano), { kept });
  const [result] = await createTestSettlementStore(waitingForLocks(database)).end([record], TIME);
  assert.notEqual(result, 'claim_lost');
}
