import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';

describe(`slots of subscriptions that are over`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
    await openAccount(stored.database, 'acct_past', 0n);
  });
  after(() => stored.remove());

  const subscribe = (id: string, from: string, to: string, canceledAt: string | null) =>
    stored.database.query(
      {
        name: 'test.insert-subscription',
        text: `with s as (
  insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, canceled_at, created_at, slots)
  values ('acct_past', $1::text, 'p', $2::timestamptz, $3::timestamptz, $4::timestamptz, $2::timestamptz, 3)
)
insert into plan_slots (account_id, subscription_id, call_id, taken_at)
select 'acct_past', $1::text, $1::text || '_' || n, $2::timestamptz from generate_series(1, 3) as n`,
      },
      [id, from, to, canceledAt],
    );

  it('are deleted, those of others are kept, and the counters agree with the rows', async () => {
    await subscribe('sub_ended', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', null);
    await subscribe('sub_canceled', '2026-02-01T00:00:00Z', '2026-12-01T00:00:00Z', '2026-02-02T00:00:00Z');
    await subscribe('sub_recent', '2026-02-02T00:00:00Z', '2026-03-01T12:00:00Z', null);
    await subscribe('sub_active', '2026-03-01T12:00:00Z', '2026-04-01T00:00:00Z', null);
    await createSubscriptionStore(stored.database).forgetSlots(Date.parse('2026-03-02T00:00:00Z'));
    const rows = await stored.database.query<{ id: string; slots: bigint }>({
      name: 'test.slots',
      text: 'select id, slots from subscriptions order by id',
    });
    assert.deepEqual(
      rows.map(({ id, slots }) => [id, slots]),
      [
        ['sub_active', 3n],
        ['sub_canceled', 0n],
        ['sub_ended', 0n],
        ['sub_recent', 3n],
      ],
    );
    const broken = (await auditLedger(inOneDatabase(stored.database))).filter(({ breaches }) => breaches.length > 0);
    assert.deepEqual(broken, []);
  });
});
