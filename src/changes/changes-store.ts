import { toTimestamp } from '../db/columns.ts';
import type { Statement } from '../db/database.ts';
import { DELETED_ROWS_MAX, deleteInBatches } from '../db/expired-rows-store.ts';
import { createFilteredList } from '../db/filtered-list.ts';
import type { DirectoryPool } from '../db/home-pools.ts';
import { instantColumn, jsonbColumn, orNull, type RowOf, tableColumns, textColumn } from '../db/table.ts';
import type { SliceTiming } from '../lib/slices.ts';
import type { Actor } from '../people/actor.ts';
import type { Recorded } from './recorded-value.ts';

/** Kinds of actors that the audit log records. */

type ChangeActorKind = Actor['kind'] | 'configuration';

/**
 * Outcome of a change. `begun`: unknown, because it is in progress, its node died, or recording failed. `failed`: it ended with an error
 * and may have had an effect.
 */
type ChangeOutcome = 'begun' | 'done' | 'failed';

const ACTORS = tableColumns({
  kind: textColumn<ChangeActorKind>('actor_kind'),
  /** Id of the actor; `null` unless it is a user, a named token or a key. */
  id: orNull(textColumn('actor_id')),
  name: textColumn('actor_name'),
  sessionId: orNull(textColumn('session_id')),
  /** Name of the operating system's user at the command line. */
  localUser: orNull(textColumn('local_user')),
});

export type ChangeActor = RowOf<typeof ACTORS>;

const CHANGES = tableColumns({
  id: textColumn('id'),
  begunAtMs: instantColumn('begun_at'),
  endedAtMs: orNull(instantColumn('ended_at')),
  outcome: textColumn<ChangeOutcome>('outcome'),
  actor: ACTORS,
  method: orNull(textColumn('method')),
  /** Pattern of the path, such as `/accounts/:id`. */
  path: orNull(textColumn('path')),
  action: textColumn('action'),
  subjectKind: textColumn('subject_kind'),
  subjectId: orNull(textColumn('subject_id')),
  accountId: orNull(textColumn('account_id')),
  before: jsonbColumn<Recorded>('before'),
  after: jsonbColumn<Recorded>('after'),
  clientAddress: orNull(textColumn('client_address')),
  requestId: orNull(textColumn('request_id')),
  errorCode: orNull(textColumn('error_code')),
});

export type Change = RowOf<typeof CHANGES>;

const insertChange: Statement = {
  name: 'changes.insert',
  text: `insert into changes (${CHANGES.list}) values (${CHANGES.parameters()})`,
};

/** Records an outcome, unless there is one already. */
const endChange: Statement = {
  name: 'changes.end',
  text: `update changes set ended_at = $2, outcome = $3, subject_id = $4, account_id = $5, before = $6::jsonb, after = $7::jsonb, error_code = $8,
  actor_kind = $9, actor_id = $10, actor_name = $11, session_id = $12
where id = $1 and outcome = 'begun'`,
};

const withdrawChange: Statement = {
  name: 'changes.withdraw',
  text: `delete from changes where id = $1 and outcome = 'begun'`,
};

/**
 * Deletes a row without effect. If another change of the subject was in progress since $3, comparing the states before and after could hide
 * this one. Uses changes_by_subject.
 */
const withdrawUnchanged: Statement = {
  name: 'changes.withdraw-unchanged',
  text: `delete from changes where id = $1 and outcome = 'begun' and not exists (
  select from (
    select ended_at from changes o where o.subject_id = $2 and o.id <> $1 order by o.id desc limit 100
  ) recent where ended_at is null or ended_at >= $3::timestamptz
)
returning 1 as gone`,
};

/** Deletes old rows. Uses the primary key, which starts with the oldest ones. */
const deleteOld: Statement = {
  name: 'changes.delete-old',
  text: `delete from changes where id in (
  select id from (select id, begun_at from changes order by id limit ${DELETED_ROWS_MAX} for update skip locked) oldest
  where begun_at < $1::timestamptz
)
returning 1 as gone`,
};

/** Which changes a list contains. Fields that are absent or `null` do not restrict it. */
export interface ChangeFilter {
  readonly actorKind?: ChangeActorKind | null | undefined;
  readonly actorId?: string | null | undefined;
  readonly action?: string | null | undefined;
  readonly subjectId?: string | null | undefined;
  readonly accountId?: string | null | undefined;
  readonly from: Date | null;
  readonly to: Date | null;
}

type ChangeEnd = Pick<
  Change,
  'actor' | 'endedAtMs' | 'outcome' | 'subjectId' | 'accountId' | 'before' | 'after' | 'errorCode'
>;

export type ChangesStore = ReturnType<typeof createChangesStore>;

export function createChangesStore(database: DirectoryPool) {
  /** Uses changes_by_subject, …_account, …_actor, …_action and …_actor_kind. */
  const list = createFilteredList(database, {
    table: 'changes',
    columns: CHANGES,
    idPrefix: 'chg',
    at: 'begun_at',
    leads: ['subject_id', 'account_id', 'actor_id', 'action', 'actor_kind'],
  });
  return {
    async insert(change: Change): Promise<void> {
      await database.query(insertChange, CHANGES.valuesOf(change));
    },
    async end(id: string, end: ChangeEnd): Promise<void> {
      const { actor, endedAtMs, outcome, subjectId, accountId, before, after, errorCode } = end;
      const values = [timestampOrNull(endedAtMs), outcome, subjectId, accountId];
      const by = [actor.kind, actor.id, actor.name, actor.sessionId];
      await database.query(endChange, [id, ...values, jsonOrNull(before), jsonOrNull(after), errorCode, ...by]);
    },
    async withdraw(id: string): Promise<void> {
      await database.query(withdrawChange, [id]);
    },
    /** Deletes a row without effect. Returns `false` if it is kept, because others have changed the subject since `sinceMs`. */
    withdrawUnchanged: async (id: string, subjectId: string, sinceMs: number) =>
      (await database.query(withdrawUnchanged, [id, subjectId, toTimestamp(sinceMs)])).length > 0,
    list({ from, to, ...filter }: ChangeFilter, beforeId: string | null, limit: number, timing: SliceTiming) {
      const values = {
        subject_id: filter.subjectId ?? null,
        account_id: filter.accountId ?? null,
        actor_id: filter.actorId ?? null,
        action: filter.action ?? null,
        actor_kind: filter.actorKind ?? null,
      };
      return list({ values, from, to }, beforeId, limit, timing);
    },
    deleteBefore: (instantMs: number, signal: AbortSignal) =>
      deleteInBatches(database, deleteOld, toTimestamp(instantMs), signal),
  };
}

const jsonOrNull = (value: Recorded): string | null => (value === null ? null : JSON.stringify(value));
const timestampOrNull = (ms: number | null): string | null => (ms === null ? null : toTimestamp(ms));
