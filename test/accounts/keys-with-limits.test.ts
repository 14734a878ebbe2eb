import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ApiKey, createApiKeyStore } from '../../src/accounting/accounts/api-key-store.ts';
import { createEndedKeyStore } from '../../src/accounting/accounts/ended-key-store.ts';
import type { Keys } from '../../src/accounting/accounts/keys.ts';
import { createLimitedKeyStore } from '../../src/accounting/accounts/limited-key-store.ts';
import { createLimitedKeys } from '../../src/accounting/accounts/limited-keys.ts';
import { createPrincipals } from '../../src/accounting/accounts/principals.ts';
import { RATE_LIMITED_MODELS_MAX } from '../../src/accounting/accounts/rate-limit-store.ts';
import { createKeyStatusStore } from '../../src/accounting/accounts/status-store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import type { Database } from '../../src/db/database.ts';
import type { PartitionPool } from '../../src/db/home-pools.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { NOW_MS, openAccount } from '../support/accounting-builders.ts';
import { placedInOne } from '../support/in-one-database.ts';
import { keysOn } from '../support/keys.ts';
import { locksAwaited } from '../support/locks.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { patientQuestions } from '../support/questions.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** A key is in the directory, and its limits are in a partition: one transaction changes both. */

const DAY_MS = 86_400_000;
const clock = { nowMs: () => NOW_MS };
const LIMITED = { limits: { totalSpendCapNano: 50n, dailyCallsMax: 3 }, rates: { requestsMax: 4 } };

class StatementLostError extends Error {}

/** A connection pool whose transactions over the directory and a partition fail at a statement. */
const failingAt = (pool: PartitionPool, failing: number): PartitionPool => ({
  ...pool,
  transactionWithDirectory(work) {
    let statements = 0;
    return pool.transactionWithDirectory((transaction) =>
      work({
        async query(statement, parameters) {
          if (statements++ === failing) throw new StatementLostError(statement.name);
          return transaction.query(statement, parameters);
        },
      }),
    );
  },
});

