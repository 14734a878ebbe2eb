import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN_TOKEN, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson } from '../support/people.ts';
import { sql } from '../support/sql.ts';
import { balanceOf, VoucherScene } from './scene.ts';

/** Batches of vouchers, and the redemption of their codes. */

const DAY_MS = 86_400_000;
/** A well-formed code of no batch. */
const NO_VOUCHER = '01234-56789-ABCDE-FGHJT';

describe(`vouchers`, { timeout: 300_000 }, () => {
  const scene = new VoucherScene();
  let g: TestGateway;
  before(async () => {
    await scene.start();
    g = scene.g;
  });
  after(() => g.stop());

  it('show their codes once, as JSON or CSV, and store hashes of them', async () => {
    const batch = await scene.create({ count: 3, expiresAt: '2027-01-01T00:00:00Z' });
    assert.equal(new Set(batch.codes).size, 3);
    const { codes: _codes, ...shown } = batch;
    assert.deepEqual((await g.admin('GET', `/vouchers/${batch.id}`)).body, shown);
    assert.deepEqual((await g.admin('GET', '/vouchers?limit=1')).body.data, [shown]);
    const rows = await sql<{ row: string }>(g.database, 'select to_jsonb(v)::text as row from vouchers v');
    for (const code of batch.codes) {
      assert.ok(!rows.some(({ row }) => row.includes(code) || row.includes(code.replaceAll('-', ''))));
    }
    const response = await fetch(`${g.url}/admin/v1/vouchers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', accept: 'text/csv' },
      body: JSON.stringify({ name: 'as CSV', count: 2, planId: 'coder' }),
    });
    const [head, ...lines] = (await response.text()).trimEnd().split('\r\n');
    assert.deepEqual([head, lines.length], ['code,amountYuan,planId,expiresAt', 2]);
    assert.match(lines[0]!, /^[0-9A-Z]{5}(-[0-9A-Z]{5}){3},,coder,$/);
  });

  it('are created once for an Idempotency-Key, whose repeat names the batch without its codes', async () => {
    const key = { 'idempotency-key': 'a-batch' };
    const batch = await scene.create({}, key);
    const again = await g.admin('POST', '/vouchers', { name: 'spring', count: 1, amountYuan: '5.5' }, key);
    assert.equal(again.status, 409);
    assert.ok(again.body.error.message.includes(batch.id));
    assert.ok(!JSON.stringify(again.body).includes(batch.codes[0]!));
  });

  it('are refused with both a value and a plan or neither, for unknown plans, in excess, or already expired', async () => {
    const bodies = [
      [{}, 400],
      [{ amountYuan: '1', planId: 'coder' }, 400],
      [{ amountYuan: '0' }, 400],
      [{ planId: 'none' }, 400],
      [{ amountYuan: '1', count: 0 }, 400],
      [{ amountYuan: '1', count: 10_001 }, 400],
      [{ amountYuan: '1', expiresAt: '2026-11-20T12:00:00Z' }, 422],
    ] as const;
    for (const [body, status] of bodies) {
      const refused = await g.admin('POST', '/vouchers', { name: 'x', count: 1, ...body });
      assert.equal(refused.status, status, JSON.stringify(body));
    }
  });

  it('a member redeems a value: balance, entry and redemption change together; a repeat returns the same', async () => {
    const account = await g.createAccount();
    const member = await createPerson(g, { memberships: [{ accountId: account.id, role: 'member' }] });
    const batch = await scene.create({ count: 2 });
    const [code] = batch.codes as [string];
    const first = await scene.redeem(code.toLowerCase().replaceAll('-', ' '), member.headers);
    assert.equal(first.status, 201, JSON.stringify(first.body));
    assert.equal(await balanceOf(account), 105_500_000_000n);
    const [entry] = await scene.entriesOf(account);
    assert.deepEqual([entry.id, entry.kind, entry.amountYuan], [first.body.entryId, 'top_up', '5.5']);
    assert.ok(entry.memo.includes(batch.id) && entry.memo.includes(code.slice(-4)));
    scene.clock.advance(1_000);
    assert.deepEqual((await scene.redeem(code, await scene.keyOf(account))).body, first.body);
    assert.equal((await scene.entriesOf(account)).length, 1);
    const listed = (await g.admin('GET', `/vouchers/${batch.id}/redemptions`)).body.data;
    assert.deepEqual(listed, [
      {
        ...first.body,
        accountName: 'tester',
        batchId: batch.id,
        redeemedBy: `Lin (${member.id})`,
        redeemedById: member.id,
      },
    ]);
    assert.equal((await g.admin('GET', `/vouchers/${batch.id}`)).body.redeemedCount, 1);
    assert.ok(!JSON.stringify(listed).includes(code));
  });

  it('are found by operators by the code, with its redeemer, and by a part of the name of their batch', async () => {
    const account = await g.createAccount();
    const batch = await scene.create({ name: 'Autumn fair 7', count: 2 });
    const [code] = batch.codes as [string];
    const search = (body: object) => g.admin('POST', '/vouchers/search', body);
    const shown = { codeEnd: code.slice(-4), batch: (await g.admin('GET', `/vouchers/${batch.id}`)).body };
    assert.deepEqual((await search({ code })).body, { ...shown, redemption: null });
    assert.equal((await scene.redeem(code, await scene.keyOf(account))).status, 201);
    const { body } = await search({ code: code.toLowerCase().replaceAll('-', ' ') });
    assert.deepEqual([body.codeEnd, body.batch.id, body.batch.redeemedCount], [code.slice(-4), batch.id, 1]);
    const [redemption] = (await g.admin('GET', `/vouchers/${batch.id}/redemptions`)).body.data;
    assert.deepEqual(body.redemption, redemption);
    assert.deepEqual([redemption.accountId, redemption.accountName], [account.id, 'tester']);
    assert.ok(!JSON.stringify(body).includes(code.slice(0, 5)));
    const unknown = await search({ code: NO_VOUCHER });
    assert.deepEqual([unknown.status, unknown.body.error.message], [404, 'There is no such voucher.']);
    assert.equal((await search({ code: `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}` })).status, 400);
    for (const text of ['autumn', 'FAIR 7', batch.id]) {
      const listed = await g.admin('GET', `/vouchers?search=${encodeURIComponent(text)}`);
      assert.deepEqual(
        listed.body.data.map(({ id }: { id: string }) => id),
        [batch.id],
        text,
      );
    }
    assert.deepEqual((await g.admin('GET', '/vouchers?search=winter')).body.data, []);
  });

  it('a code that another account has redeemed is reported as unknown', async () => {
    const [account, other] = [await g.createAccount(), await g.createAccount()];
    const { codes } = await scene.create({ expiresAt: new Date(scene.clock.nowMs() + 60_000).toISOString() });
    assert.equal((await scene.redeem(codes[0]!, await scene.keyOf(account))).status, 201);
    scene.clock.advance(60_000);
    const owner = await scene.keyOf(other);
    const [taken, none] = [await scene.redeem(codes[0]!, owner), await scene.redeem(NO_VOUCHER, owner)];
    assert.equal(taken.status, 404);
    assert.deepEqual([taken.status, taken.body], [none.status, none.body]);
    assert.equal(await balanceOf(other), 100_000_000_000n);
    const member = await createPerson(g, { memberships: [{ accountId: other.id, role: 'member' }] });
    const foreign = await ask(g, 'POST', `/vouchers?accountId=${account.id}`, { code: codes[0] }, member.headers);
    assert.deepEqual(
      [foreign.status, foreign.body.error.message],
      [404, `You do not belong to the account ${account.id}.`],
    );
  });

  it('a typing mistake is reported without a lookup', async () => {
    const headers = await scene.keyOf(await g.createAccount());
    const { codes } = await scene.create({});
    const lookUps = g.observed.statement('vouchers.lock-voucher').asked;
    const wrong = codes[0]!.startsWith('2') ? '3' : '2';
    for (const typed of [wrong + codes[0]!.slice(1), 'hello', '']) {
      const refused = await scene.redeem(typed, headers);
      assert.deepEqual([refused.status, refused.body.error.param], [400, 'code'], typed);
    }
    assert.equal(g.observed.statement('vouchers.lock-voucher').asked, lookUps);
  });

  it('an account may try ten wrong codes, then one every six seconds', async () => {
    const [account, other] = [await g.createAccount(), await g.createAccount()];
    const headers = await scene.keyOf(account);
    const { codes } = await scene.create({ count: 2 });
    for (let n = 0; n < 10; n++) assert.equal((await scene.redeem(NO_VOUCHER, headers)).status, 404);
    const refused = await scene.redeem(codes[0]!, headers);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '6']);
    assert.equal((await scene.redeem(codes[1]!, await scene.keyOf(other))).status, 201);
    scene.monotonicMs += 6_000;
    assert.equal((await scene.redeem(codes[0]!, headers)).status, 201);
  });

  it('expired and canceled codes are refused; earlier redemptions stay', async () => {
    const account = await g.createAccount();
    const headers = await scene.keyOf(account);
    const expiring = await scene.create({ expiresAt: new Date(scene.clock.nowMs() + 1_000).toISOString() });
    scene.clock.advance(1_000);
    const expired = await scene.redeem(expiring.codes[0]!, headers);
    assert.deepEqual([expired.status, expired.body.error.message], [409, 'This voucher has expired.']);
    const batch = await scene.create({ count: 2 });
    const first = await scene.redeem(batch.codes[0]!, headers);
    assert.equal((await g.admin('DELETE', `/vouchers/${batch.id}`)).status, 204);
    assert.match((await scene.redeem(batch.codes[1]!, headers)).body.error.message, /canceled/);
    assert.deepEqual((await scene.redeem(batch.codes[0]!, headers)).body, first.body);
    assert.equal(await balanceOf(account), 105_500_000_000n);
    for (const [method, path] of [
      ['DELETE', '/vouchers/vb_none'],
      ['GET', '/vouchers/vb_none'],
      ['GET', '/vouchers/vb_none/redemptions'],
    ] as const) {
      assert.equal((await g.admin(method, path)).status, 404, path);
    }
  });

  it('of a plan grant it from now on, renew an active one, and stay unredeemed if another plan is active', async () => {
    const account = await g.createAccount();
    const headers = await scene.keyOf(account);
    const batch = await scene.create({ planId: 'coder', count: 2 });
    const granted = await scene.redeem(batch.codes[0]!, headers);
    const endsAt = (periods: number): string => new Date(scene.clock.nowMs() + periods * 30 * DAY_MS).toISOString();
    assert.equal(granted.status, 201, JSON.stringify(granted.body));
    assert.deepEqual([granted.body.planId, granted.body.subscriptionEndsAt], ['coder', endsAt(1)]);
    const renewed = (await scene.redeem(batch.codes[1]!, headers)).body;
    assert.deepEqual([renewed.subscriptionId, renewed.subscriptionEndsAt], [granted.body.subscriptionId, endsAt(2)]);
    const { data } = (await g.admin('GET', `/accounts/${account.id}/subscriptions`)).body;
    assert.deepEqual([data.length, data[0].id, data[0].endsAt], [1, granted.body.subscriptionId, endsAt(2)]);

    const other = await scene.create({ planId: 'other' });
    const refused = await scene.redeem(other.codes[0]!, headers);
    assert.equal(refused.status, 409);
    assert.match(refused.body.error.message, /Another plan is active .* not redeemed/);
    await g.admin('DELETE', `/subscriptions/${granted.body.subscriptionId}`);
    assert.equal((await scene.redeem(other.codes[0]!, headers)).status, 201);
  });
});
