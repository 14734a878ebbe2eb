import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ApiKey, createApiKeyStore } from '../../src/accounting/accounts/api-key-store.ts';
import { NoMemberError } from '../../src/accounting/accounts/key-owner-store.ts';
import type { Database } from '../../src/db/database.ts';
import { createMembershipStore, type KeysOfRemoved, type MembershipStore } from '../../src/people/membership-store.ts';
import { NOW_MS, openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { keysOn } from '../support/keys.ts';
import { locksAwaited } from '../support/locks.ts';
import { sql } from '../support/sql.ts';

/** A key created concurrently with the removal of its owner is either created before and affected by the removal, or not created. */

const clock = { nowMs: () => NOW_MS };
const at = new Date(NOW_MS);
const LOCK = 'select from accounts where id = $1 for no key update';

interface Team {
  readonly accountId: string;
  readonly adaId: string;
  readonly linId: string;
}

describe(`keys created while their owner is removed`, { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let members: MembershipStore;
  let teams = 0;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    members = createMembershipStore(database);
  });
  after(() => stored?.remove());

  async function team(): Promise<Team> {
    const n = ++teams;
    const [accountId, adaId, linId] = [`acct_${n}`, `usr_ada_${n}`, `usr_lin_${n}`];
    await openAccount(database, accountId, 1_000n);
    const insertUser = `insert into users (id, name, sign_in_name, status, created_at) values ($1, $2, $1, 'active', now())`;
    for (const [userId, name, role] of [
      [adaId, 'Ada', 'owner'],
      [linId, 'Lin', 'member'],
    ] as const) {
      await sql(database, insertUser, [userId, name]);
      assert.equal(await members.add({ userId, accountId, role, at }), null);
    }
    return { accountId, adaId, linId };
  }

  const asked = ({ accountId, linId }: Team) => ({
    accountId,
    name: 'made',
    expiresAt: null,
    allowed: {},
    userId: linId,
    ownKeys: { userId: linId, keysMax: 20 },
  });
  const keys = () => keysOn(inOneDatabase(database), clock);
  const remove = ({ accountId, linId }: Team, keysOfRemoved: KeysOfRemoved) =>
    members.remove(accountId, linId, true, at, keysOfRemoved);
  const keysOf = ({ accountId }: Team): Promise<ApiKey[]> => createApiKeyStore(database).listKeys(accountId, null, 10);

  /** Starts both at once; the server makes them wait for the account in this order. */
  async function atOnce<First, Second>(
    { accountId }: Team,
    first: () => Promise<First>,
    second: () => Promise<Second>,
  ): Promise<[PromiseSettledResult<First>, PromiseSettledResult<Second>]> {
    return database
      .transaction(async (transaction) => {
        await sql(transaction, LOCK, [accountId]);
        const begun = first();
        await locksAwaited(database, 1);
        const both = [begun, second()] as const;
        await locksAwaited(database, 2);
        return { both: Promise.allSettled(both) };
      })
      .then(({ both }) => both);
  }

  it('are revoked or transferred if they were created first', async () => {
    for (const isRevoked of [true, false]) {
      const people = await team();
      const [made, removed] = await atOnce(
        people,
        () => keys().make(asked(people)),
        () => remove(people, isRevoked ? 'revoked' : { handedTo: people.adaId }),
      );
      assert.ok(made.status === 'fulfilled' && removed.status === 'fulfilled' && removed.value === null);
      const [key] = await keysOf(people);
      assert.deepEqual(
        [key!.revokedAt !== null, key!.userId, key!.formerUserName],
        [isRevoked, isRevoked ? people.linId : people.adaId, 'Lin'],
      );
    }
  });

  it('are not created if the removal was first, with or without limits, by any actor', async () => {
    for (const ownKeys of [undefined, { keysMax: 20 }]) {
      for (const limits of [undefined, { dailyCallsMax: 1 }]) {
        const people = await team();
        const own = ownKeys && { ...ownKeys, userId: people.linId };
        const [removed, made] = await atOnce(
          people,
          () => remove(people, 'revoked'),
          () => keys().make({ ...asked(people), ownKeys: own, limits }),
        );
        assert.ok(removed.status === 'fulfilled' && removed.value === null);
        assert.ok(made.status === 'rejected' && made.reason instanceof NoMemberError);
        assert.deepEqual(await keysOf(people), []);
        assert.deepEqual(await sql(database, 'select from key_limits where account_id = $1', [people.accountId]), []);
      }
    }
  });

  it('are not created as a replacement of a key transferred meanwhile', async () => {
    const people = await team();
    const { key } = await keys().make(asked(people));
    const { ownKeys, accountId } = asked(people);
    const [removed, replaced] = await atOnce(
      people,
      () => remove(people, { handedTo: people.adaId }),
      () => keys().replace({ accountId, keyId: key.id, expiresAt: null, keepOldMs: 0, ownKeys }),
    );
    assert.ok(removed.status === 'fulfilled' && removed.value === null);
    assert.ok(replaced.status === 'rejected' && replaced.reason instanceof NoMemberError);
    const left = (await keysOf(people)).map(({ id, userId, revokedAt }) => [id, userId, revokedAt]);
    assert.deepEqual(left, [[key.id, people.adaId, null]]);
  });

  it('contain the former owner’s name if an owner replaces one that was kept', async () => {
    const people = await team();
    const { key } = await keys().make(asked(people));
    assert.equal(await remove(people, 'kept'), null);
    const replaced = await keys().replace({
      accountId: people.accountId,
      keyId: key.id,
      expiresAt: null,
      keepOldMs: 0,
    });
    assert.deepEqual([replaced?.key.userId, replaced?.key.formerUserName], [people.linId, 'Lin']);
  });
});
