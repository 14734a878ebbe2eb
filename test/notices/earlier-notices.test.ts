import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Parameter } from '../../src/db/database.ts';
import type { Databases } from '../../src/db/databases.ts';
import { migrateAll } from '../../src/db/partitions.ts';
import { createEarlierDatabase, type EarlierDatabase } from '../support/earlier-database.ts';
import { sql } from '../support/sql.ts';
import { type NotifiedAccounts, notifiedAccounts } from './told-accounts.ts';

/** A database of an earlier version whose gateway was killed between two of the transactions that created notices. */

describe('notices of a database of an earlier version', { timeout: 120_000 }, () => {
  let earlier: EarlierDatabase;
  let databases: Databases;

  before(async () => {
    earlier = await createEarlierDatabase();
    ({ databases } = earlier);
  });
  after(() => earlier?.[Symbol.asyncDispose]());

  interface Left {
    readonly accounts: NotifiedAccounts;
    readonly decided: string;
    readonly stored: string;
    readonly marked: string;
    readonly ofPlan: string;
  }

  async function leaveIn(number: number): Promise<Left> {
    const accounts = notifiedAccounts(databases, number);
    const inPartition = (text: string, parameters?: Parameter[]) =>
      sql(databases.partitions[number]!, text, parameters);
    const inDirectory = (text: string, parameters?: Parameter[]) => sql(databases.directory, text, parameters);
    const left = {
      decided: await accounts.account(),
      stored: await accounts.account(),
      marked: await accounts.account(),
      ofPlan: await accounts.account(),
    };
    await inPartition('delete from account_changes');
    for (const id of [left.decided, left.stored]) {
      await inDirectory('update accounts set low_balance_nano = 20 where id = $1', [id]);
      await inPartition(
        `insert into notice_states (account_id, subject, occurrence, level) values ($1, 'balance', '', 1)`,
        [id],
      );
      await inPartition(
        `insert into due_notices (account_id, dedupe_key, kind, subject, data, due_at)
values ($1, 'balance.low ' || $1 || ' 1', 'balance.low', $1, '{}', now())`,
        [id],
      );
    }
    await inDirectory(
      `insert into notices (id, kind, account_id, subject, dedupe_key, data, at)
values ('ntc_' || $1, 'balance.low', $1, $1, 'balance.low ' || $1 || ' 1', '{"balanceYuan": "0.00000001"}', now())`,
      [left.stored],
    );
    await inDirectory('update accounts set low_balance_nano = 20, low_balance_set_at = now() where id = $1', [
      left.marked,
    ]);
    await inPartition(
      `insert into notice_states (account_id, subject, occurrence, level) values ($1, 'tokens sub_1', '0', 80), ($1, 'tokens sub_2', '0', 80)`,
      [left.ofPlan],
    );
    await inPartition(
      `insert into due_notices (account_id, dedupe_key, kind, subject, data, due_at)
values ($1, 'plan.nearly_used tokens sub_1 0 80', 'plan.nearly_used', 'tokens sub_1', '{}', now())`,
      [left.ofPlan],
    );
    return { accounts, ...left };
  }

  it('are sent once, whether they had been decided, stored, or only their threshold had been set', async () => {
    const all = [await leaveIn(0), await leaveIn(1)];
    await migrateAll(databases);
    for (const [number, left] of all.entries()) {
      assert.deepEqual(
        (await left.accounts.queued()).sort(),
        [left.decided, left.marked, left.ofPlan].sort(),
        `partition ${number}`,
      );
      const states = await sql(
        databases.partitions[number]!,
        'select account_id, subject from notice_states order by account_id, subject',
      );
      assert.deepEqual(states, [
        { account_id: left.stored, subject: 'balance' },
        { account_id: left.ofPlan, subject: 'tokens sub_2' },
      ]);
      await left.accounts.post(left.stored, -1n);
      for (let times = 0; times < 2; times++) {
        await left.accounts.find();
        assert.deepEqual(await left.accounts.told(left.decided), ['0.00000001: 1']);
        assert.deepEqual(await left.accounts.told(left.stored), ['0.00000001: 0']);
        assert.deepEqual(await left.accounts.told(left.marked), ['0.00000001: 1']);
      }
    }
  });
});
