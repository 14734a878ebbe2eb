import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';
import { journalEmptied, journalEntries } from '../settlement/outage.ts';
import { call } from '../support/client.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { sql } from '../support/sql.ts';

/** Calls of accounts in several partitions. */

const PARTITIONS = 4;

describe(`calls of accounts in ${PARTITIONS} partitions`, { timeout: 300_000 }, () => {
  let server: TestGateway;
  let dataDir: string;
  /** An account of each partition, by partition number. */
  let accounts: TestAccount[];
  before(async () => {
    dataDir = makeFastDirectory('faregate-partitions-');
    server = await startGateway({ partitions: PARTITIONS, dataDir });
    accounts = [];
    for (let number = 0; number < PARTITIONS; number++) accounts.push(await server.createAccount());
  });
  afterEach(async () => {
    for (const name of ['settlement.end', 'reservations.admit', 'accounts.select-limited'])
      server.partitions[2]!.statement(name).recover();
    await journalEmptied(dataDir);
  });
  after(async () => {
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const chat = (account: TestAccount, headers: Record<string, string> = {}) => {
    const messages = [{ role: 'user', content: 'Hello' }];
    return call(`${server.url}/v1/chat/completions`, account.key, { model: 'test-chat', messages }, { headers });
  };

  async function chargesIn(partition: number, { id }: TestAccount): Promise<number> {
    const [row] = await sql<{ n: bigint }>(
      server.partitions[partition]!.database,
      `select count(*) as n from ledger_entries where account_id = $1 and kind = 'charge'`,
      [id],
    );
    return Number(row!.n);
  }

  it('are charged in the partition of their account only', async () => {
    for (const [number, account] of accounts.entries()) {
      assert.equal((await chat(account)).status, 200);
      await account.endedCall();
      for (let other = 0; other < PARTITIONS; other++)
        assert.equal(await chargesIn(other, account), other === number ? 1 : 0);
    }
  });

  it('are repeated from that partition', async () => {
    for (const [number, account] of accounts.entries()) {
      const before = await chargesIn(number, account);
      const first = await chat(account, { 'idempotency-key': 'once' });
      const second = await chat(account, { 'idempotency-key': 'once' });
      assert.deepEqual([first.status, second.status, second.text], [200, 200, first.text]);
      assert.equal(await chargesIn(number, account), before + 1);
    }
  });

  it('that end while a partition is down are charged there later, and delay no others', async () => {
    const [well, ill] = [accounts[1]!, accounts[2]!];
    const [before, wellBefore] = [await chargesIn(2, ill), await chargesIn(1, well)];
    server.partitions[2]!.statement('settlement.end').fail('before');
    assert.equal((await chat(ill)).status, 200);
    assert.equal((await chat(well)).status, 200);
    assert.deepEqual(
      journalEntries(dataDir).map(({ outcome }) => outcome.accountId),
      [ill.id],
    );
    assert.deepEqual([await chargesIn(2, ill), await chargesIn(1, well)], [before, wellBefore + 1]);
    server.partitions[2]!.statement('settlement.end').recover();
    await journalEmptied(dataDir);
    assert.equal(await chargesIn(2, ill), before + 1);
  });

  it('are refused only if their own partition is down', async () => {
    for (const name of ['reservations.admit', 'accounts.select-limited']) {
      server.partitions[2]!.statement(name).fail('before');
      // The look-up of an uncached key also needs its partition.
      const { key } = (await server.admin('POST', `/accounts/${accounts[2]!.id}/keys`, { name })).body;
      const ill = { ...accounts[2]!, key };
      const refused = await chat(ill);
      assert.deepEqual([refused.status, refused.headers['x-should-retry']], [500, 'true'], name);
      assert.equal((await chat(accounts[1]!)).status, 200);
      server.partitions[2]!.statement(name).recover();
      assert.equal((await chat(ill)).status, 200);
    }
  });
});
