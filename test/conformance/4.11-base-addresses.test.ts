import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type Address, addresses, askAddress, askFor, assertRefusal, badKey } from './addresses.ts';
import { notTestable } from './rule.ts';

const find = (path: string): Address => addresses.find((address) => address.path === path)!;

describe('4.11 General balance and base-address variants', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway();
    account = await gateway.createAccount({ balanceYuan: '12.34' });
  });
  after(() => gateway.stop());

  async function snapshotOf(path: string) {
    const answer = await askAddress(gateway.url, find(path), account.key);
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
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

  it('4.11 is_active and balance stand at the top level, a boolean and a number, wherever a balance is read', async () => {
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

  it('4.11 every base address of the messages style takes x-api-key too, those of the chat style Bearer alone', async () => {
    for (const { path } of addresses.filter(({ envelope }) => envelope === 'usage')) {
      const answer = await askFor(gateway.url, path, { headers: { 'x-api-key': account.key } });
      if (path === '/v1/user/balance' || path === '/v1/coding/user/balance') assertRefusal(answer, 'usage', badKey);
      else assert.equal(answer.status, 200, path);
    }
  });

  it('4.11 a balance reader that appends /user/balance to any base address gets its answer in one request', async () => {
    for (const base of ['', '/v1', '/v1/coding', '/altproto', '/altproto/coding', '/v1/coding/altproto']) {
      const answer = await askFor(gateway.url, `${base}/user/balance`, {
        headers: { authorization: `Bearer ${account.key}`, 'user-agent': 'cc-switch/1.0', accept: '*/*' },
      });
      assert.equal(answer.status, 200, base);
      assert.equal(typeof answer.json.balance, 'number');
    }
  });

  notTestable(
    '4.11 of a plan, quota, usedQuota, remaining and isValid follow the convention of total, used and what is left',
    'Coding Plans are not sold yet: all four are 0 or false.',
  );
});
