import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type AskOptions, askFor, assertRefusal, badKey } from './addresses.ts';
import { assertPlanUse, plansText, subscribe } from './plans.ts';

const GENERAL = '/altproto/v1/models';
const CODING = '/altproto/coding/v1/models';
const absent = {
  status: 404,
  code: 'model_not_found',
  type: 'invalid_request_error',
  messagesType: 'not_found_error',
  param: 'model',
};

describe('4.8 GET /altproto/v1/models/{model_id} and /altproto/coding/v1/models/{model_id}', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({
      models: `
  lab/slashed model:
    aliases: ["100%"]
    operations: [messages]
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: upstream }]
  messages-hidden:
    aliases: [messages-hidden-latest]
    listed: false
    operations: [messages]
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: upstream }]
  messages-aliased:
    aliases: [messages-latest]
    operations: [messages]
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: upstream }]
`,
      plans: plansText({
        mixed: { models: ['test-chat', 'test-both', 'messages-aliased', 'messages-hidden', 'lab/slashed model'] },
        empty: { models: ['test-both'], fiveHourCalls: 0 },
      }),
    });
    account = await gateway.createAccount({ balanceYuan: '0' });
  });
  after(() => gateway.stop());

  const ask = (path: string, options: AskOptions = {}) =>
    askFor(gateway.url, path, { ...options, headers: { 'x-api-key': account.key, ...options.headers } });

  it('4.8 a model is found by its canonical id and by an alias, and the response carries the canonical id', async () => {
    for (const name of ['messages-aliased', 'messages-latest']) {
      const response = await ask(`${GENERAL}/${name}`);
      assert.equal(response.status, 200);
      assert.equal(response.json.id, 'messages-aliased');
    }
  });

  it('4.8 an id in the path is percent-decoded, including slashes', async () => {
    for (const name of ['lab/slashed model', '100%']) {
      const response = await ask(`${GENERAL}/${encodeURIComponent(name)}`);
      assert.equal(response.status, 200, response.text);
      assert.equal(response.json.id, 'lab/slashed model');
    }
  });

  it('4.8 the key may be sent as x-api-key or as Bearer, one of them is needed', async () => {
    const path = `${GENERAL}/test-messages`;
    assert.equal((await askFor(gateway.url, path, { headers: { 'x-api-key': account.key } })).status, 200);
    const bearer = { authorization: `Bearer ${account.key}` };
    assert.equal((await askFor(gateway.url, path, { headers: bearer })).status, 200);
    for (const base of [GENERAL, CODING]) {
      assertRefusal(await askFor(gateway.url, `${base}/test-messages`), 'messages', badKey);
    }
  });

  it('4.8 altproto-version is optional, and a later one changes no field of the first', async () => {
    const path = `${GENERAL}/test-messages`;
    const { json } = await ask(path);
    for (const version of ['2023-06-01', '2026-10-21', 'anything']) {
      const response = await ask(path, { headers: { 'altproto-version': version } });
      assert.equal(response.status, 200);
      assert.deepEqual({ ...response.json, ...json }, response.json);
    }
  });

  it('4.8 a query and a body are ignored', async () => {
    const { json } = await ask(`${GENERAL}/test-messages`);
    const response = await ask(`${GENERAL}/test-messages?beta=true&model=test-both`, {
      headers: { 'content-type': 'application/json' },
      body: { model: 'test-both' },
    });
    assert.deepEqual(response.json, json);
  });

  it('4.8 a success and an error have the header request-id', async () => {
    for (const path of [`${GENERAL}/test-messages`, `${GENERAL}/nothing`, `${CODING}/test-messages`]) {
      const { headers } = await ask(path);
      assert.match(headers['request-id']!, /^req_\w+$/);
      assert.equal(headers['x-request-id'], headers['request-id']);
    }
  });

  it('4.8 a model that is absent, unlisted or not on messages is 404 not_found_error', async () => {
    for (const name of ['nothing', 'messages-hidden', 'messages-hidden-latest', 'test-chat', 'TEST-MESSAGES', '%20']) {
      assertRefusal(await ask(`${GENERAL}/${name}`), 'messages', absent);
    }
  });

  it('4.8 the general address checks and deducts no balance', async () => {
    const indebted = await gateway.createAccount({ balanceYuan: '0' });
    await gateway.admin('POST', `/accounts/${indebted.id}/adjustments`, { amountYuan: '-5', memo: 'test' });
    const asked = gateway.provider.requests.length;
    const response = await ask(`${GENERAL}/test-messages`, { headers: { 'x-api-key': indebted.key } });
    assert.equal(response.status, 200);
    assert.deepEqual(await indebted.money(), { balanceNano: -5_000_000_000n, heldNano: 0n });
    assert.equal(await indebted.lastCall(), undefined);
    assert.equal(gateway.provider.requests.length, asked);
  });

  it('4.8 the coding address responds with 404 to an account without a plan, whatever the model', async () => {
    for (const name of ['test-messages', 'test-both', 'messages-latest', 'nothing']) {
      assertRefusal(await ask(`${CODING}/${name}`), 'messages', absent);
    }
    assert.equal(await account.lastCall(), undefined);
  });

  it('4.8 with the database away the response is 500 api_error', async () => {
    const { key } = await gateway.createAccount();
    const lookUp = gateway.observed.statement('accounts.select-standings');
    lookUp.fail('before');
    try {
      const response = await ask(`${GENERAL}/test-messages`, { headers: { 'x-api-key': key } });
      assertRefusal(response, 'messages', { status: 500, code: 'internal_error', type: 'api_error' });
    } finally {
      lookUp.recover();
    }
    assert.equal((await ask(`${GENERAL}/test-messages`, { headers: { 'x-api-key': key } })).status, 200);
  });

  describe('with a plan', () => {
    let subscriber: TestAccount;
    let subscription: string;
    before(async () => {
      subscriber = await gateway.createAccount();
      subscription = await subscribe(gateway, subscriber, 'mixed');
    });

    const askAs = ({ key }: TestAccount, name: string, base = CODING) =>
      askFor(gateway.url, `${base}/${encodeURIComponent(name)}`, { headers: { 'x-api-key': key } });

    it('4.8 the coding address returns the models that both the active plan and the messages surface show, as the general one does', async () => {
      for (const name of ['test-both', 'messages-aliased', 'lab/slashed model']) {
        const response = await askAs(subscriber, name);
        assert.equal(response.status, 200, response.text);
        assert.deepEqual(response.json, (await askAs(subscriber, name, GENERAL)).json);
      }
    });

    it('4.8 the coding address accepts an alias too, and responds with the canonical id', async () => {
      const response = await askAs(subscriber, 'messages-latest');
      assert.equal(response.status, 200, response.text);
      assert.equal(response.json.id, 'messages-aliased');
    });

    it('4.8 the coding address accepts either credential', async () => {
      const bearer = { authorization: `Bearer ${subscriber.key}` };
      assert.equal((await askFor(gateway.url, `${CODING}/test-both`, { headers: bearer })).status, 200);
      assert.equal((await askAs(subscriber, 'test-both')).status, 200);
    });

    it('4.8 a model of the plan that is not on messages is 404 at the coding address, and so is one on messages that is not in the plan', async () => {
      assert.equal((await askAs(subscriber, 'test-messages', GENERAL)).status, 200);
      for (const name of ['test-chat', 'test-messages', 'messages-hidden', 'messages-hidden-latest', 'nothing']) {
        assertRefusal(await askAs(subscriber, name), 'messages', absent);
      }
    });

    it('4.8 a plan that is exhausted, with no balance left, still shows its models', async () => {
      const exhausted = await gateway.createAccount({ balanceYuan: '0' });
      await subscribe(gateway, exhausted, 'empty');
      assert.equal((await askAs(exhausted, 'test-both')).status, 200);
    });

    it('4.8 the coding address reserves no plan and counts no usage', async () => {
      for (const name of ['test-both', 'test-chat', 'messages-latest']) await askAs(subscriber, name);
      await assertPlanUse(gateway, subscriber, { calls: 0, tokens: 0 });
      await assertSpent(subscriber, 0n);
      assert.equal(await subscriber.lastCall(), undefined);
    });

    it('4.8 a plan that has not begun or is canceled shows no model', async () => {
      const early = await gateway.createAccount();
      await subscribe(gateway, early, 'mixed', '2099-01-01T00:00:00Z');
      assertRefusal(await askAs(early, 'test-both'), 'messages', absent);
      assert.equal((await gateway.admin('DELETE', `/subscriptions/${subscription}`)).status, 204);
      assertRefusal(await askAs(subscriber, 'test-both'), 'messages', absent);
    });
  });
});
