import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { runCommand } from '../support/command.ts';
import { ADMIN_TOKEN, type TestGateway } from '../support/gateway.ts';
import { locksAwaited } from '../support/locks.ts';
import { handlesOf } from '../support/spread-database.ts';
import { sql } from '../support/sql.ts';
import { balanceOf, VoucherScene } from './scene.ts';

/** Codes are redeemed once, under concurrency and failures; and by the command line. */

describe(`redemptions`, { timeout: 300_000 }, () => {
  const scene = new VoucherScene();
  let g: TestGateway;
  before(async () => {
    await scene.start();
    g = scene.g;
  });
  after(() => g.stop());

  it('a code that fifty concurrent requests of several accounts and nodes redeem gives one entry', async () => {
    const node = await scene.startNode();
    try {
      const accounts = await Promise.all(Array.from({ length: 5 }, () => g.createAccount()));
      const keys = await Promise.all(accounts.map((account) => scene.keyOf(account)));
      const { id, codes } = await scene.create({});
      const responses = await Promise.all(
        Array.from({ length: 50 }, (_, n) => scene.redeem(codes[0]!, keys[n % 5]!, n % 2 === 0 ? g : node)),
      );
      const redeemed = responses.filter(({ status }) => status === 201);
      assert.equal(redeemed.length, 10, 'all requests of one account, and of no other');
      assert.equal(new Set(redeemed.map(({ body }) => JSON.stringify(body))).size, 1);
      assert.ok(responses.every(({ status }) => [201, 404, 429].includes(status)));
      const entries = (await Promise.all(accounts.map((account) => scene.entriesOf(account)))).flat();
      assert.deepEqual(
        entries.map((entry) => entry.id),
        [redeemed[0]!.body.entryId],
      );
      const balances = await Promise.all(accounts.map(balanceOf));
      assert.equal(
        balances.reduce((sum, balance) => sum + balance),
        505_500_000_000n,
      );
      assert.equal((await g.admin('GET', `/vouchers/${id}`)).body.redeemedCount, 1);
    } finally {
      await node.stop();
    }
  });

  it('a statement that fails leaves neither the entry nor the redemption, and a repeat redeems the code', async () => {
    const account = await g.createAccount();
    const headers = await scene.keyOf(account);
    const steps = ['vouchers.lock-voucher', 'ledger.post-entry', 'vouchers.insert-redemption'] as const;
    for (const step of steps) {
      for (const when of ['before', 'after'] as const) {
        const batch = await scene.create({});
        const [code] = batch.codes as [string];
        const before = await balanceOf(account);
        const statement = g.observed.statement(step);
        statement.fail(when);
        assert.equal((await scene.redeem(code, headers)).status, 500, `${step} ${when}`);
        statement.recover();
        assert.equal(await balanceOf(account), before);
        assert.equal((await g.admin('GET', `/vouchers/${batch.id}`)).body.redeemedCount, 0);
        const redeemed = await scene.redeem(code, headers);
        assert.equal(redeemed.status, 201);
        assert.equal(await balanceOf(account), before + 5_500_000_000n);
        assert.deepEqual((await scene.redeem(code, headers)).body, redeemed.body);
        assert.equal((await g.admin('GET', `/vouchers/${batch.id}`)).body.redeemedCount, 1);
      }
    }
    const { codes } = await scene.create({ planId: 'coder' });
    const statement = g.observed.statement('vouchers.insert-redemption');
    statement.fail('before');
    assert.equal((await scene.redeem(codes[0]!, headers)).status, 500);
    statement.recover();
    assert.deepEqual((await g.admin('GET', `/accounts/${account.id}/subscriptions`)).body.data, []);
    assert.equal((await scene.redeem(codes[0]!, headers)).status, 201);
  });

  it('a cancellation waits for pending redemptions of its batch, and counts them', async () => {
    const headers = await scene.keyOf(await g.createAccount());
    const batch = await scene.create({ count: 2 });
    const insert = g.observed.statement('vouchers.insert-redemption');
    insert.hold();
    const reached = insert.reached(insert.asked + 1);
    const redeeming = scene.redeem(batch.codes[0]!, headers);
    await reached;
    const canceling = g.admin('DELETE', `/vouchers/${batch.id}`);
    await locksAwaited(g.database, 1);
    insert.release();
    assert.deepEqual([(await redeeming).status, (await canceling).status], [201, 204]);
    assert.equal((await g.admin('GET', `/vouchers/${batch.id}`)).body.redeemedCount, 1);
    assert.equal((await scene.redeem(batch.codes[1]!, headers)).status, 409);
  });

  it('the audit finds a redemption without its entry, and an entry without its redemption', async () => {
    const account = await g.createAccount();
    const batch = await scene.create({ count: 2 });
    await scene.redeem(batch.codes[0]!, await scene.keyOf(account));
    const broken = async () =>
      (await auditLedger(handlesOf(g.database), { accountsMax: 1 }))
        .flatMap(({ breaches }) => breaches)
        .map(({ accountId }) => accountId);
    assert.deepEqual(await broken(), []);
    const change = (text: string) => sql(g.database, text);
    const ofAccount = `where account_id = '${account.id}'`;
    await change(`update voucher_redemptions set entry_no = entry_no + 1 ${ofAccount}`);
    assert.deepEqual(await broken(), [account.id, account.id]);
    await change(`update voucher_redemptions set entry_no = entry_no - 1 ${ofAccount}`);
    await change(`update voucher_batches set amount_nano = amount_nano + 1 where id = '${batch.id}'`);
    assert.deepEqual(await broken(), [account.id]);
    await change(`update voucher_batches set amount_nano = amount_nano - 1 where id = '${batch.id}'`);
    await change(
      `update voucher_redemptions set entry_no = null, subscription_id = 'sub_none', id = id || 'x' ${ofAccount}`,
    );
    assert.deepEqual(await broken(), [account.id, account.id]);
    await change(`update voucher_redemptions set entry_no = 2, subscription_id = null ${ofAccount}`);
    assert.deepEqual(await broken(), []);
  });

  it('the audit finds a plan period of a voucher without its redemption', async () => {
    const account = await g.createAccount();
    const batch = await scene.create({ planId: 'coder' });
    await scene.redeem(batch.codes[0]!, await scene.keyOf(account));
    const broken = async () =>
      (await auditLedger(handlesOf(g.database), { accountsMax: 1 }))
        .flatMap(({ breaches }) => breaches)
        .map(({ accountId, detail }) => [accountId, detail.replace(/^partition \d: | sub_\w+/g, '')]);
    assert.deepEqual(await broken(), []);
    const take = `delete from voucher_redemptions where batch_id = '${batch.id}' returning to_jsonb(voucher_redemptions)::text as row`;
    const [taken] = await sql<{ row: string }>(g.database, take);
    assert.deepEqual(await broken(), [[account.id, 'subscription, voucher none']]);
    const back =
      'insert into voucher_redemptions select * from jsonb_populate_record(null::voucher_redemptions, $1::jsonb)';
    await sql(g.database, back, [taken!.row]);
    assert.deepEqual(await broken(), []);
  });

  it('are created, listed, redeemed and canceled by the command line', async () => {
    const account = await g.createAccount();
    const directory = mkdtempSync(join(tmpdir(), 'faregate-vouchers-'));
    const run = async (given: readonly string[], stdin?: string) => {
      const { code, stdout, stderr } = await runCommand(
        ['--gateway', g.url, 'voucher', ...given],
        { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN },
        stdin,
      );
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const fails = (given: readonly string[]) =>
      runCommand(['--gateway', g.url, 'voucher', ...given], { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN });
    try {
      const csv = (await run(['create', '--value', '7.25', '--count', '2', '--name', 'a fair'])).trimEnd().split('\n');
      assert.equal(csv[0], 'code,amountYuan,planId,expiresAt');
      const [code] = csv[1]!.split(',') as [string];
      assert.match(await run(['redeem', account.id], `${code}\n`), /added +¥7\.25 by le_/);
      assert.equal(await balanceOf(account), 107_250_000_000n);
      const repeated = JSON.parse(await run(['redeem', account.id, code, '--json']));
      assert.deepEqual([repeated.accountId, repeated.amountYuan], [account.id, '7.25']);
      assert.match(await run(['list']), /a fair +¥7\.25 +1 of 2/);
      const listed: { id: string; name: string }[] = JSON.parse(await run(['list', '--json']));
      const { id } = listed.find(({ name }) => name === 'a fair')!;
      const shown = await run(['show', id]);
      assert.ok(shown.includes(account.id) && !shown.includes(code) && shown.includes(code.slice(-4)));
      assert.match(await run(['cancel', id]), /Canceled 1 of 2 vouchers; 1 were redeemed\./);

      const file = join(directory, 'plan.csv');
      const made = await run(['create', '--plan', 'coder', '--count', '1', '--out', file]);
      const written = readFileSync(file, 'utf8').split('\r\n');
      assert.ok(!made.includes(written[1]!.split(',')[0]!));
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.match(await run(['redeem', account.id, '-'], written[1]!.split(',')[0]), /plan +coder until /);
      const batches = (await g.admin('GET', '/vouchers')).body.data.length;
      const again = await fails(['create', '--value', '1', '--count', '1', '--out', file]);
      assert.deepEqual([again.code, again.stderr], [1, `${file} exists already; no vouchers were created.\n`]);
      assert.equal((await g.admin('GET', '/vouchers')).body.data.length, batches);
      const unmade = join(directory, 'unmade.csv');
      assert.equal((await fails(['create', '--plan', 'none', '--count', '1', '--out', unmade])).code, 2);
      assert.ok(!existsSync(unmade));
      for (const given of [
        ['--count', '1'],
        ['--count', 'x', '--value', '1'],
        ['--value', '1', '--plan', 'coder'],
      ]) {
        assert.equal(
          (await fails(['create', ...given, ...(given.includes('--count') ? [] : ['--count', '1'])])).code,
          2,
        );
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
