import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseYuan } from '../../src/lib/yuan.ts';
import { call } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { send, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Margins by model, route and group of accounts. */

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
/** The charges and costs of a call with this usage. */
const LIST_NANO = 1_000n * 3_000n + 100n * 13_000n;
const COST_NANO = 1_000n * 2_000n + 100n * 7_000n;
const HALF_NANO = LIST_NANO / 2n;
const OWN_PRICE_NANO = 1_000n * 1_000n + 100n * 1_000n;

const cost = '{ input: "2", output: "7" }';
const MODELS = `
  gaining:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: at-cost, cost: ${cost} }]
  losing:
    operations: [chat]
    price: { input: "1", output: "1" }
    routes: [{ provider: chatty, model: at-cost, cost: ${cost} }]
  giving:
    operations: [chat]
    price: { input: "0", output: "0" }
    routes: [{ provider: chatty, model: at-cost, cost: ${cost} }]
`;
const GROUPS = `
groups:
  resellers: { name: Resellers, priceFactorBasisPoints: 5000, prices: { losing: { input: "2", output: "2" } } }
`;
const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 10, weeklyCalls: 50, concurrency: 3, quotaTokens: 1000000, periodDays: 30, priceYuan: "300.00000001", models: [gaining], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;
const DAY_NANO = 10_000_000_001n;

const nano = (yuan: string): bigint => parseYuan(yuan)!;
const share = (margin: bigint, revenue: bigint): number => Math.round((Number(margin) / Number(revenue)) * 10_000);

describe('margins', { timeout: 120_000 }, () => {
  let g: TestGateway;
  let alice: TestAccount;
  let reseller: TestAccount;

  before(async () => {
    g = await startGateway({ models: MODELS, groups: GROUPS, plans: PLANS, usageIntervalMs: 5 });
    g.provider.respond = json(200, chatCompletion(USAGE));
    alice = await g.createAccount();
    const made = await g.admin('POST', '/accounts', {
      name: 'Rita',
      verified: true,
      balanceYuan: '100',
      groupId: 'resellers',
    });
    assert.deepEqual([made.status, made.body.groupId], [201, 'resellers']);
    reseller = await keyed(made.body.id);
    for (const model of ['gaining', 'losing', 'giving', 'test-chat']) await chat(alice, model);
    for (const model of ['gaining', 'losing']) await chat(reseller, model);
    await settled();
  });
  after(() => g?.stop());

  /** The members of `createAccount` that these tests need. */
  async function keyed(id: string): Promise<TestAccount> {
    const { body } = await g.admin('POST', `/accounts/${id}/keys`, { name: 'test', scopes: ['calls', 'account'] });
    const lastCall = async () => (await g.admin('GET', `/calls?accountId=${id}&limit=1`)).body.data[0];
    return { id, key: body.key, keyId: body.id, lastCall } as unknown as TestAccount;
  }
  async function chat({ key }: TestAccount, model: string, path = '/v1/chat/completions'): Promise<void> {
    const sent = { model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
    const { status, text } = await call(g.url + path, key, sent);
    assert.equal(status, 200, text);
  }
  const settled = (): Promise<void> =>
    until(async () => {
      for (const { database } of g.partitions) {
        const [row] = await sql<{ n: bigint }>(database, 'select count(*) as n from usage_queue');
        if (row!.n > 0n) return false;
      }
      return true;
    });
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function usage(query: string): Promise<any[]> {
    const { status, body } = await g.admin('GET', `/usage?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data;
  }

  it('of a model are a share of its net charge, negative for a loss, and unknown without costs or charges', async () => {
    const byModel = new Map((await usage(`groupBy=model&accountId=${alice.id}`)).map((row) => [row.model, row]));
    const gain = LIST_NANO - COST_NANO;
    const { gaining, losing, giving } = Object.fromEntries(byModel);
    assert.equal(nano(gaining.balanceMarginYuan), gain);
    assert.equal(gaining.balanceMarginBasisPoints, share(gain, LIST_NANO));
    assert.equal(gaining.marginBasisPoints, gaining.balanceMarginBasisPoints);
    assert.equal(losing.balanceMarginBasisPoints, share(OWN_PRICE_NANO - COST_NANO, OWN_PRICE_NANO));
    assert.ok(losing.balanceMarginBasisPoints < -10_000);
    assert.deepEqual([nano(giving.balanceMarginYuan), giving.balanceMarginBasisPoints], [-COST_NANO, null]);
    const unknown = byModel.get('test-chat');
    assert.deepEqual(
      [unknown.balanceMarginYuan, unknown.balanceMarginBasisPoints, unknown.callsWithoutCost],
      [null, null, 1],
    );
    assert.deepEqual([unknown.costedNetChargeYuan, unknown.costedMarginBasisPoints], ['0', null]);
  });

  it('of a sum with unknown costs apply to the charges whose costs are known', async () => {
    const [sum] = await usage(`accountId=${alice.id}`);
    const charged = LIST_NANO + OWN_PRICE_NANO;
    const margin = charged - 3n * COST_NANO;
    assert.deepEqual([sum.marginYuan, sum.marginBasisPoints, sum.callsWithoutCost], [null, null, 1]);
    assert.equal(nano(sum.netChargeYuan), charged + LIST_NANO);
    assert.equal(nano(sum.costedNetChargeYuan), charged);
    assert.equal(nano(sum.costedMarginYuan), margin);
    assert.equal(sum.costedMarginBasisPoints, share(margin, charged));
  });

  it('of a route are those of its model at its provider', async () => {
    const rows = await usage('groupBy=model,provider&model=gaining');
    assert.deepEqual(
      rows.map((row) => [row.model, row.provider, row.calls, row.balanceMarginBasisPoints]),
      [['gaining', 'chatty', 2, share(LIST_NANO + HALF_NANO - 2n * COST_NANO, LIST_NANO + HALF_NANO)]],
    );
  });

  it('of a group are those of the calls that its accounts made while they were in it', async () => {
    const byGroup = () => usage('groupBy=group&model=gaining');
    const describeGroups = async () =>
      (await byGroup()).map((row) => [row.groupId, row.calls, nano(row.netChargeYuan), row.balanceMarginBasisPoints]);
    const ofResellers = ['resellers', 1, HALF_NANO, share(HALF_NANO - COST_NANO, HALF_NANO)];
    const ofNone = [null, 1, LIST_NANO, share(LIST_NANO - COST_NANO, LIST_NANO)];
    assert.deepEqual(await describeGroups(), [ofNone, ofResellers]);

    const early = await reseller.lastCall();
    await g.admin('PATCH', `/accounts/${reseller.id}`, { groupId: null });
    await until(async () => {
      await chat(reseller, 'gaining');
      return nano((await reseller.lastCall()).chargeYuan) === LIST_NANO;
    });
    await settled();
    const moved = await byGroup();
    assert.deepEqual(
      moved.map(({ groupId }) => groupId),
      [null, 'resellers'],
    );
    const [all] = await usage('groupBy=model&model=gaining');
    assert.equal(
      moved.reduce((sum, { calls }) => sum + calls, 0),
      all.calls,
    );
    assert.ok(moved[0].calls >= 2 && moved[0].balanceMarginBasisPoints > moved[1].balanceMarginBasisPoints);

    // A refund belongs to the group of its call.
    const losing = await usage('groupBy=group&model=losing');
    assert.equal(early.model, 'losing');
    const refund = await g.admin('POST', `/calls/${early.id}/refunds`, { memo: 'sorry' }, { 'idempotency-key': 'r1' });
    assert.equal(refund.status, 201, JSON.stringify(refund.body));
    await settled();
    const after = await usage('groupBy=group&model=losing');
    assert.deepEqual(
      after.map(({ groupId, netChargeYuan }) => [groupId, netChargeYuan]),
      [
        [null, losing[0].netChargeYuan],
        ['resellers', '0'],
      ],
    );
  });

  it('of plans spread the price over the period, in the group that the account had when the plan was granted', async () => {
    const made = await g.admin('POST', '/accounts', { name: 'Petra', verified: true, groupId: 'resellers' });
    const petra = await keyed(made.body.id);
    const granted = await g.admin('POST', `/accounts/${petra.id}/subscriptions`, { planId: 'coder' });
    assert.equal(granted.status, 201);
    await chat(petra, 'gaining', '/v1/coding/chat/completions');
    await settled();
    await g.admin('PATCH', `/accounts/${petra.id}`, { groupId: null });
    const of = `accountId=${petra.id}`;
    const [sum] = await usage(`groupBy=group&${of}`);
    assert.equal(sum.groupId, 'resellers');
    assert.deepEqual([sum.planRevenueYuan, sum.planCostYuan, sum.netChargeYuan].map(nano), [DAY_NANO, COST_NANO, 0n]);
    assert.equal(nano(sum.marginYuan), DAY_NANO - COST_NANO);
    assert.equal(sum.planMarginBasisPoints, share(DAY_NANO - COST_NANO, DAY_NANO));
    assert.equal(sum.marginBasisPoints, sum.planMarginBasisPoints);
    // A model has no plan revenue, so the margin is unknown, not a loss.
    const [ofModel] = await usage(`groupBy=group,model&${of}`);
    assert.deepEqual([ofModel.planRevenueYuan, ofModel.marginYuan, ofModel.planMarginBasisPoints], [null, null, null]);
  });

  it('are a column of the command line, with totals that are not sums of shares', async () => {
    const cli = async (...given: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runCommand(given, { DATABASE_URL: g.stored.url });
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const table = await cli('usage', '--group-by', 'model', '--account', alice.id);
    const percent = (margin: bigint, revenue: bigint) => `${(share(margin, revenue) / 100).toFixed(1)}%`;
    const lineOf = (name: string) => table.split('\n').find((line) => line.startsWith(`${name} `))!;
    assert.ok(lineOf('gaining').includes(` ${percent(LIST_NANO - COST_NANO, LIST_NANO)} `), table);
    assert.ok(lineOf('losing').includes(` ${percent(OWN_PRICE_NANO - COST_NANO, OWN_PRICE_NANO)} `), table);
    const charged = LIST_NANO + OWN_PRICE_NANO;
    assert.ok(lineOf('all').includes(`${percent(charged - 3n * COST_NANO, charged)} of ¥`), table);
    assert.match(table, /^The cost of some calls is unknown\./m);
    const { data } = JSON.parse(await cli('usage', '--group-by', 'group', '--json'));
    assert.deepEqual(
      data.map(({ groupId }: { groupId: string | null }) => groupId),
      [null, 'resellers'],
    );
    assert.match(await cli('usage', '--group-by', 'group', '--csv'), /^groupId,calls,.*\r\n,\d+,.*\r\nresellers,\d+,/);
  });

  it('and groups are hidden from accounts', async () => {
    const headers = { authorization: `Bearer ${reseller.key}` };
    const own = await send(`${g.url}/account/v1/usage`, 'GET', undefined, headers);
    assert.equal(own.status, 200, own.text);
    assert.doesNotMatch(own.text, /margin|cost|group/i);
    assert.equal((await send(`${g.url}/account/v1/usage?groupBy=group`, 'GET', undefined, headers)).status, 400);
  });
});
