import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { costNano, startGateway, type TestGateway } from '../support/gateway.ts';
import { coderAnd } from '../support/limited-calls.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { ask, createPerson, type TestPerson } from '../support/people.ts';
import { chatResponse, chatUsage } from '../support/provider.ts';
import { type ReceivedNotice, type Receiver, startReceiver } from '../support/receiver.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Notices of budgets, from calls to webhooks, mails and the list of nearly used budgets. */

const CHAT = { model: 'test-chat', messages: [{ role: 'user', content: 'Say hello.' }] };
const CALL_NANO = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
const DAY_MS = 86_400_000;

/** A budget of a number of calls. */
const yuanOf = (calls: number): string => String(Number(CALL_NANO * BigInt(Math.round(calls * 100))) / 1e11);

describe('notices of budgets', { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let mails: MailServer;
  let stored: TestDatabase;
  let g: TestGateway;
  let another: TestGateway;
  let receiver: Receiver;

  async function node(): Promise<TestGateway> {
    const started = await startGateway({
      clock,
      stored,
      database: stored.openAnother(),
      usageIntervalMs: 5,
      plans: coderAnd({ five: { fiveHourCalls: 5, weeklyCalls: 1_000, models: ['test-chat'] } }),
      noticeSettings: `
notices: { allowNetworks: [127.0.0.0/8] }
mail: { smtp: { host: 127.0.0.1, port: ${mails.port}, tls: none }, from: gateway@example.com }`,
    });
    started.provider.respond = chatResponse();
    return started;
  }

  before(async () => {
    mails = await startMailServer();
    stored = await createTestDatabase();
    g = await node();
    another = await node();
    receiver = await startReceiver();
    const events = ['budget.nearly_used', 'plan.nearly_used'];
    assert.equal((await g.admin('POST', '/webhooks', { url: receiver.url, events })).status, 201);
  });
  after(async () => {
    await another.stop();
    await g.stop();
    await stored.remove();
    await receiver.close();
    await mails.close();
  });
  beforeEach(() => {
    receiver.received.length = 0;
    mails.received.length = 0;
  });

  /** Runs the finders of both nodes until everything so far is processed. */
  async function looked(): Promise<void> {
    await until(async () => {
      const [row] = await sql<{ n: number }>(
        g.database,
        'select ((select count(*) from usage_queue) + (select count(*) from account_changes))::int as n',
      );
      await Promise.all([g.gateway.notices.settle(), another.gateway.notices.settle()]);
      return row!.n === 0;
    });
  }

  const said = (notices: readonly ReceivedNotice[]): string[] =>
    notices.map(({ body: { data } }) => `${data.scope} ${data.model ?? 'all'} ${data.period} ${data.percent}`);

  const sentTo = (): string[] => mails.received.flatMap(({ to }) => to).toSorted();

  interface Team {
    readonly accountId: string;
    readonly owner: TestPerson;
    readonly member: TestPerson;
    readonly key: string;
    readonly keyId: string;
  }

  async function team(): Promise<Team> {
    const { id: accountId } = await g.createAccount({ balanceYuan: '100' });
    const owner = await createPerson(g, { name: 'Owner', memberships: [{ accountId, role: 'owner' }] });
    const member = await createPerson(g, { name: 'Lin', memberships: [{ accountId, role: 'member' }] });
    const made = await g.admin('POST', `/accounts/${accountId}/keys`, { name: 'laptop', userId: member.id });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await until(() => mails.received.length >= 2);
    mails.received.length = 0;
    return { accountId, owner, member, key: made.body.key, keyId: made.body.id };
  }

  const setMember = (accountId: string, { id: userId }: TestPerson, limits: object) =>
    g.admin('PATCH', `/accounts/${accountId}/members`, { userId, ...limits });

  async function chat(key: string, times = 1, at = g): Promise<number> {
    let status = 0;
    for (let i = 0; i < times; i++) status = (await call(`${at.url}/v1/chat/completions`, key, CHAT)).status;
    return status;
  }

  it('reach the member and the owners once per threshold and period, from two nodes and after a restart', async () => {
    const { accountId, owner, member, key } = await team();
    const limits = { dailySpendCapYuan: yuanOf(5) };
    assert.equal((await setMember(accountId, member, limits)).status, 200);
    await chat(key, 2);
    await chat(key, 1, another);
    await looked();
    assert.deepEqual(said(receiver.received), []);
    await chat(key);
    await looked();
    await looked();
    assert.deepEqual(said(receiver.received), ['member all day 80']);
    assert.deepEqual(sentTo(), [owner.email, member.email].toSorted());
    assert.match(mails.received[0]!.text, /Subject: The budget of Lin: 80 % used/);
    await chat(key);
    // Another node finds the next threshold, and knows what was said before.
    await another.stop();
    another = await node();
    await looked();
    assert.deepEqual(said(receiver.received), ['member all day 80', 'member all day 100']);
    assert.equal(mails.received.length, 4);
    assert.equal(await chat(key), 429);
    await looked();
    assert.equal(receiver.received.length, 2);
    clock.advance(DAY_MS);
    await chat(key, 4);
    await looked();
    assert.deepEqual(said(receiver.received).slice(2), ['member all day 80']);
  });

  it('about a key reach the member who owns it, for all models and for one', async () => {
    const { keyId, member, key } = await team();
    const limits = {
      weeklySpendCapYuan: yuanOf(2),
      modelBudgets: { 'test-chat': { totalSpendCapYuan: yuanOf(2.4) } },
    };
    assert.equal((await g.admin('PATCH', `/keys/${keyId}`, limits)).status, 200);
    await chat(key, 2);
    await looked();
    assert.deepEqual(said(receiver.received).toSorted(), ['key all week 100', 'key test-chat total 80']);
    assert.deepEqual(sentTo(), [member.email, member.email]);
    const [{ body }] = receiver.received as [ReceivedNotice];
    assert.equal(body.data.name, 'laptop');
    assert.ok(body.data.prefix.startsWith(key.slice(0, 8)), body.data.prefix);
    assert.ok(!JSON.stringify(receiver.received).includes(key));
  });

  it('are sent when a budget is set below its use, and for the daily cap of the account', async () => {
    const { accountId, owner, member, key, keyId } = await team();
    await g.admin('PATCH', `/keys/${keyId}`, { totalSpendCapYuan: yuanOf(100) });
    await chat(key, 2);
    await looked();
    assert.equal(receiver.received.length, 0);
    await g.admin('PATCH', `/keys/${keyId}`, { totalSpendCapYuan: yuanOf(1) });
    await looked();
    assert.deepEqual(said(receiver.received), ['key all total 100']);
    assert.deepEqual(sentTo(), [member.email]);
    mails.received.length = 0;
    await ask(g, 'PATCH', '/account', { ownDailySpendCapYuan: yuanOf(2.2) }, owner.headers);
    await looked();
    assert.deepEqual(said(receiver.received).slice(1), ['account all day 80']);
    assert.equal(receiver.received[1]!.body.data.ownerId, accountId);
    assert.deepEqual(sentTo(), [owner.email]);
  });

  it('are listed for members, their own, and for owners, all of them', async () => {
    const { accountId, owner, member, key } = await team();
    const own = await g.admin('POST', `/accounts/${accountId}/keys`, { name: 'server' });
    await setMember(accountId, member, { monthlySpendCapYuan: yuanOf(1) });
    await g.admin('PATCH', `/keys/${own.body.id}`, { dailySpendCapYuan: yuanOf(1.2) });
    await chat(key);
    await chat(own.body.key);
    const list = async ({ headers }: TestPerson) => {
      const { status, body } = await ask(g, 'GET', '/used-budgets', undefined, headers);
      assert.equal(status, 200, JSON.stringify(body));
      return body.data;
    };
    const [mine, ...others] = await list(member);
    assert.deepEqual(others, []);
    assert.deepEqual(mine, {
      scope: 'member',
      ownerId: member.id,
      name: 'Lin',
      prefix: null,
      model: null,
      period: 'month',
      usedYuan: yuanOf(1),
      limitYuan: yuanOf(1),
      percent: 100,
      resetsAt: '2026-11-30T16:00:00.000Z',
    });
    const all = await list(owner);
    assert.deepEqual(
      all.map(({ name, percent }: { name: string; percent: number }) => `${name} ${percent}`),
      ['Lin 100', 'server 83'],
    );
    await g.admin('DELETE', `/keys/${own.body.id}`);
    assert.equal((await list(owner)).length, 1);
    // Its notices are sent within this test.
    await looked();
  });

  it('are sent for the five-hour window of a plan', async () => {
    const { accountId, owner, key } = await team();
    assert.equal((await g.admin('POST', `/accounts/${accountId}/subscriptions`, { planId: 'five' })).status, 201);
    const use = async (times: number) => {
      for (let i = 0; i < times; i++) await call(`${g.url}/v1/coding/chat/completions`, key, CHAT);
      await looked();
    };
    const told = () =>
      receiver.received
        .filter(({ body }) => body.type === 'plan.nearly_used')
        .map(({ body: { data } }) => `${data.measure} ${data.percent} ${data.used}`);
    await use(4);
    assert.deepEqual(told(), ['five_hour_calls 80 4']);
    await use(1);
    assert.deepEqual(told().slice(1), ['five_hour_calls 100 5']);
    assert.deepEqual(sentTo(), [owner.email, owner.email]);
    clock.advance(5 * 3_600_000 + 1_000);
    await use(4);
    assert.deepEqual(told().slice(2), ['five_hour_calls 80 4']);
  });
});
