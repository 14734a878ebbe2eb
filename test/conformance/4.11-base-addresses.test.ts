import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type Address, addresses, askAddress, askFor, assertRefusal, badKey, responseAnything } from './addresses.ts';
import { createSubscriber, plansText } from './plans.ts';

const find = (path: string): Address => addresses.find((address) => address.path === path)!;

describe('4.11 General balance and base-address variants', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({
      plans: plansText({ three: { fiveHourCalls: 3 }, 'short-week': { fiveHourCalls: 9, weeklyCalls: 2 } }),
    });
    account = await gateway.createAccount({ balanceYuan: '12.34' });
  });
  after(() => gateway.stop());

  async function snapshotOf(path: string) {
    const response = await askAddress(gateway.url, find(path), account.key);
    assert.equal(response.status, 200, response.text);
    return response.json;
  }

  it('4.11 the chat-style base address, /v1, returns the balance in yuan', async () => {
    assert.deepEqual(await snapshotOf('/v1/user/balance'), { is_active: true, balance: 12.34, unit: 'CNY' });
  });

  it('4.11 the messages-style general base address, the root, returns the same', async () => {
    assert.deepEqual(await snapshotOf('/user/balance'), await snapshotOf('/v1/user/balance'));
  });

  for (const path of [
    '/v1/coding/user/balance',
    '/altproto/user/balance',
    '/altproto/v1/user/balance',
    '/altproto/coding/user/balance',
    '/altproto/coding/v1/user/balance',
    '/v1/coding/altproto/user/balance',
  ]) {
    it(`4.11 ${path} returns the fields of the plan, with remaining calls as its balance`, async () => {
      const { capturedAt, ...snapshot } = await snapshotOf(path);
      assert.equal(new Date(capturedAt).toISOString(), capturedAt);
      const { capturedAt: _other, ...expected } = await snapshotOf('/v1/coding/user/balance');
      assert.deepEqual(snapshot, expected);
      assert.equal(snapshot.unit, 'calls');
      assert.equal(snapshot.balance, snapshot.remaining);
    });
  }

  it('4.11 is_active and balance are at the top level, a boolean and a number, at every balance address', async () => {
    const readers = addresses.filter(({ work }) => work === 'balance' || work === 'codingBalance');
    assert.equal(readers.length, 8);
    for (const { path } of readers) {
      const { is_active, balance } = await snapshotOf(path);
      assert.equal(typeof is_active, 'boolean');
      assert.equal(typeof balance, 'number');
    }
  });

  it('4.11 remaining is quota minus usedQuota', async () => {
    const { quota, usedQuota, remaining } = await snapshotOf('/v1/coding/user/balance');
    assert.equal(remaining, quota - usedQuota);
  });

  it('4.11 every base address of the messages style also accepts x-api-key; chat-style ones accept only Bearer', async () => {
    for (const { path } of addresses.filter(({ envelope }) => envelope === 'usage')) {
      const response = await askFor(gateway.url, path, { headers: { 'x-api-key': account.key } });
      if (path === '/v1/user/balance' || path === '/v1/coding/user/balance') assertRefusal(response, 'usage', badKey);
      else assert.equal(response.status, 200, path);
    }
  });

  it('4.11 a balance reader that appends /user/balance to any base address gets its response in one request', async () => {
    for (const base of ['', '/v1', '/v1/coding', '/altproto', '/altproto/coding', '/v1/coding/altproto']) {
      const response = await askFor(gateway.url, `${base}/user/balance`, {
        headers: { authorization: `Bearer ${account.key}`, 'user-agent': 'cc-switch/1.0', accept: '*/*' },
      });
      assert.equal(response.status, 200, base);
      assert.equal(typeof response.json.balance, 'number');
    }
  });

  describe('with a plan', () => {
    const coding = addresses.filter(({ work }) => work === 'codingBalance').map(({ path }) => path);

    /** The response of every address of the plan, which is the same except for times. */
    async function planAt(path: string, key: string) {
      const response = await askAddress(gateway.url, find(path), key);
      assert.equal(response.status, 200, response.text);
      const { capturedAt: _time, fiveHour, ...rest } = response.json;
      const { resetAt: _reset, ...window } = fiveHour;
      return { ...rest, fiveHour: window };
    }

    it('4.11 of a plan, quota, usedQuota, remaining and isValid follow the convention of total, used and remaining, at every address', async () => {
      const subscriber = await createSubscriber(gateway, 'three');
      gateway.provider.respond = responseAnything;
      for (let used = 0; used <= 3; used++) {
        for (const path of coding) {
          const { quota, usedQuota, remaining, isValid, is_active, balance } = await planAt(path, subscriber.key);
          assert.deepEqual(
            { quota, usedQuota, remaining, balance, isValid, is_active },
            {
              quota: 3,
              usedQuota: used,
              remaining: 3 - used,
              balance: 3 - used,
              isValid: used < 3,
              is_active: used < 3,
            },
          );
        }
        const { status } = await askAddress(gateway.url, find('/v1/coding/chat/completions'), subscriber.key);
        assert.equal(status, used < 3 ? 200 : 429);
      }
    });

    it('4.11 if the week has less left than the five hours, remaining is the week’s remainder', async () => {
      const subscriber = await createSubscriber(gateway, 'short-week');
      const { quota, usedQuota, remaining } = await planAt('/v1/coding/user/balance', subscriber.key);
      assert.deepEqual([quota, usedQuota, remaining], [9, 0, 2]);
    });

    it('4.11 only the address distinguishes a plan from a balance', async () => {
      const subscriber = await createSubscriber(gateway, 'three');
      const expected = await planAt('/v1/coding/user/balance', subscriber.key);
      for (const path of coding) assert.deepEqual(await planAt(path, subscriber.key), expected);
      for (const path of ['/v1/user/balance', '/user/balance']) {
        const { json } = await askAddress(gateway.url, find(path), subscriber.key);
        assert.deepEqual(json, { is_active: true, balance: 100, unit: 'CNY' });
      }
    });
  });
});
