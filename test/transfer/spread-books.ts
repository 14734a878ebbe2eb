import type { NewAccount } from '../../src/accounting/accounts/account-creation-store.ts';
import { createAccountPartitionStore } from '../../src/accounting/partitions/account-partition-store.ts';
import { createPlacement } from '../../src/accounting/partitions/placement.ts';
import { createRoutes, type Routes } from '../../src/accounting/partitions/routes.ts';
import { createVoucherStore } from '../../src/accounting/vouchers/vouchers-store.ts';
import type { Database } from '../../src/db/database.ts';
import type { Databases } from '../../src/db/databases.ts';
import { CONTEXT, createTestNode, endCalls, outcomeOf, requestOf, termsOf } from '../support/accounting-builders.ts';
import { createMakers } from '../support/created-accounts.ts';
import { sql } from '../support/sql.ts';
import { CLOCK } from './books.ts';

/** Accounts spread over partitions, created through the code that creates accounts and redeems vouchers. */

const AT = new Date(CLOCK.nowMs());

type Spread = Pick<Databases, 'directory' | 'partitions'>;

function routesOf({ directory, partitions }: Spread): Routes<Database> {
  const store = createAccountPartitionStore(directory);
  return createRoutes(partitions, { find: async (id) => (await store.find([id]))[0]?.partition ?? 0 });
}

export function stepsOf(databases: Spread): ReturnType<typeof createMakers> {
  const { directory, partitions } = databases;
  const place = createPlacement(partitions.length, createAccountPartitionStore(directory), { nowMs: () => 0 });
  return createMakers(
    { directory, partitions: routesOf(databases) },
    () => [{ id: 'coder', periodDays: 30, sale: null }],
    place,
  );
}

export const newAccount = (id: string, openingNano = 1_000n): NewAccount => ({
  ...{ id, name: id, email: null, verified: true, dailyCapNano: null, openingNano, at: AT },
  keyed: { idempotencyKey: `of ${id}`, request: 'x' },
});

/** A call of an account, charged in the account's partition. */
export async function chargeCall(databases: Spread, accountId: string, callId: string, nano: bigint): Promise<void> {
  const { stores } = createTestNode(await routesOf(databases).of(accountId));
  await stores.reservations.admit([requestOf(accountId, callId, 500n)], termsOf(CONTEXT));
  await endCalls(stores.settlement, [outcomeOf(accountId, callId, nano)]);
}

export async function makeVouchers(directory: Database, names: readonly string[], batch = 'vb_1'): Promise<void> {
  const vouchers = names.map((name) => ({ codeHash: hashOf(name), codeEnd: 'CODE' }));
  await createVoucherStore(directory).insert({
    ...{ id: batch, name: batch, gift: { kind: 'value', amountNano: 5n }, vouchers, expiresAt: null, at: AT },
    ...{ createdBy: 'x', idempotencyKey: null },
  });
}

const hashOf = (name: string): Buffer => Buffer.from(name.padEnd(32, '.'));

export const redemptionOf = (accountId: string, name: string) => ({
  ...{ accountId, codeHash: hashOf(name), redemptionId: `vr_${name}`, subscriptionId: `sub_${name}`, by: 'x', at: AT },
});

/** Rows of an account's partition in all tables other than those of accounts, calls and vouchers. */
const MORE_ROWS = `
insert into key_limits (account_id, key_id, daily_calls_max) select account_id, 'key_' || account_id, 5 from balances;
insert into rate_limits (account_id, key_id, model, requests_max) select account_id, '', 'm', 3 from balances;
insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at, slots)
select account_id, 'sub_' || account_id, 'plan', '2026-11-20T00:00Z', '2026-12-20T00:00Z', '2026-11-20T00:00Z', 1 from balances;
insert into plan_slots (account_id, subscription_id, call_id, taken_at) select account_id, 'sub_' || account_id, 'call_x', '2026-11-20T00:00Z' from balances;
insert into subscription_requests (account_id, idempotency_key, request, subscription_id, created_at)
select account_id, 'again', 'r', 'sub_' || account_id, '2026-11-20T00:00Z' from balances;
insert into continuation_keys (account_id, key, model, provider, made_at) select account_id, 'k', 'm', 'p', '2026-11-20T00:00Z' from balances;
insert into stored_responses (account_id, key_id, idempotency_key, fingerprint, claim_id, claimed_until, expires_at, head, body, is_valid)
select account_id, 'k', 'i', 'f', 'c', '2026-11-20T00:00Z', '2026-11-21T00:00Z', '{}', 'body', true from balances;
insert into notice_states (account_id, subject, occurrence, level) select account_id, 'balance', 'o', 1 from balances;
insert into dropped_months (month, dropped_at, drops) values ('2020-01-01', '2020-03-01', 1);
insert into dropped_calls (account_id, dropped_in, month, calls, charged_calls, charge_nano)
select account_id, '2020-01-01', '2020-01-01', 7, 0, 0 from balances;
insert into dropped_uses (account_id, dropped_in, owner_id, counter, place, amount)
select account_id, '2020-01-01', 'key_' || account_id, 'calls', '1@0', 7 from balances;`;

export const ACCOUNTS = ['acct_a', 'acct_b', 'acct_c', 'acct_d', 'acct_e', 'acct_f', 'acct_g'];

/** Creates accounts with calls, vouchers and rows in every table. */
export async function spreadBooks(databases: Spread): Promise<void> {
  const { directory, partitions } = databases;
  const steps = stepsOf(databases);
  await makeVouchers(directory, ACCOUNTS);
  for (const id of ACCOUNTS) {
    await steps.accountCreations.create(newAccount(id));
    for (let no = 0; no < 3; no++) await chargeCall(databases, id, `call_${no}`, BigInt(no));
    await steps.redemptions.redeem(redemptionOf(id, id));
  }
  await directory.script(`insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
select id, 'key_' || id, 'k', sha256(id::bytea), 'p', now() from accounts`);
  for (const partition of partitions) await partition.script(MORE_ROWS);
}

export async function placesOf(directory: Database): Promise<Record<string, number>> {
  const rows = await sql<{ id: string; partition_no: number }>(
    directory,
    'select id, partition_no from accounts order by id',
  );
  return Object.fromEntries(rows.map(({ id, partition_no: place }) => [id, place]));
}
