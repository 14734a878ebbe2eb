import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createUnusedCallerRows, UNUSED_ROWS_KEPT_DAYS } from '../../src/accounting/accounts/caller-budget-store.ts';
import { CALLER_ROWS_A_DAY_MAX } from '../../src/accounting/reservations/limits/caller-budgets.ts';
import { CODING_CHAT, grant } from '../plans/coding.ts';
import type { ClientResponse } from '../support/client.ts';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { CHAT, coderAnd, MESSAGES, responseAnything } from '../support/limited-calls.ts';
import { ask, createPerson } from '../support/people.ts';
import { chatUsage } from '../support/provider.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { assertWait } from '../support/waits.ts';

/** The budgets of end users and tags, on two nodes of one database. */

const NOON_IN_SHANGHAI = '2026-11-20T04:00:00.000Z';
const SECONDS_TO_MIDNIGHT = 12 * 3_600;
const DAY_MS = 86_400_000;
const CALL_COST = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
const ONE_CALL = '0.000124';
/** Two calls reach it to the nano-yuan. */
const TWO_CALLS = '0.000248';
const NO_CAPS = { dailySpendCapYuan: null, weeklySpendCapYuan: null, monthlySpendCapYuan: null };
const spent = (yuan: string) => ({ dailySpendYuan: yuan, weeklySpendYuan: yuan, monthlySpendYuan: yuan });

