import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type Address, addresses, askAddress, responseAnything, workOf } from './addresses.ts';

const balanceAddresses = addresses.filter(({ work }) => work === 'balance');

describe('2.4 General balance snapshot', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
    gateway.provider.respond = responseAnything;
  });
  after(() => gateway.stop());

  /** The text of the response: the spelling of numbers matters to clients. */
  async function snapshotOf(key: string, address: Address = balanceAddresses[0]!): Promise<string> {
    const response = await askAddress(gateway.url, address, key);
    assert.equal(response.status, 200, response.text);
    return response.text;
  }

  it('2.4 the snapshot is is_active, balance and unit, and nothing else', async () => {
    const { key } = await gateway.createAccount();
    for (const address of balanceAddresses) {
      assert.deepEqual(JSON.parse(await snapshotOf(key, address)), { is_active: true, balance: 100, unit: 'CNY' });
    }
  });

  for (const [balanceYuan, shown] of [
    ['0.01', '0.01'],
    ['0.1', '0.1'],
    ['0.000001', '0.000001'],
    ['12.345678', '12.345678'],
    ['99999999.999999', '99999999.999999'],
  ] as const) {
    it(`2.4 a balance of ¥${balanceYuan} is the number ${shown}, and active`, async () => {
      const { key } = await gateway.createAccount({ balanceYuan });
      assert.equal(await snapshotOf(key), `{"is_active":true,"balance":${shown},"unit":"CNY"}`);
    });
  }

  it('2.4 less than a millionth of a yuan is not shown, but still is a positive balance', async () => {
    const { key } = await gateway.createAccount({ balanceYuan: '1.000000999' });
    assert.equal(JSON.parse(await snapshotOf(key)).balance, 1);
    const { key: tiny } = await gateway.createAccount({ balanceYuan: '0.000000001' });
    assert.deepEqual(JSON.parse(await snapshotOf(tiny)), { is_active: true, balance: 0, unit: 'CNY' });
  });

  it('2.4 without money the balance is 0 and is_active false', async () => {
    const { key } = await gateway.createAccount({ balanceYuan: '0' });
    assert.deepEqual(JSON.parse(await snapshotOf(key)), { is_active: false, balance: 0, unit: 'CNY' });
  });

  it('2.4 an overdrawn balance is a negative number, never more than there is, and is_active false', async () => {
    const account = await gateway.createAccount({ balanceYuan: '0' });
    await gateway.admin('POST', `/accounts/${account.id}/adjustments`, { amountYuan: '-1.2500001', memo: 'test' });
    assert.deepEqual(JSON.parse(await snapshotOf(account.key)), {
      is_active: false,
      balance: -1.250001,
      unit: 'CNY',
    });
  });

  it('2.4 balance reflects charges and top-ups at once', async () => {
    const account = await gateway.createAccount({ balanceYuan: '0.0002' });
    const chat = addresses.find(({ work }) => work === 'chat')!;
    assert.equal((await askAddress(gateway.url, chat, account.key)).status, 200);
    assert.equal(workOf(chat).costNano, 124_000n);
    assert.equal(JSON.parse(await snapshotOf(account.key)).balance, 0.000076);
    assert.equal((await askAddress(gateway.url, chat, account.key)).status, 200);
    assert.deepEqual(JSON.parse(await snapshotOf(account.key)), {
      is_active: false,
      balance: -0.000048,
      unit: 'CNY',
    });
    await gateway.admin('POST', `/accounts/${account.id}/top-ups`, { amountYuan: '1' });
    assert.deepEqual(JSON.parse(await snapshotOf(account.key)), {
      is_active: true,
      balance: 0.999952,
      unit: 'CNY',
    });
  });
});
