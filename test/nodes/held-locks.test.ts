import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Queryable } from '../../src/db/database.ts';
import { POOLS } from '../../src/db/pools.ts';
import { call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { requestOf } from '../support/families.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { locksAwaited } from '../support/locks.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** A transaction is left open in psql. */
describe('locks that are held for long', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let node: TestGateway;
  let account: TestAccount;
  before(async () => {
    stored = await createTestDatabase();
    node = await startGateway({ stored, database: stored.openAnother() });
    account = await node.createAccount();
  });
  after(async () => {
    await node.stop();
    await stored.remove();
  });

  const lock = (transaction: Queryable, text: string) => sql(transaction, text);
  const callAt = ({ url }: TestGateway) => call(`${url}/v1/chat/completions`, account.key, requestOf(false));
  const get = (path: string, token: string) =>
    fetch(`${node.url}${path}`, { headers: { authorization: `Bearer ${token}` } });

  it('do not stop a node from starting: housekeeping skips locked rows, logs it once, and delays nobody', async () => {
    const past = await node.createAccount();
    await stored.database.script(`
      do $$ declare name text; begin
        for name in select inhrelid::regclass::text from pg_inherits where inhparent = 'calls'::regclass loop
          if name <> 'calls_default' then execute 'drop table ' || name; end if;
        end loop;
      end $$;
      insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at, slots)
        values ('${past.id}', 'sub_past', 'p', '2026-01-01', '2026-02-01', '2026-01-01', 1);
      insert into plan_slots (account_id, subscription_id, call_id, taken_at)
        values ('${past.id}', 'sub_past', 'call_past', '2026-01-01');
      insert into continuation_keys (account_id, key, model, provider, made_at)
        values ('${past.id}', 'old', 'm', 'p', '2026-01-01');`);
    const logs = recordLogs();
    let starting: TestGateway | undefined;
    await stored.database.transaction(async (transaction) => {
      await lock(transaction, 'select from calls');
      await lock(transaction, `select from balances where account_id = '${past.id}' for update`);
      starting = await startGateway({ stored, database: stored.openAnother(), logger: logs.logger });
      assert.equal((await callAt(starting)).status, 200);
      await starting.gateway.housekeeping.round();
      // Rows that are not locked are processed.
      assert.deepEqual(await sql(stored.database, 'select from continuation_keys'), []);
    });
    await starting!.gateway.close();
    await starting!.provider.close();
    const failed = logs.lines.filter(({ message }) => message.startsWith('a housekeeping task failed'));
    assert.deepEqual(
      failed.map(({ details }) => details.task),
      ['monthly tables of call records', 'expired slots of plans'],
    );
    // At the next start the locks are free.
    const next = await startGateway({ stored, database: stored.openAnother() });
    const [left] = await sql<{ parts: bigint }>(
      stored.database,
      `select count(*) as parts from pg_inherits where inhparent = 'calls'::regclass and inhrelid <> 'calls_default'::regclass`,
    );
    assert.notEqual(left!.parts, 0n);
    await next.gateway.housekeeping.round();
    assert.deepEqual(await sql(stored.database, 'select from plan_slots'), []);
    await next.gateway.close();
    await next.provider.close();
  });

  it('delay the balances of one account, and not those of other accounts', async () => {
    const other = await node.createAccount();
    const reads = node.observed.statement('ledger.select-balances');
    const before = reads.asked;
    reads.hold();
    const asked = Array.from({ length: 300 }, () => get('/v1/user/balance', account.key));
    await until(() => reads.asked > before);
    const others = get('/v1/user/balance', other.key);
    await reads.reached(before + 2);
    reads.release();
    assert.equal((await others).status, 200);
    for (const response of await Promise.all(asked)) assert.equal(response.status, 200);
    assert.ok(reads.asked - before < asked.length, `${reads.asked - before} statements`);
  });

  it('delay lists of the admin API and make further ones fail with 503, without effect on calls, balances and /readyz', async () => {
    const { connectionsMax, waitingMax } = POOLS.admin;
    const path = `/admin/v1/accounts/${account.id}/subscriptions`;
    let lists: Promise<Response>[] = [];
    await stored.database.transaction(async (transaction) => {
      await lock(transaction, 'lock table subscriptions in access exclusive mode');
      lists = Array.from({ length: connectionsMax }, () => get(path, ADMIN_TOKEN));
      await locksAwaited(stored.database, connectionsMax);
      // One more than the queue takes: that one gets its response first.
      lists.push(...Array.from({ length: waitingMax + 1 }, () => get(path, ADMIN_TOKEN)));
      const refused = await Promise.race(lists);
      assert.equal(refused.status, 503);
      assert.equal(refused.headers.get('x-error-code'), 'overloaded');
      assert.equal(refused.headers.get('retry-after'), '2');
      assert.equal((await fetch(`${node.url}/readyz`)).status, 200);
      assert.equal((await get('/v1/user/balance', account.key)).status, 200);
      assert.equal((await callAt(node)).status, 200);
    });
    const statuses = await Promise.all(lists.map(async (list) => (await list).status));
    assert.equal(statuses.filter((status) => status === 200).length, connectionsMax + waitingMax);
  });
});
