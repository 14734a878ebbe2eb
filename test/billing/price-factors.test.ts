import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseYuan } from '../../src/lib/yuan.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { families, modesOf, requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, liveResponse, sse } from '../support/provider.ts';
import { recomputedCharge } from '../support/recomputed-charge.ts';

/** The share of the list price that an account pays. */

const MODELS = `
  executor:
    operations: [messages]
    innerModels: { vendor-dear: dear }
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: vendor-cheap }]
  dear:
    operations: [messages]
    price: { input: "101", output: "997" }
    routes: [{ provider: messy, model: vendor-dear }]
`;
const PLANS = `plans: { plan: { name: Plan, fiveHourCalls: 100, weeklyCalls: 100, concurrency: 9, quotaTokens: 1000000,
  periodDays: 30, models: [test-both], inputByteLimit: 1MiB, outputTokenLimit: 1000 } }`;

const CHAT = '/v1/chat/completions';

/** A charge at the list price times a factor, rounded half up. */
const atFactor = (listNano: bigint, basisPoints: number): bigint =>
  (listNano * BigInt(basisPoints) * 2n + 10_000n) / 20_000n;

describe(`the price factor of an account`, { timeout: 60_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ models: MODELS, plans: PLANS });
  });
  after(() => g?.stop());

  async function setFactor(account: TestAccount, priceFactorBasisPoints: number, node = g): Promise<void> {
    const { status, body } = await node.admin('PATCH', `/accounts/${account.id}`, { priceFactorBasisPoints });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.priceFactorBasisPoints, priceFactorBasisPoints);
  }
  async function accountAt(basisPoints: number, options = {}): Promise<TestAccount> {
    const account = await g.createAccount(options);
    await setFactor(account, basisPoints);
    return account;
  }
  /** Asserts that an account which had ¥100 was charged this amount at this factor; returns its newest record, which says the same. */
  async function assertCharged(account: TestAccount, nano: bigint, basisPoints: number) {
    assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n - nano, heldNano: 0n });
    const record = await account.lastCall();
    assert.equal(record.priceFactorBasisPoints, basisPoints);
    assert.equal(parseYuan(record.chargeYuan), nano);
    assert.equal(recomputedCharge(record), nano);
    return record;
  }

  it('is 10000 by default', async () => {
    const account = await g.createAccount();
    const { body } = await g.admin('GET', `/accounts/${account.id}`);
    assert.equal(body.priceFactorBasisPoints, 10_000);
    g.provider.respond = json(200, families[0]!.whole());
    assert.equal((await call(g.url + CHAT, account.key, requestOf(false))).status, 200);
    await assertCharged(account, families[0]!.cost, 10_000);
  });

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      it(`applies to the charge of a ${kind} response of ${family.name}, in its header and record`, async () => {
        for (const basisPoints of [8_000, 12_345]) {
          const account = await accountAt(basisPoints);
          g.provider.respond = isStream ? sse(family.stream(['Hello'])) : json(200, family.whole());
          const response = await call(g.url + family.path, account.key, requestOf(isStream));
          assert.equal(response.status, 200, response.text);
          const nano = atFactor(family.cost, basisPoints);
          await assertCharged(account, nano, basisPoints);
          if (!isStream) assert.equal(parseYuan(String(response.headers['x-faregate-charge-yuan'])), nano);
        }
      });
    }
  }

  it('applies to the charge of a model inside a call, which is rounded separately', async () => {
    const account = await accountAt(9_999);
    g.provider.respond = json(200, {
      type: 'message',
      usage: {
        input_tokens: 7,
        output_tokens: 3,
        iterations: [
          { type: 'message', input_tokens: 7, output_tokens: 3 },
          { type: 'advisor_message', model: 'vendor-dear', input_tokens: 11, output_tokens: 13 },
        ],
      },
    });
    const tools = [{ type: 'advisor_20260301', name: 'advisor', model: 'vendor-dear' }];
    const body = { model: 'executor', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }], tools };
    assert.equal((await call(`${g.url}/v1/messages`, account.key, body)).status, 200);
    const dearNano = atFactor(11n * 101_000n + 13n * 997_000n, 9_999);
    const record = await assertCharged(account, atFactor(10_000n, 9_999) + dearNano, 9_999);
    assert.equal(parseYuan(record.innerModels[0].chargeYuan), dearNano);
  });

  it('applies to the reservation, and a change while a call runs to later calls', async () => {
    const running = async (account: TestAccount) => {
      const live = liveResponse();
      g.provider.respond = live.respond;
      const started = startCall(g.url + CHAT, account.key, requestOf(true));
      await live.opened;
      return { live, started };
    };
    const finish = async ({ live, started }: Awaited<ReturnType<typeof running>>): Promise<ClientResponse> => {
      for (const part of families[0]!.stream(['Hello'])) await live.write(part);
      live.end();
      const response = await started.response;
      assert.ok(await response.ended());
      return response;
    };
    const atList = await g.createAccount();
    const full = await running(atList);
    const { heldNano: listNano } = await atList.money();
    await finish(full);

    const account = await accountAt(20_000);
    const first = await running(account);
    assert.equal((await account.money()).heldNano, 2n * listNano);
    await setFactor(account, 5_000);
    await finish(first);
    await assertCharged(account, 2n * families[0]!.cost, 20_000);
    const second = await running(account);
    assert.equal((await account.money()).heldNano, atFactor(listNano, 5_000));
    await finish(second);
    assert.equal((await account.lastCall()).priceFactorBasisPoints, 5_000);
    const { balanceNano } = await account.money();
    assert.equal(balanceNano, 100_000_000_000n - 2n * families[0]!.cost - atFactor(families[0]!.cost, 5_000));
  });

  it('applies to what the daily cap and the limits of the key count', async () => {
    const account = await accountAt(5_000, { dailySpendCapYuan: '1' });
    const key = await g.admin('POST', `/accounts/${account.id}/keys`, { dailySpendCapYuan: '0.000000001' });
    g.provider.respond = json(200, families[0]!.whole());
    assert.equal((await call(g.url + CHAT, key.body.key, requestOf(false))).status, 200);
    const nano = atFactor(families[0]!.cost, 5_000);
    const { body } = await g.admin('GET', `/accounts/${account.id}`);
    assert.equal(parseYuan(body.spentTodayYuan), nano);
    const [row] = await g.database.query<{ spent_nano: bigint }>(
      { name: 'test.key-spent', text: 'select spent_nano from key_limits where key_id = $1' },
      [key.body.id],
    );
    assert.equal(row!.spent_nano, nano);
  });

  it('of 0 makes calls free, but an account without balance is still refused', async () => {
    const account = await accountAt(0);
    g.provider.respond = json(200, families[0]!.whole());
    const response = await call(g.url + CHAT, account.key, requestOf(false));
    assert.deepEqual([response.status, response.headers['x-faregate-charge-yuan']], [200, '0']);
    await assertCharged(account, 0n, 0);
    const { body } = await g.admin('GET', `/accounts/${account.id}/ledger`);
    assert.deepEqual([body.data[0].kind, body.data[0].amountYuan], ['charge', '0']);
    const poor = await accountAt(0, { balanceYuan: '0' });
    const refused = await call(g.url + CHAT, poor.key, requestOf(false));
    assert.deepEqual([refused.status, refused.json.error.code], [402, 'insufficient_balance']);
  });

  it('does not apply to calls on a plan', async () => {
    const account = await accountAt(8_000);
    await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'plan' });
    g.provider.respond = json(200, families[0]!.whole());
    assert.equal((await call(`${g.url}/v1/coding/chat/completions`, account.key, requestOf(false))).status, 200);
    const record = await account.lastCall();
    assert.deepEqual([record.priceFactorBasisPoints, record.chargeYuan], [null, null]);
  });

  it('is a whole number of basis points up to ten times the list price', async () => {
    const account = await g.createAccount();
    for (const priceFactorBasisPoints of [-1, 100_001, 0.5, '8000', null]) {
      const { status, body } = await g.admin('PATCH', `/accounts/${account.id}`, { priceFactorBasisPoints });
      assert.deepEqual([status, body.error.param], [400, 'priceFactorBasisPoints']);
      assert.match(body.error.message, /from 0 to 100000; 10000 is the list price/);
    }
    await setFactor(account, 100_000);
  });
});

describe('the price factor of an account, on two nodes', { timeout: 60_000 }, () => {
  let first: TestGateway;
  let second: TestGateway;
  before(async () => {
    first = await startGateway();
    second = await startGateway({ stored: first.stored, database: first.stored.openAnother() });
    for (const node of [first, second]) node.provider.respond = json(200, families[0]!.whole());
  });
  after(async () => {
    await second?.stop();
    await first?.stop();
  });

  it('applies on each of them to the very next call, whichever of them changed it', async () => {
    const account = await first.createAccount();
    for (const [teller, basisPoints] of [
      [first, 8_000],
      [second, 7_000],
      [first, 6_000],
    ] as const) {
      const { status } = await teller.admin('PATCH', `/accounts/${account.id}`, {
        priceFactorBasisPoints: basisPoints,
      });
      assert.equal(status, 200);
      for (const node of [first, second]) {
        assert.equal((await call(node.url + CHAT, account.key, requestOf(false))).status, 200);
        const record = await account.lastCall();
        assert.equal(record.priceFactorBasisPoints, basisPoints);
        assert.equal(parseYuan(record.chargeYuan), atFactor(families[0]!.cost, basisPoints));
      }
    }
  });
});
