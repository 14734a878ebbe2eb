import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AuditOptions, type AuditProgress, auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { placesOf, spreadBooks } from '../transfer/spread-books.ts';

/** The findings of an audit of several partitions, each with its partition. */

const SIZES: readonly AuditOptions[] = [{}, { accountsMax: 1 }];

const change = (database: Database, sql: string): Promise<void> => database.script(sql);

describe(`the audit of several partitions`, { timeout: 300_000 }, () => {
  let stored: PartitionedDatabase;
  let directory: Database;
  let partitions: readonly Database[];
  /** An account of each partition. */
  let accounts: string[];
  before(async () => {
    stored = await createPartitioned(3);
    await spreadBooks(stored.databases);
    ({ directory, partitions } = stored.databases);
    const places = Object.entries(await placesOf(directory)).filter(([id]) => !id.startsWith('acct_x'));
    accounts = partitions.map((_, number) => places.find(([, place]) => place === number)![0]);
  });
  after(() => stored?.remove());

  async function findings(options: AuditOptions = {}): Promise<string[]> {
    const results = await auditLedger(stored.databases, options);
    return results.flatMap(({ breaches }) => breaches.map(({ accountId, detail }) => `${accountId}: ${detail}`)).sort();
  }

  /** Finds the same in ranges of any size, and nothing before and after. */
  async function finds(number: number, damage: string, repair: string, found: readonly string[]): Promise<void> {
    assert.deepEqual(await findings(), []);
    await change(partitions[number]!, damage);
    for (const options of SIZES) assert.deepEqual(await findings(options), [...found].sort());
    await change(partitions[number]!, repair);
    assert.deepEqual(await findings(), []);
  }

  it('finds nothing in a consistent ledger, and reports how much of all partitions it has read', async () => {
    for (const options of SIZES) {
      const seen: AuditProgress[] = [];
      assert.deepEqual(await findings({ ...options, onProgress: (progress) => seen.push(progress) }), []);
      assert.deepEqual(seen.at(-1), { accounts: 7, accountsTotal: 7, entries: 7 * 5, calls: 7 * 3 });
    }
  });

  it('names the partition of a damaged row', async () => {
    const id = accounts[2]!;
    const add = (nano: number) =>
      `update balances set balance_nano = balance_nano + ${nano} where account_id = '${id}'`;
    await finds(2, add(1), add(-1), [`${id}: partition 2: balance 1003, entries 1002`]);
  });

  it('finds an account without its balance', async () => {
    const id = accounts[1]!;
    const elsewhere = (from: string, to: string) =>
      `update balances set account_id = '${to}' where account_id = '${from}'`;
    await change(partitions[1]!, elsewhere(id, 'acct_zz'));
    const found = await findings();
    await change(partitions[1]!, elsewhere('acct_zz', id));
    assert.ok(found.includes(`${id}: partition 1: no balance`), found.join('\n'));
    assert.ok(found.includes('acct_zz: partition 1: no account'), found.join('\n'));
    assert.deepEqual(await findings(), []);
  });

  it('finds money that exists twice: a balance of an account that is in another partition', async () => {
    const id = accounts[2]!;
    for (const number of [0, 1]) {
      await finds(
        number,
        `insert into balances (account_id) values ('${id}')`,
        `delete from balances where account_id = '${id}'`,
        [`${id}: partition ${number}: the account is in partition 2`],
      );
    }
  });

  it('finds a redemption without its gift in the partition of its account', async () => {
    const id = accounts[1]!;
    const at = (no: string) => `update voucher_redemptions set entry_no = entry_no ${no} where account_id = '${id}'`;
    await change(directory, at('+ 1'));
    const found = await findings();
    await change(directory, at('- 1'));
    assert.deepEqual(found, [
      `${id}: partition 1: entry 5, value none, entry 5`,
      `${id}: partition 1: voucher vr_${id}, value 5, entry none`,
    ]);
  });

  it('fails with the number of a partition that does not respond', async () => {
    const { directory: whole } = stored.databases;
    await whole.script('alter schema faregate_01 rename to lost');
    try {
      await assert.rejects(findings(), /^PartitionError: partition 1: /);
    } finally {
      await whole.script('alter schema lost rename to faregate_01');
    }
    assert.deepEqual(await findings(), []);
  });
});
