import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { CHAT, responseAnything, send } from '../support/limited-calls.ts';
import { ask, createPerson, type TestPerson } from '../support/people.ts';
import { chatUsage } from '../support/provider.ts';
import { until } from '../support/until.ts';
import { assertWait } from '../support/waits.ts';

/** The limits of a member over all of the member's keys, and what happens to the keys when the member leaves. */

const NOON_IN_SHANGHAI = '2026-11-20T04:00:00.000Z';
const SECONDS_TO_MIDNIGHT = 12 * 3_600;
const CALL_COST = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
/** Two calls reach it to the nano-yuan. */
const TWO_CALLS = '0.000248';

describe('the limits of a member', { timeout: 300_000 }, () => {
  const clock = createTestClock(NOON_IN_SHANGHAI);
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock });
    g.provider.respond = responseAnything;
  });
  after(() => g.stop());

  async function peopleOf(account: TestAccount) {
    const personOf = (name: string, role: 'owner' | 'member') =>
      createPerson(g, { name: `${name} of ${account.id}`, memberships: [{ accountId: account.id, role }] });
    return {
      ada: await personOf('Ada', 'owner'),
      lin: await personOf('Lin', 'member'),
      mo: await personOf('Mo', 'member'),
    };
  }

  async function get(path: string, key: string): Promise<{ balance: number; data: { id: string }[] }> {
    const response = await fetch(`${g.url}${path}`, { headers: bearer(key) });
    return (await response.json()) as { balance: number; data: { id: string }[] };
  }

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  async function makeKey(headers: Record<string, string>, body: object = {}): Promise<{ id: string; key: string }> {
    const made = await ask(g, 'POST', '/keys', body, headers);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body;
  }

  async function limit(owner: TestPerson, member: TestPerson, limits: object) {
    const changed = await ask(g, 'PATCH', `/members/${member.id}`, limits, owner.headers);
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    return changed.body;
  }

  it('apply to all keys of the member, including keys that its keys have created and replaced, and to no others', async () => {
    const account = await g.createAccount();
    const { ada, lin, mo } = await peopleOf(account);
    const first = await makeKey(lin.headers, { scopes: ['calls', 'account'] });
    await limit(ada, lin, { dailySpendCapYuan: TWO_CALLS, dailyCalls: 5 });
    const second = await makeKey(bearer(first.key));
    assert.equal((await send(g, first.key, CHAT)).status, 200);
    const last = await send(g, second.key, CHAT);
    assert.equal(last.status, 200);
    assert.equal(last.headers['x-faregate-budgets'], `member-day=${TWO_CALLS}/${TWO_CALLS}`);

    const { body: replacement } = await ask(g, 'POST', `/keys/${second.id}/replacement`, {}, lin.headers);
    const third = await makeKey(lin.headers);
    for (const { key } of [first, third, replacement]) {
      const refused = await send(g, key, CHAT);
      assert.equal(refused.status, 429, refused.text);
      assert.equal(refused.json.error.code, 'member_daily_spend_limit_exceeded');
      assertWait(refused, SECONDS_TO_MIDNIGHT);
    }
    const ofMo = await makeKey(mo.headers);
    for (const key of [ofMo.key, account.key]) assert.equal((await send(g, key, CHAT)).status, 200);
    await assertSpent(account, 4n * CALL_COST);

    const used = {
      dailySpendYuan: TWO_CALLS,
      weeklySpendYuan: TWO_CALLS,
      monthlySpendYuan: TWO_CALLS,
      totalSpendYuan: TWO_CALLS,
      dailyCalls: 2,
    };
    const { body: people } = await ask(g, 'GET', '/members', undefined, ada.headers);
    assert.deepEqual(people.data.find(({ userId }: { userId: string }) => userId === lin.id).used, used);
    for (const headers of [lin.headers, bearer(first.key)]) {
      const { body: own } = await ask(g, 'GET', '/member-limits', undefined, headers);
      assert.deepEqual([own.dailySpendCapYuan, own.dailyCalls, own.used], [TWO_CALLS, 5, used]);
    }
    const refused = await ask(g, 'PATCH', `/members/${lin.id}`, { dailyCalls: null }, lin.headers);
    assert.equal(refused.status, 403);

    const byOperator = { userId: lin.id, dailySpendCapYuan: null };
    assert.equal((await g.admin('PATCH', `/accounts/${account.id}/members`, byOperator)).status, 200);
    assert.equal((await send(g, third.key, CHAT)).status, 200);
  });

  it('restrict the models that the member may use, at calls and in lists', async () => {
    const account = await g.createAccount();
    const { ada, lin } = await peopleOf(account);
    const { key } = await makeKey(lin.headers);
    const listed = async (): Promise<string[]> => (await get('/v1/models', key)).data.map(({ id }) => id);
    assert.ok((await listed()).includes('test-chat'));
    const unknown = await ask(g, 'PATCH', `/members/${lin.id}`, { allowedModels: ['nowhere'] }, ada.headers);
    assert.equal(unknown.status, 400);
    await limit(ada, lin, { allowedModels: ['test-embeddings'] });
    const refused = await send(g, key, CHAT);
    assert.equal(refused.status, 403, refused.text);
    assert.equal(refused.json.error.code, 'member_model_not_allowed');
    assert.deepEqual(await listed(), ['test-embeddings']);
    await limit(ada, lin, { allowedModels: null });
    assert.equal((await send(g, key, CHAT)).status, 200);
  });

  it('determine the reported balance where the account hides its own, if they leave less than the budget of the key', async () => {
    const account = await g.createAccount();
    const { ada, lin } = await peopleOf(account);
    await ask(g, 'PATCH', '/account', { membersSeeBalance: false }, ada.headers);
    const { key } = await makeKey(lin.headers, { dailySpendCapYuan: '3' });
    const balanceOf = async (): Promise<number> => (await get('/user/balance', key)).balance;
    await limit(ada, lin, { monthlySpendCapYuan: '2', totalSpendCapYuan: '9' });
    assert.equal(await balanceOf(), 2);
    await limit(ada, lin, { monthlySpendCapYuan: '5' });
    assert.equal(await balanceOf(), 3);
  });

  it('are kept when the member leaves, whose keys are kept, revoked or handed over as requested', async () => {
    const account = await g.createAccount();
    const { ada, lin, mo } = await peopleOf(account);
    const eve = await createPerson(g, {
      name: `Eve of ${account.id}`,
      memberships: [{ accountId: account.id, role: 'member' }],
    });
    const [ofLin, ofMo, ofEve] = [await makeKey(lin.headers), await makeKey(mo.headers), await makeKey(eve.headers)];
    await limit(ada, eve, { dailyCalls: 1 });
    await limit(ada, mo, { dailyCalls: 0 });
    const remove = (person: TestPerson, query = '') =>
      ask(g, 'DELETE', `/members/${person.id}${query}`, undefined, ada.headers);
    assert.equal((await remove(lin, `?keysTo=${lin.id}`)).status, 400);
    assert.equal((await remove(lin, `?keys=revoke&keysTo=${ada.id}`)).status, 400);

    assert.equal((await remove(lin, '?keys=revoke')).status, 204);
    await until(async () => (await send(g, ofLin.key, CHAT)).status === 401);
    assert.equal((await remove(mo, `?keysTo=${ada.id}`)).status, 204);
    await until(async () => (await send(g, ofMo.key, CHAT)).status === 200);
    assert.equal((await remove(eve)).status, 204);
    assert.equal((await send(g, ofEve.key, CHAT)).status, 200);
    assert.equal((await send(g, ofEve.key, CHAT)).json.error.code, 'member_daily_calls_limit_exceeded');

    const { body } = await ask(g, 'GET', '/keys', undefined, ada.headers);
    const shown = new Map<string, { formerUserName: string; userId: string }>(
      body.data.map((key: { id: string }) => [key.id, key]),
    );
    for (const [key, person, userId] of [
      [ofLin, 'Lin', lin.id],
      [ofMo, 'Mo', ada.id],
      [ofEve, 'Eve', eve.id],
    ] as const) {
      const { formerUserName, userId: owner } = shown.get(key.id)!;
      assert.deepEqual([formerUserName, owner], [`${person} of ${account.id}`, userId]);
    }
  });
});
