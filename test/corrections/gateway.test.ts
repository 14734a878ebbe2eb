import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSettlementStore } from '../../src/accounting/settlement/store.ts';
import { formatYuan } from '../../src/lib/yuan.ts';
import { assertReviewed } from '../people/reviewed-sentences.ts';
import { TIME } from '../support/accounting-builders.ts';
import { call, startCall } from '../support/client.ts';
import { ADMIN_TOKEN, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatStream, chatUsage, liveResponse } from '../support/provider.ts';

/** Operators correct calls over the admin API, before and after late ends of the calls. */

const CALL_NANO = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe(`corrections of calls over the admin API`, { timeout: 300_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway();
  });
  after(() => g.stop());

  const chat = (account: TestAccount) => call(`${g.url}/v1/chat/completions`, account.key, hello);

  /** A call that another node resolves as dead while it runs here: unresolved, until `end` completes it. */
  async function unresolvedCall() {
    const account = await g.createAccount();
    const live = liveResponse();
    const respond = g.provider.respond;
    g.provider.respond = live.respond;
    const running = startCall(`${g.url}/v1/chat/completions`, account.key, { ...hello, stream: true });
    await live.opened;
    g.provider.respond = respond;
    const { data } = (await g.admin('GET', `/calls?accountId=${account.id}`)).body;
    assert.deepEqual(data, []);
    const [open] = await g.database.query<{ call_id: string }>(
      { name: 'test.open-call', text: 'select call_id from reservations where account_id = $1' },
      [account.id],
    );
    const id = open!.call_id;
    const inFlight = await g.admin('POST', `/calls/${id}/resolution`, { action: 'release' });
    assert.equal(inFlight.status, 409);
    assert.match(inFlight.body.error.message, /in flight/);
    const time = { ...TIME, nowMs: null };
    await createSettlementStore(g.database).resolve([{ accountId: account.id, callId: id }], time);
    return {
      account,
      id,
      async end(): Promise<void> {
        await live.write(chatStream(['Hello']).join(''));
        live.end();
        await (await running.response).ended();
        await g.observed.callsEnded(account.id, 1);
      },
    };
  }

  it('charge an unresolved call once, and its late end changes nothing', async () => {
    const { account, id, end } = await unresolvedCall();
    const unresolved = (await g.admin('GET', `/calls/${id}`)).body;
    assert.deepEqual([unresolved.status, unresolved.chargeYuan, unresolved.resolution], ['unresolved', null, null]);
    const resolve = (body: object, key: string) =>
      g.admin('POST', `/calls/${id}/resolution`, body, { 'idempotency-key': key });
    const above = await resolve({ action: 'charge', chargeYuan: '1000' }, 'a');
    assert.equal(above.status, 422);
    assert.equal(
      above.body.error.message,
      `chargeYuan: The call had reserved ¥${unresolved.heldYuan} and can be charged at most that amount.`,
    );
    const charge = { action: 'charge', chargeYuan: '0.0001', memo: 'billed', by: 'erin' };
    const responses = await Promise.all(['a', 'a', 'b'].map((key) => resolve(charge, key)));
    for (const { status, body } of responses) {
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual([body.status, body.chargeYuan, body.heldYuan], ['resolved', '0.0001', unresolved.heldYuan]);
      const { at, ...resolution } = body.resolution;
      assert.deepEqual(resolution, { action: 'charge', by: 'erin', byId: null, via: 'admin_token', memo: 'billed' });
      assert.ok(Number.isFinite(Date.parse(at)));
    }
    const other = await resolve({ action: 'release' }, 'c');
    assert.equal(other.status, 409);
    assert.match(other.body.error.message, /already resolved at .*: it was charged ¥0\.0001/);
    await end();
    // Repeats add no row.
    const [change, ...others] = (await g.admin('GET', `/changes?subjectId=${id}`)).body.data;
    assert.deepEqual([change.before.status, change.after.status, others], ['unresolved', 'resolved', []]);
    assertReviewed('admin POST /calls/:id/resolution', change.sentence);
    const { body } = await g.admin('GET', `/calls/${id}`);
    assert.deepEqual(body, responses[0]!.body);
    assert.deepEqual(await account.money(), { balanceNano: 99_999_900_000n, heldNano: 0n });
    for (const [status, found] of [
      ['unresolved', 0],
      ['resolved', 1],
    ] as const) {
      const list = await g.admin('GET', `/calls?accountId=${account.id}&status=${status}`);
      assert.equal(list.body.data.length, found);
    }
  });

  it('refuse to resolve a call that has already ended, and report how it ended', async () => {
    const { id, end } = await unresolvedCall();
    await end();
    const late = await g.admin('POST', `/calls/${id}/resolution`, { action: 'release' });
    assert.equal(late.status, 409);
    assert.match(late.body.error.message, /already ended: it is succeeded and was charged ¥0\.\d+\./);
  });

  it('refund a charge, with an entry that names the call, and keep the spending of the day', async () => {
    const account = await g.createAccount();
    await chat(account);
    const { id } = await account.endedCall();
    const refund = (body: object, key?: string) =>
      g.admin('POST', `/calls/${id}/refunds`, body, key === undefined ? {} : { 'idempotency-key': key });
    const first = await refund({ amountYuan: '0.00002', memo: 'late' }, 'r1');
    assert.equal(first.status, 201);
    assert.deepEqual(
      [first.body.amountYuan, first.body.refundedYuan, first.body.chargeYuan],
      ['0.00002', '0.00002', formatYuan(CALL_NANO)],
    );
    assert.deepEqual(await refund({ amountYuan: '0.00002', memo: 'late' }, 'r1'), first);
    assert.equal((await refund({ amountYuan: '0.00003', memo: 'late' }, 'r1')).status, 409);
    const above = await refund({ amountYuan: formatYuan(CALL_NANO) });
    assert.deepEqual([above.status, above.body.error.param], [422, 'amountYuan']);
    assert.equal((await refund({ amountYuan: '-1' })).status, 400);
    assert.equal((await refund({})).body.refundedYuan, formatYuan(CALL_NANO));
    const all = await refund({});
    assert.equal(all.status, 409);
    assert.match(all.body.error.message, /has been refunded already/);

    const record = (await g.admin('GET', `/calls/${id}`)).body;
    assert.deepEqual([record.chargeYuan, record.refundedYuan], [formatYuan(CALL_NANO), formatYuan(CALL_NANO)]);
    assert.deepEqual(
      // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
      record.refunds.map(({ entryId, amountYuan, memo }: any) => [entryId, amountYuan, memo]),
      [
        [first.body.entryId, '0.00002', 'late'],
        [record.refunds[1].entryId, formatYuan(CALL_NANO - 20_000n), null],
      ],
    );
    assert.deepEqual((await account.lastCall()).refunds, record.refunds);
    const { data } = (await g.admin('GET', `/accounts/${account.id}/ledger`)).body;
    assert.deepEqual(
      // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
      data.map((entry: any) => [entry.kind, entry.callId, entry.memo]),
      [
        ['refund', id, null],
        ['refund', id, 'late'],
        ['charge', id, null],
        ['top_up', null, null],
      ],
    );
    const { body } = await g.admin('GET', `/accounts/${account.id}`);
    assert.deepEqual([body.balanceYuan, body.spentTodayYuan], ['100', formatYuan(CALL_NANO)]);
  });

  it('report what is wrong with a request', async () => {
    const account = await g.createAccount();
    await chat(account);
    const { id } = await account.endedCall();
    for (const [body, said] of [
      [{}, /action/],
      [{ action: 'pay' }, /action/],
      [{ action: 'charge' }, /chargeYuan/],
      [{ action: 'charge', chargeYuan: '-1' }, /chargeYuan: Expected an amount of zero or more/],
      [{ action: 'count', tokens: 1.5 }, /tokens: Expected a whole number/],
      [{ action: 'release', chargeYuan: '1' }, /chargeYuan/],
    ] as const) {
      const { status, body: response } = await g.admin('POST', `/calls/${id}/resolution`, body);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(response.error.message, said);
    }
    for (const path of ['resolution', 'refunds']) {
      const body = path === 'refunds' ? {} : { action: 'release' };
      assert.equal((await g.admin('POST', `/calls/call_of_nobody/${path}`, body)).status, 404);
      const guess = await fetch(`${g.url}/admin/v1/calls/${id}/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}x` },
      });
      assert.equal(guess.status, 401);
    }
  });
});
