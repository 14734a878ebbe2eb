import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { type BatchStore, createBatchStore } from '../../src/accounting/batches/store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import type { AdmissionContext } from '../../src/accounting/reservations/account-state.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  NOW_MS,
  openAccount,
  outcomeOf,
  periodsAt,
  recordOf,
  requestOf,
  termsOf,
  verdictOf,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';

const HOUR_MS = 3_600_000;
const TERMS = planOf({ fiveHourCalls: 2 });
const PLAN = { inputBytes: 1, outputTokensRequested: 1, tokens: 1, innerModels: [] };

describe(`ends and admissions in one transaction`, () => {
  let stored: TestDatabase;
  let batches: BatchStore;

  before(async () => {
    stored = await createTestDatabase();
    batches = createBatchStore(stored.database);
  });
  after(() => stored.remove());

  const breaches = async () => (await auditLedger(inOneDatabase(stored.database))).flatMap((result) => result.breaches);
  const at = (nowMs: number): AdmissionContext => ({
    ...CONTEXT,
    ...periodsAt(nowMs),
    plans: new Map([[TERMS.id, TERMS]]),
  });

  it('admit with what the ends released, and report what remains after all of them', async () => {
    await openAccount(stored.database, 'balance', 10n);
    const admitted = await batches.run(
      { ends: [], admissions: [requestOf('balance', 'call_1', 10n)] },
      termsOf(CONTEXT),
    );
    assert.deepEqual(admitted.admissions.map(verdictOf), ['admitted']);
    const { ends, admissions } = await batches.run(
      {
        ends: [recordOf(outcomeOf('balance', 'call_1', 3n))],
        admissions: [requestOf('balance', 'call_2', 7n), requestOf('balance', 'call_3', 1n)],
      },
      termsOf(CONTEXT),
    );
    assert.deepEqual(ends, [{ availableNano: 0n }]);
    assert.deepEqual(admissions.map(verdictOf), ['admitted', 'insufficientBalance']);
    assert.deepEqual(await breaches(), []);
  });

  it('release a slot of a plan once, even if its five hours are over at that moment', async () => {
    await openAccount(stored.database, 'plan', 0n);
    await createSubscriptionStore(stored.database).grant({
      accountId: 'plan',
      id: 'sub_plan',
      planId: TERMS.id,
      startsAt: new Date(NOW_MS),
      endsAt: new Date(NOW_MS + 720 * HOUR_MS),
      at: new Date(NOW_MS),
    });
    const ask = (callId: string) => requestOf('plan', callId, null, { plan: PLAN });
    const end = (callId: string, counts: boolean) =>
      recordOf({ ...outcomeOf('plan', callId, null), context: 'coding' }, { plan: { counts, tokens: counts ? 1 : 0 } });
    const run = async (nowMs: number, ended: Parameters<typeof end>[], asked: string[]) => {
      const { admissions } = await batches.run(
        { ends: ended.map((each) => end(...each)), admissions: asked.map(ask) },
        termsOf(at(nowMs)),
      );
      return admissions.map(verdictOf);
    };
    assert.deepEqual(await run(NOW_MS, [], ['one', 'two', 'three']), [
      'admitted',
      'admitted',
      'packageFiveHourQuotaExhausted',
    ]);
    // One counts, the other does not.
    assert.deepEqual(
      await run(
        NOW_MS,
        [
          ['one', true],
          ['two', false],
        ],
        ['four', 'five'],
      ),
      ['admitted', 'packageFiveHourQuotaExhausted'],
    );
    // Both slots have expired; the end of the call that does not count would release one, too.
    assert.deepEqual(await run(NOW_MS + 5 * HOUR_MS, [['four', false]], ['six', 'seven', 'eight']), [
      'admitted',
      'admitted',
      'packageFiveHourQuotaExhausted',
    ]);
    const [counted] = await stored.database.query<{ slots: bigint; stored: bigint }>({
      name: 'test.slots',
      text: `select s.slots, (select count(*) from plan_slots p where p.subscription_id = s.id) as stored
from subscriptions s where s.account_id = 'plan'`,
    });
    assert.deepEqual(counted, { slots: 2n, stored: 2n });
    assert.deepEqual(await breaches(), []);
  });
});
