import { fieldsOf } from '../../db/columns.ts';
import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryLane, DirectoryQueryable } from '../../db/home-lanes.ts';
import { type OwnKeysLimit, requireRoomForKey } from './key-owner-store.ts';

/**
 * The SQL of loose keys: those that are not there, yet or any more, of which the partition of their account may have limits. A key is loose
 * before its limits are set, and is one no more in the transaction that inserts it; a key that is forgotten becomes loose in the
 * transaction that deletes it. So limits are of a key or of a loose one, whatever ends in between.
 */

/** How old the limits may be that a key is made with: those of a key that it replaces are counted on meanwhile. */
const MADE_WITHIN = `interval '1 minute'`;
/** For how long a key stays loose at least: whoever has found a key, or has begun one, may set limits of it still. */
const LOOSE_FOR = `interval '1 hour'`;
/** Keys whose limits are removed at a time. */
const PAGE_ROWS = 200;

/** By the unique index api_keys_by_id. */
const selectActive: Statement = {
  name: 'loose-keys.select-active',
  text: `select from api_keys where id = $1 and revoked_at is null and (expires_at is null or expires_at > $2::timestamptz)`,
};

const beginKey: Statement = {
  name: 'loose-keys.begin',
  text: `insert into loose_keys (account_id, key_id, replaced_id, is_begun, since)
values ($1, $2, $3, true, statement_timestamp())`,
};

/** Plan: primary key. */
const giveUpKey: Statement = {
  name: 'loose-keys.give-up',
  text: 'update loose_keys set is_begun = false where account_id = $1 and key_id = $2',
};

/** Plan: primary key, of one account. */
const giveUpReplacing: Statement = {
  name: 'loose-keys.give-up-replacing',
  text: 'update loose_keys set is_begun = false where account_id = $1 and replaced_id = $2 and is_begun',
};

/** Those that somebody has begun to make and never ended. Plan: loose_keys_by_time. */
const giveUpOld: Statement = {
  name: 'loose-keys.give-up-old',
  text: `update loose_keys set is_begun = false where is_begun and since < statement_timestamp() - ${LOOSE_FOR}`,
};

/** Plan: primary key. */
const takeKey: Statement = {
  name: 'loose-keys.take',
  text: `delete from loose_keys
where account_id = $1 and key_id = $2 and is_begun and since > statement_timestamp() - ${MADE_WITHIN}
returning key_id`,
};

const addKeys: Statement = {
  name: 'loose-keys.add',
  text: `insert into loose_keys (account_id, key_id, is_begun, since)
select $1, v.key_id, false, statement_timestamp() from unnest($2::text[]) as v (key_id)
on conflict (account_id, key_id) do nothing`,
};

/** Plan: loose_keys_by_time. */
const listKeys: Statement = {
  name: 'loose-keys.list',
  text: `select account_id, key_id, since::text as since from loose_keys
where not is_begun and since < statement_timestamp() - ${LOOSE_FOR} and (since, key_id) > ($1::timestamptz, $2::text)
order by since, key_id limit ${PAGE_ROWS}`,
};

/** Plan: primary key. */
const deleteKeys: Statement = {
  name: 'loose-keys.delete',
  text: `delete from loose_keys l using unnest($1::text[], $2::text[]) as v (account_id, key_id)
where l.account_id = v.account_id and l.key_id = v.key_id and not l.is_begun`,
};

export interface LooseKey {
  readonly accountId: string;
  readonly keyId: string;
}

/** A key that is to be made. */
export interface BegunKey extends LooseKey {
  /** The key that it replaces; `null`: none. */
  readonly replacedId: string | null;
  /** Whether that one ends at once. */
  readonly endsReplaced: boolean;
  /** Absent: none beside those of the account. */
  readonly ownKeys?: OwnKeysLimit | undefined;
  readonly at: Date;
}

/** Where a page of loose keys ends. Text, because an instant of JavaScript is shorter. */
interface Place {
  readonly since: string;
  readonly keyId: string;
}

export type LooseKeyStore = ReturnType<typeof createLooseKeyStore>;

export function createLooseKeyStore(directory: DirectoryLane) {
  return {
    /**
     * A key is to be made, so limits may be set of it. Returns false where that which it replaces is revoked or has expired, or is not
     * there. What refuses the key at its insertion refuses it here too, so that nobody gathers limits of keys that are never made.
     *
     * @throws TooManyKeysError
     */
    begin: ({ accountId, keyId, replacedId, endsReplaced, ownKeys, at }: BegunKey): Promise<boolean> =>
      directory.transaction(async (transaction) => {
        if (replacedId !== null) {
          const active = await transaction.query(selectActive, [replacedId, at]);
          if (active.length === 0) return false;
        }
        const endedId = endsReplaced ? replacedId : null;
        await requireRoomForKey(transaction, accountId, ownKeys, at, replacedId !== null, endedId);
        await transaction.query(beginKey, [accountId, keyId, replacedId]);
        return true;
      }),
    /** The key is not made: from now on nothing makes it. Where it is there already, nothing changes. */
    async giveUp({ accountId, keyId }: LooseKey): Promise<void> {
      await directory.query(giveUpKey, [accountId, keyId]);
    },
    /** Limits of a key have changed: what is being made to replace it may have those of before, and is not made. */
    async giveUpReplacing({ accountId, keyId }: LooseKey): Promise<void> {
      await directory.query(giveUpReplacing, [accountId, keyId]);
    },
    /** A key that is not there has got limits. */
    add: ({ accountId, keyId }: LooseKey): Promise<void> => addLoose(directory, accountId, [keyId]),
    /** Gives up what was begun long ago. */
    async giveUpOld(): Promise<void> {
      await directory.query(giveUpOld);
    },
    /** A page of those that nothing makes any more, and that have been loose for long enough. `next`: behind the last; `null`: it is. */
    async list(behind: Place | null): Promise<{ readonly keys: readonly LooseKey[]; readonly next: Place | null }> {
      const rows = await directory.query<{ account_id: string; key_id: string; since: string }>(listKeys, [
        behind?.since ?? '-infinity',
        behind?.keyId ?? '',
      ]);
      const last = rows.length === PAGE_ROWS ? rows.at(-1)! : null;
      return {
        keys: rows.map((row) => ({ accountId: row.account_id, keyId: row.key_id })),
        next: last && { since: last.since, keyId: last.key_id },
      };
    },
    /** There is nothing left of them. */
    async delete(keys: readonly LooseKey[]): Promise<void> {
      const names = fieldsOf(keys, 'accountId', 'keyId');
      await directory.query(deleteKeys, names);
    },
  };
}

/** The key has been begun for too long, or was given up: it is not made. */
export class OverdueKeyError extends Error {}

/**
 * In the transaction that inserts a key whose limits are set.
 *
 * @throws OverdueKeyError
 */
export async function takeBegun(transaction: DirectoryQueryable, accountId: string, keyId: string): Promise<void> {
  const taken = await transaction.query(takeKey, [accountId, keyId]);
  if (taken.length === 0) throw new OverdueKeyError(`the key ${keyId} is not made any more`);
}

/** In the transaction that deletes keys of an account. */
export async function addLoose(
  transaction: DirectoryQueryable,
  accountId: string,
  keyIds: readonly string[],
): Promise<void> {
  await transaction.query(addKeys, [accountId, toArray(keyIds)]);
}
