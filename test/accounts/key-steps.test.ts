import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { ApiKey } from '../../src/accounting/accounts/api-key-store.ts';
import { createApiKeyStore } from '../../src/accounting/accounts/api-key-store.ts';
import { createEndedKeyStore } from '../../src/accounting/accounts/ended-key-store.ts';
import { createApiKey, displayPrefix, hashApiKey } from '../../src/accounting/accounts/key-format.ts';
import type { Keys } from '../../src/accounting/accounts/keys.ts';
import { createLimitedKeyStore } from '../../src/accounting/accounts/limited-key-store.ts';
import { createLimitedKeys } from '../../src/accounting/accounts/limited-keys.ts';
import { createPrincipals } from '../../src/accounting/accounts/principals.ts';
import { createKeyStatusStore } from '../../src/accounting/accounts/status-store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import type { Database } from '../../src/db/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { NOW_MS, openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { mortalHomes, ProcessEndedError } from '../support/home-lanes.ts';
import { inOneDatabase, placedInOne } from '../support/in-one-database.ts';
import { keysOn, removeLoose } from '../support/keys.ts';
import { patientQuestions } from '../support/questions.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/**
 * Keys and their limits have two homes, so what is done to both is done in steps. Whatever ends between two of them, no key is there
 * without its limits, and nothing stays of a key that is not there.
 */

const DAY_MS = 86_400_000;
const clock = { nowMs: () => NOW_MS };
const LIMITED = { limits: { totalSpendCapNano: 50n, dailyCallsMax: 3 }, rates: { requestsMax: 4 } };

describe(`steps of keys`, { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let accounts = 0;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    const rollups = createRollupStore(database);
    while ((await rollups.sumSlice('Asia/Shanghai')) !== 'idle');
  });
  after(() => stored?.remove());

  const rows = <Row>(text: string, parameters: readonly (string | bigint)[] = []) =>
    sql<Row>(database, text, parameters);
  const makeOn = (keys: Keys, accountId: string, given: Partial<typeof LIMITED> = LIMITED) =>
    keys.make({ accountId, name: 'steps', expiresAt: null, allowed: {}, userId: null, ...given });
  const replaceOn = (keys: Keys, { accountId, id }: ApiKey) =>
    keys.replace({ accountId, keyId: id, expiresAt: null, keepOldMs: 0 });
  /** As a process that lives sees them. */
  const keys = (): Keys => keysOn(mortalHomes(database), clock);
  const listed = async (accountId: string): Promise<ApiKey[]> =>
    createApiKeyStore(database).listKeys(accountId, null, 100);

  async function account(): Promise<string> {
    const id = `acct_steps_${++accounts}`;
    await openAccount(database, id, 1_000n);
    return id;
  }

  /** Each key that calls can have, with whether it is limited as authentication reads it. */
  async function standings(accountId: string): Promise<[isKeyLimited: boolean, isRateLimited: boolean][]> {
    const found = await rows<{ key_hash: Buffer }>(
      'select key_hash from api_keys where account_id = $1 and revoked_at is null order by id',
      [accountId],
    );
    const hashes = found.map((row) => Buffer.from(row.key_hash));
    const statuses = await createKeyStatusStore(database).findStatuses(hashes);
    const limitations = await createLimitedKeyStore(database).find(statuses.map((status) => status!));
    return limitations.map(({ isKeyLimited, isRateLimited }) => [isKeyLimited, isRateLimited]);
  }

  /** Rows that a partition has of limits of an account's keys. */
  async function limitRows(accountId: string): Promise<number> {
    const [row] = await rows<{ n: number }>(
      `select ((select count(*) from key_limits where account_id = $1)
  + (select count(*) from rate_limits where account_id = $1 and key_id <> ''))::int as n`,
      [accountId],
    );
    return row!.n;
  }

  async function breaches(): Promise<string[]> {
    const results = await auditLedger(inOneDatabase(database));
    return results.flatMap((result) => result.breaches.map(({ detail }) => `${result.invariant}: ${detail}`));
  }

  /** What was loose is so for longer than it has to be. */
  const wait = () => rows(`update loose_keys set since = since - interval '61 minutes'`);

  it('make a key with its limits, or none, wherever the process ends', async () => {
    const outcomes: string[] = [];
    for (let steps = 0, isDone = false; !isDone; steps++) {
      const accountId = await account();
      const dying = keysOn(mortalHomes(database, steps), clock);
      await makeOn(dying, accountId).then(
        () => {
          isDone = true;
        },
        (error) => assert.ok(error instanceof ProcessEndedError, String(error)),
      );
      const found = await standings(accountId);
      outcomes.push(`${found.length} keys, ${await limitRows(accountId)} limits`);
      assert.deepEqual(found, isDone ? [[true, true]] : []);
      assert.deepEqual(await breaches(), []);
      await wait();
      assert.equal(await removeLoose(mortalHomes(database)), true);
      assert.equal(await limitRows(accountId), isDone ? 2 : 0);
    }
    assert.deepEqual(outcomes, ['0 keys, 0 limits', '0 keys, 0 limits', '0 keys, 2 limits', '1 keys, 2 limits']);
    assert.deepEqual(await rows('select from loose_keys'), []);
  });

  it('are one for a key without limits', async () => {
    const homes = mortalHomes(database);
    const { limits } = await makeOn(keysOn(homes, clock), await account(), {});
    assert.deepEqual([homes.steps, limits.dailyCallsMax], [1, null]);
  });

  it('replace a key by one with its limits and what it has used of them, or leave it as it is', async () => {
    const outcomes: string[] = [];
    for (let steps = 0, isDone = false; !isDone; steps++) {
      const accountId = await account();
      const { key } = await makeOn(keys(), accountId);
      await rows('update key_limits set total_spent_nano = 20 where key_id = $1', [key.id]);
      await replaceOn(keysOn(mortalHomes(database, steps), clock), key).then(
        () => {
          isDone = true;
        },
        (error) => assert.ok(error instanceof ProcessEndedError, String(error)),
      );
      assert.deepEqual(await standings(accountId), [[true, true]]);
      const all = await listed(accountId);
      const ends = all.map(({ revokedAt }) => (revokedAt === null ? 'works' : 'revoked'));
      outcomes.push(ends.sort().join(' '));
      await wait();
      assert.equal(await removeLoose(mortalHomes(database)), true);
      assert.equal(await limitRows(accountId), all.length * 2);
      const used = await rows<{ n: bigint }>(
        'select total_spent_nano as n from key_limits where account_id = $1 and total_spend_cap_nano = 50',
        [accountId],
      );
      assert.deepEqual(
        used.map(({ n }) => n),
        all.map(() => 20n),
      );
      await rows('update key_limits set total_spent_nano = 0, counted_before = default where account_id = $1', [
        accountId,
      ]);
    }
    assert.deepEqual(outcomes, ['works', 'works', 'works', 'revoked works']);
  });

  it('replace nothing where the key is revoked meanwhile, and leave no limits', async () => {
    const accountId = await account();
    const { key } = await makeOn(keys(), accountId);
    const homes = mortalHomes(database);
    homes.beforeStep = async (step) => {
      if (step === 3) await keys().revoke(key.id);
    };
    assert.equal(await replaceOn(keysOn(homes, clock), key), null);
    assert.equal(await replaceOn(keys(), key), null);
    assert.equal((await listed(accountId)).length, 1);
    assert.equal(await limitRows(accountId), 4);
    await wait();
    await removeLoose(mortalHomes(database));
    assert.equal(await limitRows(accountId), 2);
  });

  it('replace a key by none with limits that it has no more', async () => {
    const accountId = await account();
    const { key } = await makeOn(keys(), accountId);
    for (const given of [{ limits: { totalSpendCapNano: 10n } }, { rates: { requestsMax: 2 } }]) {
      const homes = mortalHomes(database);
      homes.beforeStep = async (step) => {
        if (step === 3) assert.equal(await keys().change(key, given), key);
      };
      await assert.rejects(replaceOn(keysOn(homes, clock), key), { kind: 'overloaded' });
      assert.equal((await listed(accountId)).length, 1);
    }
    const replaced = await replaceOn(keys(), key);
    const taken = await rows<object>(
      `select total_spend_cap_nano as cap, (select requests_max from rate_limits r where r.key_id = l.key_id) as requests
from key_limits l where key_id = $1`,
      [replaced!.key.id],
    );
    assert.deepEqual(taken, [{ cap: 10n, requests: 2n }]);
  });

  it('make no key that was begun too long ago, and none that was given up', async () => {
    for (const late of [`interval '2 minutes'`, `interval '2 hours'`]) {
      const accountId = await account();
      const homes = mortalHomes(database);
      homes.beforeStep = async (step) => {
        if (step !== 3) return;
        await rows(`update loose_keys set since = since - ${late}`);
        await removeLoose(mortalHomes(database));
      };
      await assert.rejects(makeOn(keysOn(homes, clock), accountId), { kind: 'overloaded' });
      assert.deepEqual(await listed(accountId), []);
      await wait();
      await removeLoose(mortalHomes(database));
      assert.equal(await limitRows(accountId), 0);
    }
    assert.deepEqual(await rows('select from loose_keys'), []);
  });

  it('leave nothing of a key that may not be made', async () => {
    const accountId = await account();
    await rows(
      `insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
select $1, $1 || n, 'n', decode(md5($1 || n), 'hex'), 'p', '2026-01-01' from generate_series(1, 999) n`,
      [accountId],
    );
    const homes = mortalHomes(database);
    // Another one takes the last place meanwhile.
    homes.beforeStep = async (step) => {
      if (step === 3) await makeOn(keys(), accountId, {});
    };
    await assert.rejects(makeOn(keysOn(homes, clock), accountId), { limit: 'active' });
    const refused = mortalHomes(database);
    await assert.rejects(makeOn(keysOn(refused, clock), accountId), { limit: 'active' });
    assert.equal(refused.steps, 1);
    const [loose] = await rows<{ n: number }>('select count(*)::int as n from loose_keys where account_id = $1', [
      accountId,
    ]);
    assert.equal(loose!.n, 1);
    await wait();
    await removeLoose(mortalHomes(database));
    assert.equal(await limitRows(accountId), 0);
  });

  it('forget a key first and its limits later, those that it gets meanwhile too', async () => {
    for (let steps = 0; steps < 6; steps++) {
      const accountId = await account();
      const { key } = await makeOn(keys(), accountId);
      await rows(`update api_keys set revoked_at = $2::timestamptz - interval '8 days' where id = $1`, [
        key.id,
        new Date(NOW_MS).toISOString(),
      ]);
      await rows(`update ended_keys_progress set ended_at = '1970-01-01', key_id = ''`);
      const homes = mortalHomes(database, steps);
      const forgotten = createEndedKeyStore(placedInOne(homes)).forgetEndedBefore(
        NOW_MS - 7 * DAY_MS,
        new AbortController().signal,
      );
      await forgotten.catch((error) => assert.ok(error instanceof ProcessEndedError, String(error)));
      assert.deepEqual(await breaches(), []);
      const late = mortalHomes(database);
      late.beforeStep = async (step) => {
        if (step !== 2) return;
        const store = createEndedKeyStore(placedInOne(mortalHomes(database)));
        assert.equal(await store.forgetEndedBefore(NOW_MS - 7 * DAY_MS, new AbortController().signal), true);
        await wait();
        assert.equal(await removeLoose(mortalHomes(database)), true);
      };
      // Whoever has found the key before it is forgotten.
      const isThere = (await listed(accountId)).length > 0;
      assert.equal(await keysOn(late, clock).change(key, { limits: { dailyCallsMax: 9 } }), 'absent');
      assert.equal(late.steps, isThere ? 5 : 1);
      assert.deepEqual(await listed(accountId), []);
      assert.deepEqual(await breaches(), []);
      await wait();
      await removeLoose(mortalHomes(database));
      assert.equal(await limitRows(accountId), 0);
    }
  });

  it('are told to every node by the transaction that sets a limit, so that an end behind it changes nothing', async () => {
    const accountId = await account();
    const principals = await createPrincipals({
      store: createKeyStatusStore(database),
      limitedKeys: createLimitedKeys(createLimitedKeyStore(database), patientQuestions()),
      partitions: { note: () => undefined },
      directory: database,
      questions: patientQuestions(),
      clock: systemClock,
    });
    try {
      const text = createApiKey(randomFillSync);
      const made = { accountId, id: `${accountId}_key`, name: 'n', expiresAt: null, at: new Date(NOW_MS) };
      const key = await createApiKeyStore(database).insertKey({
        ...made,
        keyHash: hashApiKey(text),
        prefix: displayPrefix(text),
      });
      const isLimited = async (): Promise<[boolean, boolean]> => {
        const { isKeyLimited, isRateLimited } = await principals.authenticate(text);
        return [isKeyLimited, isRateLimited];
      };
      assert.deepEqual(await isLimited(), [false, false]);
      // It finds the key, sets the limits by the minute, and ends.
      const dying = keysOn(mortalHomes(database, 2), clock);
      await assert.rejects(dying.change(key, LIMITED), ProcessEndedError);
      await until(() => principals.cachedKeys === 0);
      assert.deepEqual(await isLimited(), [false, true]);
      await assert.rejects(
        keysOn(mortalHomes(database, 2), clock).change(key, { limits: LIMITED.limits, allowed: { models: null } }),
        ProcessEndedError,
      );
      await until(() => principals.cachedKeys === 0);
      assert.deepEqual(await isLimited(), [true, true]);
    } finally {
      await principals.close();
    }
  });

  it('are finished by two nodes at once, and by one alone where another one has locked the account', async () => {
    const another = stored.openAnother();
    try {
      const ids = await Promise.all(Array.from({ length: 6 }, account));
      for (const accountId of ids) {
        await makeOn(keysOn(mortalHomes(database, 2), clock), accountId).catch(() => undefined);
      }
      await wait();
      const lane = another.lane('housekeeping');
      await another.transaction(async (transaction) => {
        await sql(transaction, 'select from balances where account_id = $1 for update', [ids[0]!]);
        assert.equal(await removeLoose(inOneDatabase(database.lane('housekeeping'))), false);
      });
      const left = await Promise.all(ids.map(limitRows));
      assert.deepEqual(left, [2, 0, 0, 0, 0, 0]);
      for (const accountId of ids) {
        await makeOn(keysOn(mortalHomes(database, 2), clock), accountId).catch(() => undefined);
      }
      await wait();
      const removals = [removeLoose(inOneDatabase(lane)), removeLoose(inOneDatabase(database.lane('housekeeping')))];
      await Promise.all(removals);
      assert.equal(await removeLoose(inOneDatabase(lane)), true);
      assert.deepEqual(
        await Promise.all(ids.map(limitRows)),
        ids.map(() => 0),
      );
    } finally {
      await another.close();
    }
  });

  it('that are left without their key are found by the audit', async () => {
    const accountId = await account();
    await rows(`insert into key_limits (account_id, key_id) values ($1, 'key_lost')`, [accountId]);
    await rows(`insert into rate_limits (account_id, key_id, model) values ($1, 'key_other', '')`, [accountId]);
    const words = 'limits of keys are of keys that are there, or that are being made or forgotten';
    assert.deepEqual(await breaches(), [`${words}: limits of key key_lost`, `${words}: limits of key key_other`]);
    await rows(
      `insert into loose_keys (account_id, key_id, is_begun, since)
values ($1, 'key_lost', true, statement_timestamp()), ($1, 'key_other', false, statement_timestamp() - interval '7 hours')`,
      [accountId],
    );
    assert.deepEqual(await breaches(), []);
    // A gateway that has run for as long could have removed them.
    await rows(`insert into nodes (id, started_at, seen_at)
values ('node_old', statement_timestamp() - interval '7 hours', statement_timestamp() + interval '1 minute')`);
    assert.deepEqual(await breaches(), [
      'what is done in several transactions is finished within six hours: key key_other is loose',
    ]);
    await wait();
    await rows(`update loose_keys set since = since - interval '61 minutes'`);
    await removeLoose(mortalHomes(database));
    assert.deepEqual(await breaches(), []);
    await rows(`delete from nodes where id = 'node_old'`);
  });
});
