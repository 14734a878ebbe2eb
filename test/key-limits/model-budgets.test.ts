import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { CODING_CHAT, grant } from '../plans/coding.ts';
import type { ClientResponse } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import {
  assertSpent,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { CHAT, coderAnd, MESSAGES, responseAnything, send } from '../support/limited-calls.ts';
import { ask, createPerson, type TestPerson } from '../support/people.ts';
import { chatUsage } from '../support/provider.ts';
import { assertWait } from '../support/waits.ts';

/** The budgets of keys and members for single models. */

const NOON_IN_SHANGHAI = '2026-11-20T04:00:00.000Z';
const SECONDS_TO_MIDNIGHT = 12 * 3_600;
const CALL_COST = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
/** Two calls reach it to the nano-yuan. */
const TWO_CALLS = '0.000248';
const NO_CAPS = {
  dailySpendCapYuan: null,
  weeklySpendCapYuan: null,
  monthlySpendCapYuan: null,
  totalSpendCapYuan: null,
};
const spentTwice = {
  dailySpendYuan: TWO_CALLS,
  weeklySpendYuan: TWO_CALLS,
  monthlySpendYuan: TWO_CALLS,
  totalSpendYuan: TWO_CALLS,
};

const modelText = (id: string, alias: string) => `
  ${id}:
    aliases: [${alias}]
    maxOutputTokens: "100"
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat }]
`;
const manyModels = Array.from({ length: 22 }, (_, n) => modelText(`many-${n}`, `many-${n}-latest`)).join('');

describe('budgets for single models', { timeout: 300_000 }, () => {
  const clock = createTestClock(NOON_IN_SHANGHAI);
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock, plans: coderAnd(), models: modelText('deep', 'deeper') + manyModels });
    g.provider.respond = responseAnything;
  });
  after(() => g.stop());

  const bodyOf = (model: string) => ({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] });
  const callModel = (key: string, model = 'test-chat', path = CHAT) => send(g, key, path, bodyOf(model));

  async function makeKey(account: TestAccount, modelBudgets: object, more: object = {}) {
    const asked = { name: 'limited', modelBudgets, ...more };
    const { status, body } = await g.admin('POST', `/accounts/${account.id}/keys`, asked);
    assert.equal(status, 201, JSON.stringify(body));
    return body as { id: string; key: string; modelBudgets: object };
  }

  const changeKey = (id: string, modelBudgets: object) => g.admin('PATCH', `/keys/${id}`, { modelBudgets });

  async function shownKey(account: TestAccount, id: string) {
    const { body } = await g.admin('GET', `/accounts/${account.id}/keys`);
    return body.data.find((key: { id: string }) => key.id === id);
  }

  function assertRefused(response: ClientResponse, code: string, message: RegExp): void {
    assert.equal(response.status, 429, response.text);
    assert.equal(response.headers['x-error-code'], code);
    assert.match(response.json.error.message, message);
  }

  it('of a key stop its calls of the model by any name, but no others', async () => {
    clock.set(NOON_IN_SHANGHAI);
    const account = await g.createAccount();
    await grant(g, account.id, 'coder');
    const key = await makeKey(account, { 'test-chat-latest': { dailySpendCapYuan: TWO_CALLS } });
    assert.deepEqual(key.modelBudgets, { 'test-chat': { ...NO_CAPS, dailySpendCapYuan: TWO_CALLS } });
    const first = await callModel(key.key);
    assert.equal(first.headers['x-faregate-budgets'], `model-day=0.000124/${TWO_CALLS}`);
    assert.equal((await callModel(key.key, 'test-chat-latest')).status, 200);
    const asked = g.provider.requests.length;
    for (const name of ['test-chat', 'test-chat-latest']) {
      const refused = await callModel(key.key, name);
      const message = /^This API key reached its spending limit for the model test-chat for today\. Other keys/;
      assertRefused(refused, 'key_daily_spend_limit_exceeded', message);
      assert.equal(refused.json.error.type, 'insufficient_quota');
      assert.equal(refused.headers['x-should-retry'], 'false');
      assertWait(refused, SECONDS_TO_MIDNIGHT);
    }
    assert.equal(g.provider.requests.length, asked);
    const other = await callModel(key.key, 'test-both');
    assert.deepEqual([other.status, other.headers['x-faregate-budgets']], [200, undefined]);
    assert.equal((await callModel(key.key, 'test-chat', CODING_CHAT)).status, 200);
    assert.equal((await callModel(account.key)).status, 200);
    await assertSpent(account, 4n * CALL_COST);
    const { used, usedByModel } = await shownKey(account, key.id);
    assert.deepEqual([used, usedByModel], [null, { 'test-chat': spentTwice }]);

    clock.advance(SECONDS_TO_MIDNIGHT * 1_000);
    assert.equal((await callModel(key.key)).status, 200);
  });

  it('are refused in the envelope of the messages protocol, too', async () => {
    const account = await g.createAccount();
    const key = await makeKey(account, { 'test-messages': { totalSpendCapYuan: '0' } });
    const refused = await callModel(key.key, 'test-messages', MESSAGES);
    const message = /^This API key reached its total spending limit for the model test-messages\./;
    assertRefused(refused, 'key_total_spend_limit_exceeded', message);
    assert.deepEqual([refused.json.type, refused.json.error.type], ['error', 'billing_error']);
  });

  it('count together with the budgets for all models, which are named first', async () => {
    const account = await g.createAccount();
    const budgets = { 'test-chat': { monthlySpendCapYuan: '0.000000001' } };
    const key = await makeKey(account, budgets, { totalSpendCapYuan: '0.000000001' });
    const { headers } = await callModel(key.key);
    assert.equal(headers['x-faregate-budgets'], 'total=0.000124/0.000000001, model-month=0.000124/0.000000001');
    assert.equal((await callModel(key.key)).headers['x-error-code'], 'key_total_spend_limit_exceeded');
    assert.equal((await g.admin('PATCH', `/keys/${key.id}`, { totalSpendCapYuan: null })).status, 200);
    assert.equal((await callModel(key.key)).headers['x-error-code'], 'key_monthly_spend_limit_exceeded');
    assert.equal((await callModel(key.key, 'test-messages', MESSAGES)).status, 200);
  });

  it('are changed one by one, taken away, and keep what was used', async () => {
    clock.set(NOON_IN_SHANGHAI);
    const account = await g.createAccount();
    const key = await makeKey(account, { 'test-chat': { dailySpendCapYuan: '1' } });
    assert.equal((await callModel(key.key)).status, 200);
    const wanted = {
      'test-chat': { dailySpendCapYuan: null, weeklySpendCapYuan: '2' },
      deep: { totalSpendCapYuan: '3' },
    };
    const { body } = await changeKey(key.id, wanted);
    assert.deepEqual(body.modelBudgets, {
      deep: { ...NO_CAPS, totalSpendCapYuan: '3' },
      'test-chat': { ...NO_CAPS, weeklySpendCapYuan: '2' },
    });
    assert.equal(body.usedByModel['test-chat'].weeklySpendYuan, '0.000124');
    assert.equal(body.usedByModel.deep.totalSpendYuan, '0');
    assert.deepEqual((await changeKey(key.id, { 'test-chat': null, deep: null })).body.modelBudgets, {});
    assert.equal((await callModel(key.key)).headers['x-faregate-budgets'], undefined);
    const again = await changeKey(key.id, { 'test-chat': { totalSpendCapYuan: '0.000124' } });
    assert.equal(again.body.usedByModel['test-chat'].totalSpendYuan, '0.000124');
    const refused = await callModel(key.key);
    assertRefused(refused, 'key_total_spend_limit_exceeded', /total spending limit for the model test-chat\./);
  });

  it('need a known model and an amount, and at most 20 models', async () => {
    const account = await g.createAccount();
    const { id } = await makeKey(account, { 'test-chat': { dailySpendCapYuan: '1' } });
    const caps = { dailySpendCapYuan: '1' };
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`many-${from + n}`, caps]));
    for (const [modelBudgets, param, message] of [
      [{ 'test-chats': caps }, 'modelBudgets', 'There is no model "test-chats". Did you mean "test-chat"?'],
      [{ zzzzzzzzzzzz: caps }, 'modelBudgets', 'There is no model "zzzzzzzzzzzz". Known: test-chat, '],
      [{ 'test-chat': { dailyCalls: 5 } }, 'modelBudgets.test-chat.dailyCalls', ''],
      [{ 'test-chat': { dailySpendCapYuan: '-1' } }, 'modelBudgets.test-chat.dailySpendCapYuan', 'zero or more'],
      [many(0, 21), 'modelBudgets', 'At most 20 models may have budgets of their own.'],
      [many(0, 20), 'modelBudgets', 'At most 20 models may have budgets of their own.'],
    ] as const) {
      const { status, body } = await changeKey(id, modelBudgets);
      assert.deepEqual([status, body.error.param], [400, param], JSON.stringify(body));
      assert.ok(body.error.message.includes(message), body.error.message);
    }
    assert.deepEqual(Object.keys((await shownKey(account, id)).modelBudgets), ['test-chat']);
    assert.equal((await changeKey(id, many(0, 19))).status, 200);
    // A model that does not exist has no budget to take away.
    assert.equal((await changeKey(id, { gone: null, 'test-chat': null, 'many-19': caps })).status, 200);
    const { body } = await g.admin('POST', '/keys/search', { id });
    assert.equal(Object.keys(body.data[0].modelBudgets).length, 20);
  });

  it('stay with a model that is renamed, and are harmless if it leaves the catalog', async () => {
    const account = await g.createAccount();
    const key = await makeKey(account, { deep: { totalSpendCapYuan: TWO_CALLS } });
    const shown = async () => (await shownKey(account, key.id)).modelBudgets;
    const reload = (models: string): void => {
      const options = { plans: coderAnd(), models: models + manyModels };
      g.gateway.reload(parseConfig(testConfigText(g.provider.url, options), 'test.yaml', {}));
    };
    try {
      assert.equal((await callModel(key.key, 'deep')).status, 200);
      reload(modelText('deep-2', 'deep'));
      assert.deepEqual(await shown(), { 'deep-2': { ...NO_CAPS, totalSpendCapYuan: TWO_CALLS } });
      assert.equal((await callModel(key.key, 'deep-2')).status, 200);
      const refused = await callModel(key.key, 'deep');
      assertRefused(refused, 'key_total_spend_limit_exceeded', /for the model deep-2\./);
      // The budget is the same one, so its usage continues.
      assert.equal((await changeKey(key.id, { 'deep-2': { totalSpendCapYuan: '0.000249' } })).status, 200);
      assert.deepEqual(
        [(await callModel(key.key, 'deep')).status, (await callModel(key.key, 'deep')).status],
        [200, 429],
      );
      reload('');
      assert.deepEqual(await shown(), { deep: { ...NO_CAPS, totalSpendCapYuan: '0.000249' } });
      assert.equal((await callModel(key.key, 'deep')).status, 404);
      assert.equal((await callModel(key.key)).status, 200);
      assert.deepEqual((await changeKey(key.id, { deep: null })).body.modelBudgets, {});
    } finally {
      reload(modelText('deep', 'deeper'));
    }
  });

  it('pass to the key that replaces another, with what was used', async () => {
    const account = await g.createAccount();
    const key = await makeKey(account, { 'test-chat': { totalSpendCapYuan: TWO_CALLS } });
    assert.equal((await callModel(key.key)).status, 200);
    const { status, body: next } = await g.admin('POST', `/keys/${key.id}/replacement`, {});
    assert.equal(status, 201, JSON.stringify(next));
    assert.deepEqual(next.modelBudgets, { 'test-chat': { ...NO_CAPS, totalSpendCapYuan: TWO_CALLS } });
    assert.deepEqual([(await callModel(next.key)).status, (await callModel(next.key)).status], [200, 429]);
  });

  it('are not increased by refunds, like the budgets for all models', async () => {
    const account = await g.createAccount();
    const key = await makeKey(account, { 'test-chat': { totalSpendCapYuan: '0.000124' } });
    const { headers } = await callModel(key.key);
    const refund = await g.admin(
      'POST',
      `/calls/${headers['x-faregate-call-id']}/refunds`,
      {},
      { 'idempotency-key': 'r' },
    );
    assert.equal(refund.status, 201, JSON.stringify(refund.body));
    assert.equal((await callModel(key.key)).status, 429);
    assert.equal((await shownKey(account, key.id)).usedByModel['test-chat'].totalSpendYuan, '0.000124');
  });

  it('let one of 50 racing calls overdraw them, and release what calls reserved that failed', async () => {
    const account = await g.createAccount();
    const key = await makeKey(account, { 'test-chat': { dailySpendCapYuan: '0.000000001' } });
    g.provider.respond = (_request, response) => void response.writeHead(400).end('{"error":{"message":"No."}}');
    assert.equal((await callModel(key.key)).status, 400);
    g.provider.respond = responseAnything;
    const race = Array.from({ length: 50 }, (_, i) => callModel(key.key, i % 2 === 0 ? 'test-chat' : 'test-both'));
    const responses = await Promise.all(race);
    const ofModel = responses.filter((_response, i) => i % 2 === 0);
    assert.equal(ofModel.filter(({ status }) => status === 200).length, 1);
    assert.equal(responses.filter(({ status }) => status === 200).length, 26);
    for (const response of ofModel) {
      if (response.status === 200) continue;
      assertRefused(response, 'key_daily_spend_limit_exceeded', /for the model test-chat/);
    }
    await assertSpent(account, 26n * CALL_COST);
  });

  describe('of a member', () => {
    async function peopleOf(account: TestAccount) {
      const personOf = (name: string, role: 'owner' | 'member') =>
        createPerson(g, { name: `${name} of ${account.id}`, memberships: [{ accountId: account.id, role }] });
      return { ada: await personOf('Ada', 'owner'), lin: await personOf('Lin', 'member') };
    }
    async function ownKey(person: TestPerson): Promise<{ id: string; key: string }> {
      const { status, body } = await ask(g, 'POST', '/keys', {}, person.headers);
      assert.equal(status, 201, JSON.stringify(body));
      return body;
    }

    it('count the calls of all its keys, and only owners set them', async () => {
      clock.set(NOON_IN_SHANGHAI);
      const account = await g.createAccount();
      const { ada, lin } = await peopleOf(account);
      const budgets = { modelBudgets: { 'test-chat': { monthlySpendCapYuan: TWO_CALLS } } };
      const set = await ask(g, 'PATCH', `/members/${lin.id}`, budgets, ada.headers);
      assert.equal(set.status, 200, JSON.stringify(set.body));
      const keys = [await ownKey(lin), await ownKey(lin)];
      const last = [await callModel(keys[0]!.key), await callModel(keys[1]!.key)].at(-1)!;
      assert.equal(last.headers['x-faregate-budgets'], `member-model-month=${TWO_CALLS}/${TWO_CALLS}`);
      for (const { key } of keys) {
        const message = /^This member reached their spending limit for the model test-chat for this month across all/;
        assertRefused(await callModel(key), 'member_monthly_spend_limit_exceeded', message);
      }
      assert.equal((await callModel(keys[0]!.key, 'test-messages', MESSAGES)).status, 200);
      assert.equal((await callModel(account.key)).status, 200);

      const shown = { 'test-chat': { ...NO_CAPS, monthlySpendCapYuan: TWO_CALLS } };
      const { body: own } = await ask(g, 'GET', '/member-limits', undefined, lin.headers);
      assert.deepEqual([own.modelBudgets, own.usedByModel], [shown, { 'test-chat': spentTwice }]);
      const { body: people } = await g.admin('GET', `/accounts/${account.id}/members`);
      const member = people.data.find(({ userId }: { userId: string }) => userId === lin.id);
      assert.deepEqual([member.modelBudgets, member.usedByModel], [shown, { 'test-chat': spentTwice }]);
      assert.equal((await ask(g, 'PATCH', `/members/${lin.id}`, budgets, lin.headers)).status, 403);

      const byOperator = { userId: lin.id, modelBudgets: { 'test-chat': null } };
      assert.equal((await g.admin('PATCH', `/accounts/${account.id}/members`, byOperator)).status, 200);
      assert.equal((await callModel(keys[0]!.key)).status, 200);
    });

    it('apply in addition to those of the key, which owners set in the account API', async () => {
      const account = await g.createAccount();
      const { ada, lin } = await peopleOf(account);
      const { id, key } = await ownKey(lin);
      const ofKey = { modelBudgets: { 'test-chat': { totalSpendCapYuan: '0.000124' } } };
      const { status, body } = await ask(g, 'PATCH', `/keys/${id}`, ofKey, ada.headers);
      assert.deepEqual([status, body.usedByModel['test-chat'].totalSpendYuan], [200, '0']);
      const ofMember = { modelBudgets: { 'test-chat': { totalSpendCapYuan: TWO_CALLS } } };
      assert.equal((await ask(g, 'PATCH', `/members/${lin.id}`, ofMember, ada.headers)).status, 200);
      assert.equal((await callModel(key)).status, 200);
      assert.equal((await callModel(key)).headers['x-error-code'], 'key_total_spend_limit_exceeded');
      const other = await ownKey(lin);
      assert.equal((await callModel(other.key)).status, 200);
      assert.equal((await callModel(other.key)).headers['x-error-code'], 'member_total_spend_limit_exceeded');
    });
  });
});
