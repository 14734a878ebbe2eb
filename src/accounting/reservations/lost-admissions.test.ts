import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { patientQuestions } from '../../../test/support/questions.ts';
import type { Batcher } from '../../lib/batcher.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createLocalTime } from '../pricing/local-time.ts';
import type { Admission, ReservationRequest } from './reservation.ts';
import { createReservations, type Reservations } from './reservations.ts';
import type { ReservationStore } from './store.ts';

const requestOf = (callId: string): ReservationRequest => ({
  accountId: 'acct',
  callId,
  keyId: 'key',
  model: 'test',
  modelAliases: [],
  isKeyLimited: false,
  memberId: null,
  budgetIds: null,
  isRateLimited: false,
  groupLimits: null,
  groupFactorBasisPoints: 10_000,
  tokens: 1,
  amountNano: 1n,
  sides: null,
  plan: null,
  facts: '[]',
});

const reservationsOf = (
  submit: Batcher<ReservationRequest, Admission>['submit'],
  store: Pick<ReservationStore, 'release' | 'listOfNode'>,
): Reservations =>
  createReservations({
    admissions: { submit, drain: async () => undefined, size: 0 },
    store: {
      look: () => Promise.reject(new Error('no look is expected')),
      listOfDeadNodes: async () => [],
      ...store,
    },
    questions: patientQuestions(),
    logger: silentLogger,
    nodeId: 'node',
    terms: () => ({ localTime: createLocalTime('UTC'), defaultDailyCapNano: null, rateDefaults: null, plans: [] }),
    retryDelayMs: 1,
  });

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null;
}

describe('an admission whose result was lost', { timeout: 30_000 }, () => {
  it('is released even if the release of another one ends at the same instant', async () => {
    for (let distance = 0; distance < 40; distance++) {
      const released: string[] = [];
      const isReleased = new Map(['first', 'second'].map((callId) => [callId, Promise.withResolvers<void>()]));
      const failing = Promise.withResolvers<never>();
      const listing = Promise.withResolvers<void>();
      const listed = Promise.withResolvers<void>();
      const decide = ({ callId }: ReservationRequest): Promise<Admission> =>
        callId === 'first' ? Promise.reject(new Error('the connection was lost')) : failing.promise;
      const reservations = reservationsOf(decide, {
        async release(calls) {
          for (const { callId } of calls) {
            released.push(callId);
            isReleased.get(callId)!.resolve();
          }
          return calls;
        },
        async listOfNode() {
          listing.resolve();
          await listed.promise;
          return [];
        },
      });
      await assert.rejects(reservations.admit(requestOf('first')));
      await listing.promise;
      const second = reservations.admit(requestOf('second'));
      second.catch(() => undefined);
      // The second one is pending when the first release ends; one of these distances hits the very end.
      await new Promise(setImmediate);
      listed.resolve();
      await microtasks(distance);
      failing.reject(new Error('the connection was lost'));
      await assert.rejects(second);
      await isReleased.get('second')!.promise;
      assert.deepEqual(released, ['first', 'second'], String(distance));
      await reservations.drain();
    }
  });

  it('is left for recovery if its account is still locked when the node stops', async () => {
    let rounds = 0;
    const reservations = reservationsOf(() => Promise.reject(new Error('the connection was lost')), {
      async release(calls) {
        rounds++;
        return rounds > 20 ? calls : [];
      },
      listOfNode: async () => [],
    });
    await assert.rejects(reservations.admit(requestOf('call')));
    await reservations.drain();
    assert.equal(rounds, 1);
  });
});
