import assert from 'node:assert/strict';
import { assertSpent, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { askFor } from './addresses.ts';

/** Helpers for tests of Coding Plans: plans, subscriptions, and plan usage. */

/** A plan in the configuration's format. */
export interface PlanFields {
  readonly name: string;
  readonly fiveHourCalls: number;
  readonly weeklyCalls: number;
  readonly concurrency: number;
  readonly quotaTokens: number;
  readonly periodDays: number;
  readonly models: readonly string[];
  readonly inputByteLimit: string;
  readonly outputTokenLimit: number;
}

/** The models in requests of all Coding addresses. */
export const CODING_MODELS = ['test-chat', 'test-messages', 'test-responses', 'test-completions'] as const;

/** A plan whose limits no test reaches. */
const ROOMY: Omit<PlanFields, 'name'> = {
  fiveHourCalls: 1_000,
  weeklyCalls: 5_000,
  concurrency: 50,
  quotaTokens: 1_000_000,
  periodDays: 30,
  models: CODING_MODELS,
  inputByteLimit: '32KiB',
  outputTokenLimit: 1_000,
};

/** The `plans` section with these plans. Limits that a plan omits are high. */
export function plansText(plans: Readonly<Record<string, Partial<PlanFields>>>): string {
  const whole = Object.entries(plans).map(([id, fields]) => [id, { name: `Plan ${id}`, ...ROOMY, ...fields }]);
  return `plans: ${JSON.stringify(Object.fromEntries(whole))}`;
}

/** Grants a plan, by default from now on; returns the id of the subscription. */
export async function subscribe(
  gateway: TestGateway,
  account: Pick<TestAccount, 'id'>,
  planId: string,
  startsAt?: string,
): Promise<string> {
  const { status, body } = await gateway.admin('POST', `/accounts/${account.id}/subscriptions`, { planId, startsAt });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** An account with ¥100 and a plan. */
export async function createSubscriber(gateway: TestGateway, planId: string): Promise<TestAccount> {
  const account = await gateway.createAccount();
  await subscribe(gateway, account, planId);
  return account;
}

/** The snapshot of the account's plan (contract 2.3). */
export async function snapshotOf(gateway: TestGateway, { key }: Pick<TestAccount, 'key'>) {
  const response = await askFor(gateway.url, '/v1/coding/user/balance', {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(response.status, 200, response.text);
  return response.json;
}

/** Asserts the usage of the account's plan in both windows and in the period, and that no call is in flight. */
export async function assertPlanUse(
  gateway: TestGateway,
  account: Pick<TestAccount, 'key'>,
  { calls, tokens }: { readonly calls: number; readonly tokens: number },
): Promise<void> {
  const { fiveHour, weekly, concurrency, pkg } = await snapshotOf(gateway, account);
  assert.deepEqual(
    { fiveHour: fiveHour.used, weekly: weekly.used, inFlight: concurrency.inFlight, tokens: pkg.usedTokens },
    { fiveHour: calls, weekly: calls, inFlight: 0, tokens },
  );
}

/** Asserts that an account which began with ¥100 has no charges: its calls counted against its plan only. */
export async function assertCounted(
  gateway: TestGateway,
  account: TestAccount,
  use: { readonly calls: number; readonly tokens: number },
): Promise<void> {
  await assertPlanUse(gateway, account, use);
  await assertSpent(account, 0n);
  const record = await account.lastCall();
  if (use.calls === 0) return;
  assert.deepEqual([record.context, record.status, record.chargeYuan], ['coding', 'succeeded', null]);
}

/** A request body of exactly this size, padded with white space. */
export function padded(fields: object, sizeBytes: number): Buffer {
  const body = Buffer.alloc(sizeBytes, 0x20);
  assert.ok(body.write(JSON.stringify(fields)) <= sizeBytes);
  return body;
}