describe(`keys with limits`, { timeout: 240_000 }, () => {
  let stored: PartitionedDatabase;
  let directory: Database;
  let partitions: readonly Database[];
  let accounts = 0;

  before(async () => {
    stored = await createPartitioned(2);
    ({ directory, partitions } = stored.databases);
    for (const [number, partition] of partitions.entries()) {
      const rollups = createRollupStore(partition, number);
      while ((await rollups.sumSlice('Asia/Shanghai')) !== 'idle');
    }
  });
  after(() => stored?.remove());

  async function breaches(): Promise<string[]> {
    const results = await auditLedger(stored.databases);
    return results.flatMap((result) => result.breaches.map(({ detail }) => `${result.invariant}: ${detail}`));
  }

  for (const number of [0, 1]) {
    describe(`in partition ${number}`, () => {
      const pool = (): PartitionPool => partitions[number]!.pool('admin');
      const keys = (partition: PartitionPool = pool()): Keys => keysOn({ directory, partition }, clock);
      const make = (accountId: string, given: Partial<typeof LIMITED> = LIMITED, on: Keys = keys()) =>
        on.make({ accountId, name: 'made', expiresAt: null, allowed: {}, userId: null, ...given });
      const replace = ({ accountId, id }: ApiKey, on: Keys = keys()) =>
        on.replace({ accountId, keyId: id, expiresAt: null, keepOldMs: 0 });
      const forget = (partition: PartitionPool = pool()): Promise<boolean> =>
        createEndedKeyStore(placedInOne({ directory, partition })).forgetEndedBefore(
          NOW_MS - 7 * DAY_MS,
          new AbortController().signal,
        );

      async function account(): Promise<string> {
        const id = `acct_${number}_${++accounts}`;
        await pool().transactionWithDirectory((transaction) => openAccount(transaction, id, 1_000n));
        await sql(directory, 'update accounts set partition_no = $2::smallint where id = $1', [id, number]);
        return id;
      }

      /** A key that ended so long ago that it is due to be deleted. */
      async function endedKey(accountId: string): Promise<ApiKey> {
        const { key } = await make(accountId);
        await keys().revoke(key.id);
        await sql(directory, `update api_keys set revoked_at = revoked_at - interval '8 days' where id = $1`, [key.id]);
        await sql(directory, `update ended_keys_progress set ended_at = '1970-01-01', key_id = ''`);
        return key;
      }

      const listed = (accountId: string): Promise<ApiKey[]> =>
        createApiKeyStore(directory).listKeys(accountId, null, 100);

      /** The limits that a partition has of the keys of an account. */
      const limitsOf = async (accountId: string) => ({
        limits: await sql<object>(
          partitions[number]!,
          `select key_id, total_spend_cap_nano as cap, daily_calls_max as calls, total_spent_nano as spent
from key_limits where account_id = $1 order by key_id`,
          [accountId],
        ),
        rates: await sql<object>(
          partitions[number]!,
          `select key_id, model, requests_max as requests from rate_limits where account_id = $1 order by key_id, model`,
          [accountId],
        ),
      });
      const stateOf = async (accountId: string) => ({ keys: await listed(accountId), ...(await limitsOf(accountId)) });

      /** Starts all in this order, each waiting after the one before it: they wait for the balance of the account. */
      async function inOrder(accountId: string, begin: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
        const { begun } = await partitions[number]!.transaction(async (transaction) => {
          await sql(transaction, 'select from balances where account_id = $1 for update', [accountId]);
          const begun: Promise<unknown>[] = [];
          for (const work of begin) {
            begun.push(work());
            await locksAwaited(directory, begun.length);
          }
          return { begun: Promise.all(begun) };
        });
        return begun;
      }

      it('are created, changed, replaced and deleted with their limits, or not at all', async () => {
        const work: Readonly<Record<string, (key: ApiKey, partition: PartitionPool) => Promise<unknown>>> = {
          make: ({ accountId }, partition) => make(accountId, LIMITED, keys(partition)),
          change: (key, partition) =>
            keys(partition).change(key, { name: 'changed', limits: { dailyCallsMax: 9 }, rates: { requestsMax: 9 } }),
          replace: (key, partition) => replace(key, keys(partition)),
          forget: (_, partition) => forget(partition),
        };
        for (const [name, run] of Object.entries(work)) {
          const accountId = await account();
          const key = name === 'forget' ? await endedKey(accountId) : (await make(accountId)).key;
          const earlier = await stateOf(accountId);
          let statements = 0;
          for (let isDone = false; !isDone; ) {
            isDone = await run(key, failingAt(pool(), statements)).then(
              () => true,
              (error) => {
                assert.ok(error instanceof StatementLostError, String(error));
                return false;
              },
            );
            if (!isDone) {
              statements++;
              assert.deepEqual(await stateOf(accountId), earlier, `${name} up to statement ${statements}`);
            }
          }
          assert.ok(statements >= 3, `${name}: ${statements}`);
          const { keys: left, limits, rates } = await stateOf(accountId);
          const wanted = { make: 2, change: 1, replace: 2, forget: 0 }[name];
          assert.deepEqual([left.length, limits.length, rates.length], [wanted, wanted, wanted], name);
          assert.notDeepEqual({ keys: left, limits, rates }, earlier);
          assert.deepEqual(await breaches(), []);
        }
      });

      it('are replaced by one with their limits and usage', async () => {
        const accountId = await account();
        const { key } = await make(accountId);
        await sql(partitions[number]!, 'update key_limits set total_spent_nano = 20 where key_id = $1', [key.id]);
        const replaced = await replace(key);
        const ids = [key.id, replaced!.key.id].sort();
        assert.deepEqual(await limitsOf(accountId), {
          limits: ids.map((id) => ({ key_id: id, cap: 50n, calls: 3n, spent: 20n })),
          rates: ids.map((id) => ({ key_id: id, model: '', requests: 4n })),
        });
        assert.equal(await replace(key), null);
        assert.equal((await listed(accountId)).length, 2);
        assert.equal((await limitsOf(accountId)).limits.length, 2);
        // No call has used it.
        await sql(
          partitions[number]!,
          'update key_limits set total_spent_nano = 0, counted_before = default where account_id = $1',
          [accountId],
        );
      });

      it('are replaced by one with the limits that were set before, in whichever order they wait', async () => {
        const accountId = await account();
        const { key } = await make(accountId);
        const change = () => keys().change(key, { limits: { totalSpendCapNano: 10n }, rates: { requestsMax: 2 } });
        await inOrder(accountId, [change, () => replace(key)]);
        assert.deepEqual(
          (await limitsOf(accountId)).limits.map((row) => ('cap' in row ? row.cap : null)),
          [10n, 10n],
        );
      });

      it('have no limits if they are deleted before these are set', async () => {
        const accountId = await account();
        const key = await endedKey(accountId);
        const change = () => keys().change(key, { limits: { dailyCallsMax: 9 }, rates: { requestsMax: 9 } });
        const results = await inOrder(accountId, [forget, change]);
        assert.deepEqual(results, [true, null]);
        assert.deepEqual(await stateOf(accountId), { keys: [], limits: [], rates: [] });
      });

      it('leave no limits if they may not be created', async () => {
        const accountId = await account();
        await sql(
          directory,
          `insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
select $1, $1 || n, 'n', decode(md5($1 || n), 'hex'), 'p', '2026-01-01' from generate_series(1, 1000) n`,
          [accountId],
        );
        await assert.rejects(make(accountId), { limit: 'active' });
        assert.deepEqual(await limitsOf(accountId), { limits: [], rates: [] });
      });

      it('are unchanged, with their names, if limits are refused', async () => {
        const accountId = await account();
        const { key } = await make(accountId);
        const earlier = await stateOf(accountId);
        const models = new Map(
          Array.from({ length: RATE_LIMITED_MODELS_MAX + 1 }, (_, n) => [`model_${n}`, { requestsMax: 1 }]),
        );
        const change = { name: 'changed', limits: { dailyCallsMax: 9 }, rates: { models } };
        assert.equal(await keys().change(key, change), 'too_many');
        assert.deepEqual(await stateOf(accountId), earlier);
      });

      it('are locked after the balance of their account, so that no lock is held while waiting for it', async () => {
        const accountId = await account();
        const [{ key }, { key: other }] = [await make(accountId), await make(accountId)];
        await endedKey(accountId);
        for (const work of [
          () => make(accountId),
          () => keys().change(key, { limits: { dailyCallsMax: 9 } }),
          () => replace(other),
          forget,
        ]) {
          const { begun } = await partitions[number]!.transaction(async (transaction) => {
            await sql(transaction, 'select from balances where account_id = $1 for update', [accountId]);
            const begun = work();
            await locksAwaited(directory, 1);
            await sql(directory, 'select from accounts where id = $1 for update nowait', [accountId]);
            await sql(directory, 'select from api_keys where account_id = $1 for update nowait', [accountId]);
            return { begun };
          });
          await begun;
        }
        assert.equal((await listed(accountId)).length, 4);
      });

      it('are removed from the caches of every node when their limits change', async () => {
        const accountId = await account();
        const principals = await createPrincipals({
          store: createKeyStatusStore(directory),
          limitedKeys: createLimitedKeys(createLimitedKeyStore(partitions[number]!), patientQuestions()),
          partitions: { note: () => undefined },
          directory,
          questions: patientQuestions(),
          clock: systemClock,
        });
        try {
          const { key, text } = await make(accountId, {});
          const isLimited = async (): Promise<[boolean, boolean]> => {
            const { isKeyLimited, isRateLimited } = await principals.authenticate(text);
            return [isKeyLimited, isRateLimited];
          };
          assert.deepEqual(await isLimited(), [false, false]);
          for (const [given, wanted] of [
            [{ rates: LIMITED.rates }, [false, true]],
            [{ limits: LIMITED.limits }, [true, true]],
          ] as const) {
            await keys().change(key, given);
            await until(() => principals.cachedKeys === 0);
            assert.deepEqual(await isLimited(), wanted);
          }
        } finally {
          await principals.close();
        }
      });

      it('are in one transaction of the directory if they have no limits', async () => {
        const { limits } = await make(await account(), {}, keys(failingAt(pool(), 0)));
        assert.equal(limits.dailyCallsMax, null);
      });
    });
  }
});
