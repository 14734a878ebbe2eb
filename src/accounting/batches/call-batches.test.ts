import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONTEXT, outcomeOf, recordOf, requestOf, termsOf } from '../../../test/support/accounting-builders.ts';
import { createTestTimers } from '../../../test/support/timers.ts';
import { createQuestions } from '../../db/questions/database-questions.ts';
import { BatcherFullError, LateError, NotBegunError } from '../../lib/batcher-errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { LockMode } from '../reservations/locked-accounts.ts';
import type { Admission } from '../reservations/reservation.ts';
import { createCallBatches } from './call-batches.ts';
import type { BatchStore } from './store.ts';

const connectionLost = new Error('the connection was lost');
const dataFault = Object.assign(new Error('a value is bad'), { code: '22003' });
const lockNotAvailable = Object.assign(new Error('the lock is not free'), { code: '55P03' });

const ADMITTED: Admission = {
  isAdmitted: true,
  remaining: null,
  rates: null,
  budgets: [],
  priceFactorBasisPoints: 10_000,
  side: 0,
};
const endOf = (callId: string, accountId = 'acct') => recordOf(outcomeOf(accountId, callId, 7n));
const askOf = (callId: string, accountId = 'acct') => requestOf(accountId, callId, 1n);

/** Batches whose transactions the test carries out. */
function setScene(
  options: {
    waitingItemsMax?: number;
    /** Runs a transaction, given its contents; it may wait or fail. */
    carryOut?: (batch: string, locks: LockMode, signal: AbortSignal) => Promise<void>;
    lockedAccount?: string;
  } = {},
) {
  const batches: string[] = [];
  const timers = createTestTimers();
  const isLocked = (accountId: string, locks: LockMode) => locks === 'free' && accountId === options.lockedAccount;
  const run: BatchStore['run'] = async ({ ends, admissions }, _terms, locks, signal) => {
    const names = [
      ...ends.map(({ outcome }) => `end ${outcome.callId}`),
      ...admissions.map(({ callId }) => `admit ${callId}`),
    ].join(', ');
    batches.push(locks === 'all' ? names : `${locks}: ${names}`);
    await options.carryOut?.(names, locks ?? 'all', signal!);
    return {
      ends: ends.map(
        ({ outcome }) => (isLocked(outcome.accountId, locks!) ? 'locked' : { availableNano: 1n }) as never,
      ),
      admissions: admissions.map(({ accountId }) => (isLocked(accountId, locks!) ? 'locked' : ADMITTED) as never),
    };
  };
  const questions = createQuestions({
    probe: () => new Promise(() => undefined),
    logger: silentLogger,
    questionMs: 2_000,
    timers,
  });
  const { waitingItemsMax } = options;
  const scene = createCallBatches({
    store: { run },
    questions,
    terms: () => termsOf(CONTEXT),
    onEnded: () => undefined,
    waitingItemsMax,
  });
  return { ...scene, batches, timers };
}

const turn = () => new Promise(setImmediate);

/** `fulfilled`, or the message of the error. */
async function outcomesOf(work: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((each) => (each.status === 'fulfilled' ? 'fulfilled' : each.reason.message));
}

