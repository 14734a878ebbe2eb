import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCall } from '../support/client.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { liveResponse } from '../support/provider.ts';
import { type AskOptions, askFor, assertRefusal, badKey } from './addresses.ts';
import { codingAddresses, requestTo } from './calls.ts';
import { assertPlanUse, createSubscriber, plansText, snapshotOf } from './plans.ts';

const PATH = '/v1/coding/user/balance';

describe('4.10 GET /v1/coding/user/balance', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ plans: plansText({ pro: { fiveHourCalls: 3 }, empty: { weeklyCalls: 0 } }) });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  const ask = (options: AskOptions = {}, path = PATH) =>
    askFor(gateway.url, path, { ...options, headers: { authorization: `Bearer ${account.key}`, ...options.headers } });

  it('4.10 the key is sent as Bearer', async () => {
    assert.equal((await ask()).status, 200);
    assertRefusal(await askFor(gateway.url, PATH, { headers: { 'x-api-key': account.key } }), 'usage', badKey);
  });

  it('4.10 there is no parameter and no body: both are ignored', async () => {
    const { capturedAt: _first, ...expected } = (await ask()).json;
    const response = await ask(
      { headers: { 'content-type': 'text/plain' }, body: 'anything' },
      `${PATH}?accountId=other&limit=-1`,
    );
    const { capturedAt: _second, ...given } = response.json;
    assert.equal(response.status, 200);
    assert.deepEqual(given, expected);
  });

  it('4.10 without a plan the response is also 200', async () => {
    const { status, json } = await ask();
    assert.equal(status, 200);
    assert.equal(json.active, false);
  });

  it('4.10 it calls no model, and neither charges nor records anything', async () => {
    const asked = gateway.provider.requests.length;
    for (let i = 0; i < 5; i++) await ask();
    assert.equal(gateway.provider.requests.length, asked);
    await assertSpent(account, 0n);
    assert.equal(await account.lastCall(), undefined);
    const { body } = await gateway.admin('GET', `/accounts/${account.id}/ledger`);
    assert.deepEqual(
      body.data.map(({ kind }: { kind: string }) => kind),
      ['top_up'],
    );
  });

  it('4.10 a refused question is no call that was refused: nothing of it is recorded', async () => {
    const unverified = await gateway.createAccount({ verified: false });
    assertRefusal(await ask({ headers: { authorization: `Bearer ${unverified.key}` } }), 'usage', badKey);
    assert.equal(await unverified.lastCall(), undefined);
  });

  it('4.10 the snapshot is the state at the time of the query, every time anew', async () => {
    const first = await ask();
    const again = await ask({ headers: { 'if-none-match': '"of-something-else"' } });
    assert.ok(Date.parse(again.json.capturedAt) >= Date.parse(first.json.capturedAt));
  });

  it('4.10 an unusable key is 401 invalid_api_key, whose type is authentication_error and which has no param', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer nonsense', `Basic ${account.key}`]) {
      assertRefusal(await ask({ headers: { authorization } }), 'usage', badKey);
    }
  });

  it('4.10 with the database away the response is 500 internal_error', async () => {
    const { key } = await gateway.createAccount();
    const lookUp = gateway.observed.statement('accounts.select-standings');
    lookUp.fail('before');
    try {
      const response = await ask({ headers: { authorization: `Bearer ${key}` } });
      assertRefusal(response, 'usage', { status: 500, code: 'internal_error', type: 'api_error' });
    } finally {
      lookUp.recover();
    }
    assert.equal((await ask({ headers: { authorization: `Bearer ${key}` } })).status, 200);
  });

  it('4.10 with a plan the response is 200 with its remainder', async () => {
    const subscriber = await createSubscriber(gateway, 'pro');
    const { active, balance, planName, message } = await snapshotOf(gateway, subscriber);
    assert.deepEqual([active, balance, planName, message], [true, 3, 'Plan pro', null]);
  });

  it('4.10 it reserves no plan and deducts no quota, however often it is asked', async () => {
    const subscriber = await createSubscriber(gateway, 'pro');
    for (let i = 0; i < 10; i++) await snapshotOf(gateway, subscriber);
    await assertPlanUse(gateway, subscriber, { calls: 0, tokens: 0 });
    assert.equal((await snapshotOf(gateway, subscriber)).balance, 3);
    assert.equal(await subscriber.lastCall(), undefined);
    await assertSpent(subscriber, 0n);
  });

  it('4.10 an exhausted plan is reported with 200, and not recorded as a refusal', async () => {
    const subscriber = await createSubscriber(gateway, 'empty');
    const { active, is_active, remaining } = await snapshotOf(gateway, subscriber);
    assert.deepEqual([active, is_active, remaining], [true, false, 0]);
    assert.equal(await subscriber.lastCall(), undefined);
  });

  it('4.10 the snapshot shows a call in flight, and its tokens once it has ended', async () => {
    const subscriber = await createSubscriber(gateway, 'pro');
    const address = codingAddresses[0]!;
    const live = liveResponse({ 'content-type': 'application/json' });
    gateway.provider.respond = live.respond;
    const calling = startCall(gateway.url + address.path, subscriber.key, requestTo(address));
    await live.opened;
    const during = await snapshotOf(gateway, subscriber);
    assert.deepEqual([during.remaining, during.concurrency.inFlight, during.pkg.usedTokens], [2, 1, 0]);
    await live.write(JSON.stringify(address.response));
    live.end();
    assert.ok(await (await calling.response).ended());
    await assertPlanUse(gateway, subscriber, { calls: 1, tokens: address.tokens! });
  });
});
