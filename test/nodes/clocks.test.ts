import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Clock } from '../../src/lib/clock.ts';
import { call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';
import { sql } from '../support/sql.ts';

/** Nodes with different clocks and one database: the database's clock decides. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PLANS = `
plans:
  hours: { name: Hours, fiveHourCalls: 2, weeklyCalls: 9, concurrency: 9, quotaTokens: 1000000, periodDays: 90, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
  weeks: { name: Weeks, fiveHourCalls: 9, weeklyCalls: 2, concurrency: 9, quotaTokens: 1000000, periodDays: 90, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
  tokens: { name: Tokens, fiveHourCalls: 9, weeklyCalls: 9, concurrency: 9, quotaTokens: 20, periodDays: 5, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;

const BODY = { model: 'test-chat', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] };
const COST_NANO = costNano({ input: 11, output: 7 });

/** This machine's clock, which is also the database's, with an offset. */
const off = (aheadMs: number): Clock => ({ nowMs: () => Date.now() + aheadMs });

describe('nodes with different clocks', { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  const nodes: Record<string, TestGateway> = {};
  let right: TestGateway;
  let fast: TestGateway;
  let slow: TestGateway;
  before(async () => {
    stored = await createTestDatabase();
    const start = async (aheadMs: number) =>
      startGateway({
        stored,
        database: stored.openAnother(),
        clock: off(aheadMs),
        isDatabaseClockReal: true,
        plans: PLANS,
        billing: 'dailySpendCapYuan: "1000"',
      });
    right = await start(0);
    fast = await start(8 * DAY_MS);
    slow = await start(-8 * DAY_MS);
    Object.assign(nodes, { right, fast, slow });
  });
  after(async () => {
    for (const node of [slow, fast, right]) await node?.stop();
    await stored?.remove();
  });

  async function ask(node: TestGateway, account: TestAccount, path: string, headers = {}): Promise<string> {
    const response = await call(`${node.url}${path}`, account.key, BODY, { headers });
    return response.status === 200 ? 'served' : String(response.headers['x-error-code']);
  }
  const coding = (node: TestGateway, account: TestAccount) => ask(node, account, '/v1/coding/chat/completions');
  const chat = (node: TestGateway, account: TestAccount, headers = {}) =>
    ask(node, account, '/v1/chat/completions', headers);

  for (const [planId, code] of [
    ['hours', 'package_5h_quota_exhausted'],
    ['weeks', 'package_weekly_quota_exhausted'],
    ['tokens', 'insufficient_package'],
  ] as const) {
    it(`the window of a plan by ${planId} is the same on all of them, and a fast clock does not move it`, async () => {
      const account = await right.createAccount();
      // Granted by a node with a fast clock: the plan begins at the database's time.
      const granted = await fast.admin('POST', `/accounts/${account.id}/subscriptions`, { planId });
      assert.equal(granted.status, 201);
      assert.deepEqual([await coding(right, account), await coding(slow, account)], ['served', 'served']);
      for (const node of [fast, slow, right]) assert.equal(await coding(node, account), code);
    });
  }

  it('show the same plan status', async () => {
    const account = await right.createAccount();
    await right.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'weeks' });
    for (const node of [fast, slow]) assert.equal(await coding(node, account), 'served');
    for (const { url } of [right, fast, slow]) {
      const response = await fetch(`${url}/v1/coding/user/balance`, {
        headers: { authorization: `Bearer ${account.key}` },
      });
      // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
      const { active, weekly, fiveHour } = (await response.json()) as any;
      assert.deepEqual([active, weekly.used, fiveHour.used], [true, 2, 2]);
    }
  });

  it('count charges in the same day, including at the end of calls', async () => {
    const account = await right.createAccount({ dailySpendCapYuan: '0.0001' });
    assert.equal(await chat(slow, account), 'served');
    for (const node of [fast, slow, right]) {
      assert.equal(await chat(node, account), 'balance_daily_limit_exceeded');
      const { body } = await node.admin('GET', `/accounts/${account.id}`);
      assert.equal(body.spentTodayYuan, '0.000124');
    }
    const { body } = await right.admin('GET', `/accounts/${account.id}`);
    assert.equal(body.heldYuan, '0');
  });

  it('count the calls of a key in the same day', async () => {
    const account = await right.createAccount();
    await right.admin('PATCH', `/keys/${account.keyId}`, { dailyCalls: 1 });
    assert.equal(await chat(fast, account), 'served');
    for (const node of [right, slow, fast]) {
      assert.equal(await chat(node, account), 'key_daily_calls_limit_exceeded');
    }
    const [row] = await sql<{ days: number }>(
      stored.database,
      'select day_began_at::date - current_date as days from key_limits where key_id = $1',
      [account.keyId],
    );
    assert.ok(Math.abs(row!.days) <= 1, `${row!.days} days ahead`);
  });

  it('do not let a repeat take over a running call, or one with a stored response', async () => {
    const account = await right.createAccount();
    const headers = { 'idempotency-key': 'clocks' };
    const held = Promise.withResolvers<void>();
    right.provider.respond = async (request, response) => {
      await held.promise;
      return json(200, chatCompletion())(request, response);
    };
    const received = right.provider.requests.length;
    const first = chat(right, account, headers);
    await right.provider.received(received + 1);
    const asked = [fast, slow].map((node) => node.provider.requests.length);
    const claims = fast.observed.statement('idempotency.claim-keys');
    const { done } = claims;
    const repeat = chat(fast, account, headers);
    await claims.completed(done + 1);
    held.resolve();
    assert.deepEqual([await first, await repeat], ['served', 'served']);
    // A response that has expired only by a fast clock is not deleted.
    const other = await startGateway({
      stored,
      database: stored.openAnother(),
      clock: off(8 * DAY_MS),
      isDatabaseClockReal: true,
    });
    assert.equal(await chat(other, account, headers), 'served');
    assert.equal(other.provider.requests.length, 0);
    await other.stop();
    for (const node of [fast, slow]) assert.equal(await chat(node, account, headers), 'served');
    assert.deepEqual(
      [fast, slow].map((node) => node.provider.requests.length),
      asked,
    );
    await assertSpent(account, COST_NANO);
  });

  it('do not delete what has expired only by their own clock', async () => {
    const account = await right.createAccount();
    await stored.database.script(`insert into continuation_keys (account_id, key, model, provider, made_at)
values ('${account.id}', 'k', 'test-chat', 'chatty', now())`);
    const options = { stored, database: stored.openAnother(), clock: off(400 * DAY_MS), isDatabaseClockReal: true };
    await (await startGateway(options)).stop();
    const text = 'select key from continuation_keys where account_id = $1';
    const left = await sql(stored.database, text, [account.id]);
    assert.deepEqual(left, [{ key: 'k' }]);
  });

  it('report the difference in /readyz, and keep serving', async () => {
    for (const [name, expected] of [
      ['right', undefined],
      ['fast', /^The clock of this node is 69\d{4}\.\d s ahead of the clock of the database\.$/],
      ['slow', /^The clock of this node is 69\d{4}\.\d s behind the clock of the database\.$/],
    ] as const) {
      const response = await fetch(`${nodes[name]!.url}/readyz`);
      const { status, detail } = (await response.json()) as { status: string; detail?: string[] };
      assert.deepEqual([response.status, status], [200, 'ready']);
      if (expected === undefined) assert.equal(detail, undefined);
      else assert.match(detail!.join('\n'), expected);
    }
  });
});