describe('waiting ends and admissions', () => {
  it('share one transaction in any order, and each gets its own result', async () => {
    const { ends, admissions, batches } = setScene();
    const results = await Promise.all([
      admissions.submit(askOf('a')),
      ends.submit(endOf('b')),
      admissions.submit(askOf('c')),
    ]);
    assert.deepEqual(results, [ADMITTED, { availableNano: 1n }, ADMITTED]);
    assert.deepEqual(batches, ['end b, admit a, admit c']);
  });

  it('fill batches by arrival, so that neither kind waits for all of the other', async () => {
    const gate = Promise.withResolvers<void>();
    const { ends, admissions, batches } = setScene({ carryOut: () => gate.promise });
    const first = admissions.submit(askOf('first'));
    await turn();
    const waiting = Array.from({ length: 300 }, (_, i) => [
      admissions.submit(askOf(`a${i}`)),
      ends.submit(endOf(`b${i}`)),
    ]);
    gate.resolve();
    await Promise.all([first, ...waiting.flat()]);
    assert.deepEqual(
      batches.map((batch) => [batch.match(/end/g)?.length ?? 0, batch.match(/admit/g)?.length ?? 0]),
      [
        [0, 1],
        [128, 128],
        [128, 128],
        [44, 44],
      ],
    );
  });

  it('fail alone if the database refuses their data', async () => {
    const { ends, admissions, batches } = setScene({
      carryOut: async (batch) => {
        if (batch.includes('bad')) throw dataFault;
      },
    });
    const outcomes = await outcomesOf([
      admissions.submit(askOf('a')),
      ends.submit(endOf('bad')),
      ends.submit(endOf('b')),
    ]);
    assert.deepEqual(outcomes, ['fulfilled', dataFault.message, 'fulfilled']);
    assert.deepEqual(batches, ['end bad, end b, admit a', 'admit a', 'end bad', 'end b']);
  });

  it('fail together if their connection is lost', async () => {
    const { ends, admissions } = setScene({ carryOut: () => Promise.reject(connectionLost) });
    const outcomes = await outcomesOf([admissions.submit(askOf('a')), ends.submit(endOf('b'))]);
    assert.deepEqual(outcomes, [connectionLost.message, connectionLost.message]);
  });

  it('fail after two seconds without a response; the connection is closed and later ones are not sent', async () => {
    let isCutOff = false;
    const { ends, admissions, timers, batches } = setScene({
      carryOut: (_batch, _locks, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            isCutOff = true;
            reject(signal.reason);
          });
        }),
    });
    const work = [admissions.submit(askOf('a')), ends.submit(endOf('b'))];
    const settled = Promise.allSettled(work);
    await turn();
    timers.advance(1_999);
    await turn();
    assert.equal(isCutOff, false);
    timers.advance(1);
    for (const each of await settled) assert.ok(each.status === 'rejected' && each.reason instanceof LateError);
    assert.equal(isCutOff, true);
    await assert.rejects(ends.submit(endOf('c')), NotBegunError);
    await assert.rejects(admissions.submit(askOf('d')), NotBegunError);
    assert.deepEqual(batches, ['end b, admit a']);
  });

  it('of a locked account wait together, later ones included; those of other accounts do not', async () => {
    const gate = Promise.withResolvers<void>();
    const { ends, admissions, batches } = setScene({
      lockedAccount: 'locked',
      carryOut: async (batch, locks) => {
        if (locks === 'all' && batch.includes('locked')) throw lockNotAvailable;
        if (locks === 'waiting') await gate.promise;
      },
    });
    const waiting = [
      admissions.submit(askOf('locked 1', 'locked')),
      ends.submit(endOf('locked 2', 'locked')),
      ends.submit(endOf('free')),
    ];
    await waiting[2];
    await turn();
    waiting.push(admissions.submit(askOf('locked 3', 'locked')), ends.submit(endOf('locked 4', 'locked')));
    await Promise.all([ends.submit(endOf('free too')), admissions.submit(askOf('free as well'))]);
    gate.resolve();
    assert.deepEqual(await outcomesOf(waiting), Array(5).fill('fulfilled'));
    assert.deepEqual(batches, [
      'end locked 2, end free, admit locked 1',
      'free: end locked 2, end free, admit locked 1',
      'waiting: end locked 2, admit locked 1',
      'end free too, admit free as well',
      'waiting: end locked 4, admit locked 3',
    ]);
  });

  it('have batches bounded in bytes, so that large records do not delay others', async () => {
    const { ends, admissions, batches } = setScene();
    const large = (callId: string) =>
      recordOf(outcomeOf('acct', callId, 7n), {
        made: { model: 'm', providerId: 'p', atMs: 1, totalTokens: 1, keys: Array(6).fill('k'.repeat(100_000)) },
      });
    await Promise.all([
      ends.submit(large('a')),
      ends.submit(large('b')),
      admissions.submit(askOf('c')),
      ends.submit(large('d')),
    ]);
    assert.deepEqual(batches, ['end a', 'end b, admit c', 'end d']);
  });

  it('run next to a slow transaction of the other kind only, and wait for one with their own kind', async () => {
    const gate = Promise.withResolvers<void>();
    const { ends, admissions, timers, batches } = setScene({
      carryOut: async (batch) => {
        if (batch.includes('slow')) await gate.promise;
      },
    });
    const slow = ends.submit(endOf('slow'));
    await turn();
    timers.advance(50);
    const [late, parallel] = [ends.submit(endOf('b')), admissions.submit(askOf('a'))];
    timers.advance(49);
    await turn();
    assert.deepEqual(batches, ['end slow']);
    timers.advance(100);
    assert.equal(await parallel, ADMITTED);
    assert.equal(await admissions.submit(askOf('c')), ADMITTED);
    assert.deepEqual(batches, ['end slow', 'admit a', 'admit c']);
    gate.resolve();
    await Promise.all([slow, late]);
    assert.deepEqual(batches.at(-1), 'end b');
  });

  it('are aborted after two seconds if they are ends only, without the database counting as down', async () => {
    const { ends, admissions, timers } = setScene({
      carryOut: async (batch, _locks, signal) => {
        if (!batch.includes('slow')) return;
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    const slow = ends.submit(endOf('slow'));
    const settled = slow.catch((error: unknown) => error);
    await turn();
    timers.advance(2_000);
    assert.ok((await settled) instanceof LateError);
    await turn();
    assert.equal(await admissions.submit(askOf('a')), ADMITTED);
    assert.deepEqual(await ends.submit(endOf('b')), { availableNano: 1n });
  });

  it('are retried by kind if something other than an account is locked', async () => {
    const { ends, admissions, batches } = setScene({
      carryOut: async (batch, locks) => {
        if (locks !== 'waiting' && batch.includes('end')) throw lockNotAvailable;
      },
    });
    await Promise.all([admissions.submit(askOf('a')), ends.submit(endOf('b'))]);
    assert.deepEqual(batches, [
      'end b, admit a',
      'free: end b, admit a',
      'admit a',
      'end b',
      'free: end b',
      'waiting: end b',
    ]);
  });

  it('are limited by kind: waiting admissions keep no end out', async () => {
    const gate = Promise.withResolvers<void>();
    const { ends, admissions } = setScene({ waitingItemsMax: 2, carryOut: () => gate.promise });
    const work: Promise<unknown>[] = [admissions.submit(askOf('running'))];
    await turn();
    work.push(admissions.submit(askOf('a')), admissions.submit(askOf('b')));
    await assert.rejects(admissions.submit(askOf('c')), BatcherFullError);
    work.push(ends.submit(endOf('d')), ends.submit(endOf('e')));
    await assert.rejects(ends.submit(endOf('f')), BatcherFullError);
    assert.deepEqual([admissions.size, ends.size], [3, 2]);
    gate.resolve();
    await Promise.all(work);
    assert.deepEqual([admissions.size, ends.size], [0, 0]);
  });
});

describe('late ends', () => {
  it('have their own transactions without a time limit', async () => {
    const gate = Promise.withResolvers<void>();
    const { ends, lateEnds, timers, batches } = setScene({
      carryOut: async (batch) => {
        if (batch.includes('late')) await gate.promise;
      },
    });
    const late = lateEnds.submit(endOf('late'));
    await ends.submit(endOf('a'));
    timers.advance(60_000);
    gate.resolve();
    assert.deepEqual(await late, { availableNano: 1n });
    assert.deepEqual(batches.toSorted(), ['end a', 'end late']);
  });
});
