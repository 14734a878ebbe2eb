import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AuditResult } from '../../src/api/audit/admin.ts';
import { CODING_CHAT, grant, plansText } from '../plans/coding.ts';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { CHAT } from '../support/limited-calls.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { until } from '../support/until.ts';
import { sumUsage } from './months.ts';

/** A gateway with a retention of call records. */

const HELLO = { model: 'test-both', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };
const PLANS = plansText({ coder: { periodDays: 200 } });
const KEPT = /records of calls of that time are no longer kept/;

/** Damages after the records of a counter were dropped, and the invariant that each breaks. */
const DAMAGES: readonly (readonly [table: string, column: string, invariant: string])[] = [
  ['key_limits', 'use_no', 'the call records agree with the counters of subscriptions and keys with limits'],
  ['subscriptions', 'use_no', 'the call records agree with the counters of subscriptions and keys with limits'],
  ['key_limits', 'calls', 'keys with limits correctly count the calls of the current day'],
  [
    'key_limits',
    'total_spent_nano',
    'keys with limits correctly count their charges by day, week and month, and in total',
  ],
  ['subscriptions', 'week_calls', 'subscriptions correctly count the calls of the current week'],
  ['subscriptions', 'period_tokens', 'subscriptions correctly count the tokens of the current period'],
  ['usage_rollups', 'charge_nano', 'usage sums match the charges and refunds of the ledger'],
  ['dropped_uses', 'amount', 'the call records agree with the counters of subscriptions and keys with limits'],
];

describe(`a gateway that keeps call records for 30 days`, { timeout: 300_000 }, () => {
  const clock = createTestClock('2026-01-31T15:59:00Z');
  const logs = recordLogs();
  let stored: TestDatabase;
  let g: TestGateway;
  let account: { readonly id: string; readonly key: string };
  let dropped: string[];

  before(async () => {
    stored = await createTestDatabase();
    const earlier = await startGateway({ stored, clock, plans: PLANS });
    const { id, key, keyId } = await earlier.createAccount();
    await grant(earlier, id, 'coder');
    const limits = { dailyCalls: 90, totalSpendCapYuan: '9' };
    assert.equal((await earlier.admin('PATCH', `/keys/${keyId}`, limits)).status, 200);
    const own = await earlier.admin('POST', `/accounts/${id}/keys`, { name: 'own', scopes: ['account'] });
    account = { id, key: own.body.key };
    for (const path of [CHAT, CODING_CHAT, CHAT, CODING_CHAT, CHAT]) {
      assert.equal((await call(earlier.url + path, key, HELLO)).status, 200);
    }
    const { body } = await earlier.admin('GET', `/calls?accountId=${id}`);
    dropped = body.data.map((each: { id: string }) => each.id);
    assert.equal(dropped.length, 5);
    const charged = body.data.find((each: { chargeYuan: string | null }) => each.chargeYuan !== null);
    const refund = await earlier.admin('POST', `/calls/${charged.id}/refunds`, { amountYuan: '0.000001' });
    assert.equal(refund.status, 201, JSON.stringify(refund.body));
    await sumUsage(earlier.database);
    await earlier.stop();

    clock.set('2026-03-10T00:00:00Z');
    g = await startGateway({
      stored,
      database: stored.openAnother(),
      clock,
      plans: PLANS,
      noticeSettings: 'retention: { calls: 30d }',
      logger: logs.logger,
    });
    await until(() => logs.lines.some(({ message }) => message === 'the call records of a month were dropped'));
  });
  after(async () => {
    await g.stop();
    await stored.remove();
  });

  const own = async (path: string): Promise<{ status: number; message: string }> => {
    const headers = { authorization: `Bearer ${account.key}` };
    const response = await fetch(`${g.url}/account/v1${path}`, { headers });
    return { status: response.status, message: JSON.stringify(await response.json()) };
  };
  const broken = async (): Promise<string[]> => {
    const { invariants }: AuditResult = (await g.admin('POST', '/audit')).body;
    return invariants.filter(({ breaches }) => breaches.length > 0).map(({ invariant }) => invariant);
  };

  it('drops the months that ended longer ago', async () => {
    const months = logs.lines.filter(({ message }) => message === 'the call records of a month were dropped');
    assert.deepEqual(
      months.map(({ details }) => details.month),
      ['2026-01'],
    );
    assert.deepEqual((await g.admin('GET', `/calls?accountId=${account.id}`)).body.data, []);
    assert.deepEqual(await broken(), []);
  });

  it('reports that a dropped call is no longer kept, and that any other one does not exist', async () => {
    for (const id of dropped) {
      for (const [method, path, body] of [
        ['GET', `/calls/${id}`, undefined],
        ['POST', `/calls/${id}/refunds`, {}],
        ['POST', `/calls/${id}/resolution`, { action: 'release' }],
      ] as const) {
        const { status, body: response } = await g.admin(method, path, body);
        assert.equal(status, 404, path);
        assert.match(JSON.stringify(response), KEPT, path);
      }
      const { status, message } = await own(`/calls/${id}`);
      assert.equal(status, 404);
      assert.match(message, KEPT);
    }
    for (const id of ['call_01', 'call_01kzzzzzzzzzzzzzzzzzzzzzzz', 'nothing']) {
      const { status, body } = await g.admin('GET', `/calls/${id}`);
      assert.equal(status, 404);
      assert.doesNotMatch(JSON.stringify(body), KEPT, id);
      assert.doesNotMatch((await own(`/calls/${id}`)).message, KEPT, id);
    }
  });

  it('keeps the ledger, usage and the statement of that time', async () => {
    const { body: usage } = await g.admin(
      'GET',
      `/usage?accountId=${account.id}&from=2026-01-01&to=2026-03-01&groupBy=day`,
    );
    assert.match(JSON.stringify(usage), /"calls":5\b/);
    const { body: ledger } = await g.admin('GET', `/accounts/${account.id}/ledger`);
    const charges = ledger.data.filter((entry: { kind: string }) => entry.kind === 'charge');
    assert.equal(charges.length, 3);
    assert.ok(charges.every((entry: { callId: string }) => dropped.includes(entry.callId)));
  });

  for (const [table, column, invariant] of DAMAGES) {
    it(`finds ${column} of ${table} that was raised by one`, async () => {
      const change = (by: string): Promise<void> =>
        g.database.script(
          `update ${table} set ${column} = ${column} ${by}${table === 'dropped_uses' ? ` where counter = 'uses'` : ''}`,
        );
      await change('+ 1');
      const found = await broken();
      await change('- 1');
      assert.deepEqual(found, [invariant]);
      assert.deepEqual(await broken(), []);
    });
  }

  it('continues to count with calls of today', async () => {
    const { body } = await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'new' });
    for (const path of [CHAT, CODING_CHAT]) assert.equal((await call(g.url + path, body.key, HELLO)).status, 200);
    assert.deepEqual(await broken(), []);
  });
});