describe('budgets of end users and tags', { timeout: 300_000 }, () => {
  const clock = createTestClock(NOON_IN_SHANGHAI);
  let stored: TestDatabase;
  let g: TestGateway;
  let another: TestGateway;
  before(async () => {
    stored = await createTestDatabase();
    const node = async (): Promise<TestGateway> => {
      const started = await startGateway({ clock, stored, database: stored.openAnother(), plans: coderAnd() });
      started.provider.respond = responseAnything;
      return started;
    };
    g = await node();
    another = await node();
  });
  after(async () => {
    await assertSound(inOneDatabase(stored.database));
    await another.stop();
    await g.stop();
    await stored.remove();
  });

  async function accountThatRecords(recording: object = { endUser: true }): Promise<TestAccount> {
    const account = await g.createAccount();
    assert.equal((await g.admin('PATCH', `/accounts/${account.id}`, { recording })).status, 200);
    return account;
  }
  async function set({ id }: TestAccount, budget: object) {
    const { status, body } = await g.admin('PATCH', `/accounts/${id}/caller-budgets`, budget);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }
  const list = async ({ id }: TestAccount) => (await g.admin('GET', `/accounts/${id}/caller-budgets`)).body.data;
  const chat = ({ key }: TestAccount, user: string | null, tags: string | null = null, at = g, path = CHAT) =>
    call(
      at.url + path,
      key,
      { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }], ...(user !== null && { user }) },
      tags === null ? {} : { headers: { 'x-faregate-tags': tags } },
    );
  function assertRefused(response: ClientResponse, code: string, message: RegExp, mayRetry = false): void {
    assert.equal(response.status, 429, response.text);
    assert.equal(response.headers['x-error-code'], code);
    if (!mayRetry) assert.equal(response.headers['x-should-retry'], 'false');
    assert.match(response.json.error.message, message);
  }

  it('stop the calls of one end user like the budget of a key, and those of no other', async () => {
    const account = await accountThatRecords();
    await grant(g, account.id, 'coder');
    const budget = { kind: 'endUser', value: null, isOwn: true, ...NO_CAPS, dailySpendCapYuan: TWO_CALLS };
    assert.deepEqual(await set(account, { kind: 'endUser', dailySpendCapYuan: TWO_CALLS }), {
      ...budget,
      used: spent('0'),
    });
    await set(account, { kind: 'endUser', value: 'carl', monthlySpendCapYuan: ONE_CALL });
    for (let n = 0; n < 2; n++) assert.equal((await chat(account, 'ann b', null, n === 0 ? g : another)).status, 200);
    const refused = await chat(account, 'ann b');
    assertRefused(
      refused,
      'key_daily_spend_limit_exceeded',
      /^The end user "ann b" reached its spending limit for today\. Others are/,
    );
    assert.equal(refused.json.error.type, 'insufficient_quota');
    await until(async () => {
      const { body } = await g.admin('GET', `/refusals?accountId=${account.id}`);
      return body.data.length > 0 && !JSON.stringify(body).includes('ann b');
    });
    assertWait(refused, SECONDS_TO_MIDNIGHT);
    for (const user of ['carl', 'dora', null]) assert.equal((await chat(account, user)).status, 200);
    assert.equal((await chat(account, 'ann b', null, g, CODING_CHAT)).status, 200);
    assertRefused(
      await chat(account, 'carl'),
      'key_monthly_spend_limit_exceeded',
      /^The end user "carl" .* for this month\./,
    );
    const own = { kind: 'endUser', value: 'carl', isOwn: true, ...NO_CAPS, monthlySpendCapYuan: ONE_CALL };
    assert.deepEqual(await list(account), [
      { ...budget, used: spent('0') },
      { ...own, used: spent(ONE_CALL) },
      { ...budget, value: 'ann b', isOwn: false, used: spent(TWO_CALLS) },
      { ...budget, value: 'dora', isOwn: false, used: spent(ONE_CALL) },
    ]);
    await assertSpent(account, 5n * CALL_COST);

    const messages = { model: 'test-messages', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] };
    const named = await call(g.url + MESSAGES, account.key, { ...messages, metadata: { user_id: 'ann b' } });
    assertRefused(named, 'key_daily_spend_limit_exceeded', /^The end user "ann b"/);
    assert.deepEqual([named.json.type, named.json.error.type], ['error', 'billing_error']);

    // A budget of its own replaces the default budget; without it, the default budget applies to what was used.
    await set(account, { kind: 'endUser', value: 'ann b', dailySpendCapYuan: '1' });
    assert.equal((await chat(account, 'ann b', null, another)).status, 200);
    await set(account, { kind: 'endUser', value: 'ann b', dailySpendCapYuan: null });
    assert.equal((await chat(account, 'ann b')).status, 429);
    assert.equal((await g.admin('PATCH', `/accounts/${account.id}`, { recording: { endUser: false } })).status, 200);
    assert.equal((await chat(account, 'ann b')).status, 200);
  });

  it('count a call in each of its values, and let one of 40 racing calls on two nodes overdraw them', async () => {
    const account = await accountThatRecords();
    await set(account, { kind: 'endUser', dailySpendCapYuan: '0.000000001' });
    await set(account, { kind: 'tag', value: 'red', weeklySpendCapYuan: '1' });
    await set(account, { kind: 'tag', value: 'blue', weeklySpendCapYuan: '1' });
    g.provider.respond = (_request, response) => void response.writeHead(400).end('{"error":{"message":"No."}}');
    assert.equal((await chat(account, 'ann', 'red')).status, 400);
    g.provider.respond = responseAnything;
    const race = Array.from({ length: 40 }, (_, n) =>
      chat(account, 'ann', 'red, blue, green', n % 2 === 0 ? g : another),
    );
    const responses = await Promise.all(race);
    assert.equal(responses.filter(({ status }) => status === 200).length, 1);
    for (const response of responses) {
      if (response.status !== 200)
        assertRefused(response, 'key_daily_spend_limit_exceeded', /^The end user "ann"/, true);
    }
    await assertSpent(account, CALL_COST);
    const used = (await list(account)).map(({ value, used }: { value: string; used: object }) => [value, used]);
    const once = spent(ONE_CALL);
    assert.deepEqual(used, [
      [null, spent('0')],
      ['blue', once],
      ['red', once],
      ['ann', once],
    ]);
    // The default budget of tags applies to a tag without one of its own, too.
    await set(account, { kind: 'tag', dailySpendCapYuan: '0' });
    assertRefused(
      await chat(account, null, 'red, green'),
      'key_daily_spend_limit_exceeded',
      /^The tag "green" reached/,
    );
    assert.equal((await chat(account, null, 'red, blue')).status, 200);
    await assertSound(inOneDatabase(stored.database));
  });

  it('of values beyond the daily maximum are shared, and each value keeps the budget that it has', async () => {
    const account = await accountThatRecords({});
    await set(account, { kind: 'tag', dailySpendCapYuan: TWO_CALLS });
    assert.equal((await chat(account, null, 'early')).status, 200);
    await sql(stored.database, `update key_limits set calls = $2 where account_id = $1 and key_id = 'tag'`, [
      account.id,
      CALLER_ROWS_A_DAY_MAX,
    ]);
    for (const tags of ['t1, t2, t3', 't4']) assert.equal((await chat(account, null, tags)).status, 200);
    const message =
      /^The tag "t5" reached its .* It shares this limit with others that were new today, beyond the first 1000\./;
    assertRefused(await chat(account, null, 't5'), 'key_daily_spend_limit_exceeded', message);
    assert.equal((await chat(account, null, 'early', another)).status, 200);
    assert.equal((await chat(account, null, 'early')).status, 429);
    const rows = (await list(account)).map(({ value, used }: { value: string; used: object }) => [value, used]);
    assert.deepEqual(rows, [
      [null, spent(TWO_CALLS)],
      ['early', spent(TWO_CALLS)],
    ]);
    // Both are used up, as notices and the overview say.
    const ada = await createPerson(g, { name: 'Ada', memberships: [{ accountId: account.id, role: 'owner' }] });
    const { body } = await ask(g, 'GET', '/used-budgets', undefined, ada.headers);
    const shown = body.data.map(({ scope, ownerId, name, percent }: Record<string, unknown>) => [
      scope,
      ownerId,
      name,
      percent,
    ]);
    assert.deepEqual(shown, [
      ['tag', 'tag', null, 100],
      ['tag', 'tag', 'early', 100],
    ]);
  });

  it('are set by owners and operators, with values that a call can have, without a total', async () => {
    const account = await accountThatRecords();
    const personOf = (name: string, role: 'owner' | 'member') =>
      createPerson(g, { name: `${name} of ${account.id}`, memberships: [{ accountId: account.id, role }] });
    const [ada, lin] = [await personOf('Ada', 'owner'), await personOf('Lin', 'member')];
    const budget = { kind: 'tag', value: 'red', dailySpendCapYuan: '1' };
    const { status, body } = await ask(g, 'PATCH', '/caller-budgets', budget, ada.headers);
    assert.deepEqual(
      [status, body],
      [200, { ...budget, isOwn: true, ...NO_CAPS, dailySpendCapYuan: '1', used: spent('0') }],
    );
    assert.deepEqual((await ask(g, 'GET', '/caller-budgets', undefined, ada.headers)).body.data, [body]);
    for (const method of ['GET', 'PATCH']) {
      assert.equal(
        (await ask(g, method, '/caller-budgets', method === 'GET' ? undefined : budget, lin.headers)).status,
        403,
      );
    }
    for (const [asked, param] of [
      [{ kind: 'program', dailySpendCapYuan: '1' }, 'kind'],
      [{ kind: 'tag', value: 'a b', dailySpendCapYuan: '1' }, 'value'],
      [{ kind: 'endUser', value: 'x'.repeat(129), dailySpendCapYuan: '1' }, 'value'],
      [{ kind: 'endUser', value: 'ann', totalSpendCapYuan: '1' }, 'totalSpendCapYuan'],
      [{ kind: 'endUser', dailySpendCapYuan: '-1' }, 'dailySpendCapYuan'],
    ] as const) {
      const refused = await g.admin('PATCH', `/accounts/${account.id}/caller-budgets`, asked);
      assert.deepEqual([refused.status, refused.body.error.param], [400, param], JSON.stringify(refused.body));
    }
    assert.equal((await g.admin('PATCH', '/accounts/acct_none/caller-budgets', budget)).status, 404);
    await sql(
      stored.database,
      `insert into key_limits (account_id, key_id, owner_id, daily_spend_cap_nano)
select $1, 'tag t' || n, 'tag', 1 from generate_series(1, 199) n`,
      [account.id],
    );
    const further = await g.admin('PATCH', `/accounts/${account.id}/caller-budgets`, { ...budget, value: 'last' });
    assert.match(further.body.error.message, /At most 200 values/);
    const { body: changes } = await g.admin('GET', `/changes?accountId=${account.id}`);
    const [change] = changes.data.filter(({ actor }: { actor: { id: string } }) => actor.id === ada.id);
    assert.equal(change.before.callerBudgets.tag.red.dailySpendCapYuan, null);
    assert.equal(change.after.callerBudgets.tag.red.dailySpendCapYuan, '1');
  });

  it('forget values without a budget of their own that are no longer used', async () => {
    const account = await accountThatRecords({});
    await set(account, { kind: 'tag', monthlySpendCapYuan: '1' });
    await set(account, { kind: 'tag', value: 'kept', monthlySpendCapYuan: '1' });
    for (const tag of ['old', 'kept']) assert.equal((await chat(account, null, tag)).status, 200);
    const idsAfter = async (days: number) => {
      clock.advance(days * DAY_MS);
      const unused = createUnusedCallerRows(stored.database);
      await unused.deleteBefore(clock.nowMs() - UNUSED_ROWS_KEPT_DAYS * DAY_MS, new AbortController().signal);
      const select = 'select key_id from key_limits where account_id = $1 order by key_id';
      return (await sql<{ key_id: string }>(stored.database, select, [account.id])).map(({ key_id }) => key_id);
    };
    assert.deepEqual(await idsAfter(34), ['tag', 'tag kept', 'tag old']);
    assert.deepEqual(await idsAfter(2), ['tag', 'tag kept']);
    assert.equal((await chat(account, null, 'old')).status, 200);
    await assertSound(inOneDatabase(stored.database));
  });
});
