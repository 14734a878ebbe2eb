import assert from 'node:assert/strict';
import type { Database } from '../../src/db/database.ts';
import { type ClientResponse, call } from '../support/client.ts';
import type { TestAccount, TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { assertWait } from '../support/waits.ts';

/** Helpers for tests of Coding Plans: plans in the configuration, accounts that have one, and what remains of it. */

/** The terms of a plan as the configuration has them. */
const TERMS = {
  name: 'Test Plan',
  fiveHourCalls: 1_000,
  weeklyCalls: 1_000,
  concurrency: 1_000,
  quotaTokens: 1_000_000,
  periodDays: 30,
  models: ['test-both', 'test-responses'],
  inputByteLimit: '1MiB',
  outputTokenLimit: 1_000,
};

export type Terms = typeof TERMS & { readonly queue?: { readonly length: number; readonly wait?: string } };

/** The `plans` section of a configuration; terms that a test does not state are never reached. */
export function plansText(plans: Readonly<Record<string, Partial<Terms>>>): string {
  return `plans: ${JSON.stringify(
    Object.fromEntries(Object.entries(plans).map(([id, terms]) => [id, { ...TERMS, ...terms }])),
  )}`;
}

export interface Subscriber extends TestAccount {
  readonly subscriptionId: string;
  /** A non-streaming chat call on the Coding Plan. */
  call(): Promise<ClientResponse>;
  /** The response of the account's balance address for coding. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  snapshot(): Promise<any>;
  /** Used calls of both windows, calls in flight and used tokens, by the snapshot. */
  used(): Promise<Use>;
}

export interface Use {
  readonly fiveHour: number;
  readonly weekly: number;
  readonly inFlight: number;
  readonly tokens: number;
}

export const CODING_CHAT = '/v1/coding/chat/completions';
export const codingBody = { model: 'test-both', max_tokens: 50, messages: [{ role: 'user', content: 'Say hello.' }] };
/** What one call costs that is responded to as `chatAnswer` does. */
export const CALL_TOKENS = 18;

/** An account without money that has a plan, from now or from an instant on. */
export async function createSubscriber(
  gateway: TestGateway,
  planId: string,
  { startsAt, balanceYuan = '0' }: { startsAt?: string; balanceYuan?: string } = {},
): Promise<Subscriber> {
  const account = await gateway.createAccount({ balanceYuan });
  const subscriptionId = await grant(gateway, account.id, planId, startsAt);
  const snapshot = async () => {
    const response = await fetch(`${gateway.url}/v1/coding/user/balance`, {
      headers: { authorization: `Bearer ${account.key}` },
    });
    assert.equal(response.status, 200);
    // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
    return (await response.json()) as any;
  };
  return {
    ...account,
    subscriptionId,
    call: () => call(gateway.url + CODING_CHAT, account.key, codingBody),
    snapshot,
    async used() {
      const { fiveHour, weekly, concurrency, pkg } = await snapshot();
      return {
        fiveHour: fiveHour.used,
        weekly: weekly.used,
        inFlight: concurrency.inFlight,
        tokens: pkg.usedTokens,
      };
    },
  };
}

export async function grant(
  gateway: TestGateway,
  accountId: string,
  planId: string,
  startsAt?: string,
): Promise<string> {
  const { status, body } = await gateway.admin('POST', `/accounts/${accountId}/subscriptions`, { planId, startsAt });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** Asserts a refusal on a Coding Plan, and if a time is given, that the response states it. */
export function assertRefused(response: ClientResponse, status: number, code: string, waitSeconds?: number): void {
  assert.equal(response.status, status, response.text);
  assert.equal(response.json.error.code, code);
  if (waitSeconds === undefined) return;
  assertWait(response, waitSeconds);
  assert.equal(response.headers['x-should-retry'], 'false');
}

/**
 * Resolves when no coding call of the account is in flight in the database. Polls, because the end of
 * a call whose client has left is not announced.
 */
export async function nothingInFlight(database: Database, accountId: string): Promise<void> {
  const statement = {
    name: 'test.count-coding-reservations',
    text: 'select count(*)::int as n from reservations where account_id = $1::text and subscription_id is not null',
  };
  await until(async () => {
    const [row] = await database.query<{ n: number }>(statement, [accountId]);
    return row!.n === 0;
  });
}
