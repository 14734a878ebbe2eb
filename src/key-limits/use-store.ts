import { type Database, type Statement, toArray } from '../db/database.ts';

/** What a limited key has left of its day; `null` where that is not limited. */
export interface KeyLeft {
  readonly spendNano: bigint | null;
  readonly calls: number | null;
}

export interface AskedKey {
  readonly accountId: string;
  readonly keyId: string;
}

/** Reckoned as admission does. Plan: key_limits by primary key. */
const selectLeft: Statement = {
  name: 'key-limits.select-left',
  text: `select asked.position,
  l.daily_spend_cap_nano - l.held_nano - case when l.day >= $3::date then l.spent_nano else 0 end as spend_left_nano,
  l.daily_calls_max - case when l.day >= $3::date then l.calls else 0 end as calls_left
from unnest($1::text[], $2::text[]) with ordinality as asked (account_id, key_id, position)
join key_limits l on l.account_id = asked.account_id and l.key_id = asked.key_id`,
};

interface LeftRow {
  position: bigint;
  spend_left_nano: bigint | null;
  calls_left: bigint | null;
}

export interface KeyUseStore {
  /** In the order asked; `null` for a key without limits. `today` is the billing time zone's date. */
  findLeft(keys: readonly AskedKey[], today: string): Promise<(KeyLeft | null)[]>;
}

export function createKeyUseStore(database: Database): KeyUseStore {
  return {
    async findLeft(keys, today) {
      const left: (KeyLeft | null)[] = keys.map(() => null);
      const ids = [toArray(keys.map((key) => key.accountId)), toArray(keys.map((key) => key.keyId))];
      for (const row of await database.query<LeftRow>(selectLeft, [...ids, today])) {
        left[Number(row.position) - 1] = {
          spendNano: row.spend_left_nano,
          calls: row.calls_left === null ? null : Number(row.calls_left),
        };
      }
      return left;
    },
  };
}
