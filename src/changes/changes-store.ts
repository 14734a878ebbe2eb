import { toTimestamp } from '../db/columns.ts';
import type { Statement, StoredRow } from '../db/database.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';
import { instantColumn, jsonbColumn, orNull, type RowOf, tableColumns, textColumn } from '../db/table.ts';
import { firstIdAt } from '../lib/ids.ts';
import { type LookedThrough, lookThrough, type SliceTiming } from '../lib/slices.ts';
import type { Actor } from '../people/actor.ts';
import type { Recorded } from './recorded-value.ts';

/** The SQL of the change log. Lists are newest first: ids sort by time. */

/** Who has changed something: an actor of the APIs, or the configuration file of a node. */
export type ChangeActorKind = Actor['kind'] | 'configuration';

/**
 * `begun`: nothing more is known, because the change is being made, or its node died, or could not say what came of it.
 * `failed`: it ended with an error that says nothing of what was changed.
 */
export type ChangeOutcome = 'begun' | 'done' | 'failed';

const ACTORS = tableColumns({
  kind: textColumn<ChangeActorKind>('actor_kind'),
  /** Of a person, a named token or a key; `null` for all others. */
  id: orNull(textColumn('actor_id')),
  name: textColumn('actor_name'),
  sessionId: orNull(textColumn('session_id')),
  /** Who says to be at the command line, by the operating system. */
  localUser: orNull(textColumn('local_user')),
});

export type ChangeActor = RowOf<typeof ACTORS>;

const CHANGES = tableColumns({
  id: textColumn('id'),
  begunAtMs: instantColumn('begun_at'),
  endedAtMs: orNull(instantColumn('ended_at')),
  outcome: textColumn<ChangeOutcome>('outcome'),
  actor: ACTORS,
  /** `null` for what was changed without a request. */
  method: orNull(textColumn('method')),
  /** The pattern of the address. */
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

/** A row of the change log. */
export type Change = RowOf<typeof CHANGES>;

const insertChange: Statement = {
  name: 'changes.insert',
  text: `insert into changes (${CHANGES.list}) values (${CHANGES.parameters()})`,
};

/** Plan: primary key. A row that has an end keeps it. */
const endChange: Statement = {
  name: 'changes.end',
  text: `update changes set ended_at = $2, outcome = $3, subject_id = $4, account_id = $5, before = $6::jsonb, after = $7::jsonb, error_code = $8,
  actor_kind = $9, actor_id = $10, actor_name = $11, session_id = $12
where id = $1 and outcome = 'begun'`,
};

/** Plan: primary key. */
const withdrawChange: Statement = {
  name: 'changes.withdraw',
  text: `delete from changes where id = $1 and outcome = 'begun'`,
};

/** What leads to a part of the table by an index; the first one that a filter has does, the rest is looked for in that part. */
const LEADS = ['subject_id', 'account_id', 'actor_id', 'action', 'actor_kind'] as const;
type Lead = (typeof LEADS)[number];

/** An id is made some milliseconds before its instant is read. A clock that is set in between may make it more. */
const ID_SLACK_MS = 600_000;

/**
 * A slice. Plan: changes_by_subject, …_account, …_actor, …_action, …_actor_kind, or without a lead the primary key, backwards. The
 * lead is a range and comes first in the order, so that no plan walks the changes of all others until it has found enough.
 */
function sliceOf(lead: Lead | null): Statement {
  const isLed = lead === null ? '$8::text is null' : `c.${lead} >= $8::text and c.${lead} <= $8::text`;
  const order = lead === null ? 'c.id desc' : `c.${lead} desc, c.id desc`;
  const rest = LEADS.map((name, i) => `($${i + 9}::text is null or p.${name} = $${i + 9})`).join(' and ');
  return {
    name: `changes.slice-${lead ?? 'all'}`,
    text: `with part as materialized (
  select c.id, c.begun_at, ${LEADS.map((name) => `c.${name}`).join(', ')} from changes c
  where ${isLed} and c.id < $3::text and c.id >= $4::text and c.id < $5::text
  order by ${order} limit $1::int
),
found as (
  select p.id from part p
  where ${rest} and p.begun_at >= $6::timestamptz and p.begun_at < $7::timestamptz
  order by p.id desc limit $2::int
)
select ${CHANGES.of('c')}, last.id as last_id, last.rows_read
from (select min(id) as id, count(*)::int as rows_read from part) last
left join found f on true left join changes c on c.id = f.id
order by f.id desc`,
  };
}

const slices = new Map<Lead | null, Statement>([null, ...LEADS].map((lead) => [lead, sliceOf(lead)]));

const FORGOTTEN_ROWS_MAX = 1000;

/** The oldest come first in the primary key: a deletion reads no more than it deletes. */
const deleteOld: Statement = {
  name: 'changes.delete-old',
  text: `delete from changes where id in (
  select id from (select id, begun_at from changes order by id limit ${FORGOTTEN_ROWS_MAX} for update skip locked) oldest
  where begun_at < $1::timestamptz
)
returning 1 as gone`,
};

export interface ChangeFilter {
  readonly actorKind: ChangeActorKind | null;
  readonly actorId: string | null;
  readonly action: string | null;
  readonly subjectId: string | null;
  readonly accountId: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

type ChangeEnd = Pick<
  Change,
  'actor' | 'endedAtMs' | 'outcome' | 'subjectId' | 'accountId' | 'before' | 'after' | 'errorCode'
>;

export interface ChangesStore {
  insert(change: Change): Promise<void>;
  /** Says what came of a change that has begun. */
  end(id: string, end: ChangeEnd): Promise<void>;
  /** Removes the row of a change that was refused before it changed anything. */
  withdraw(id: string): Promise<void>;
  list(
    filter: ChangeFilter,
    beforeId: string | null,
    limit: number,
    timing: SliceTiming,
  ): Promise<LookedThrough<Change>>;
  /** In batches, until none is left or the signal has aborted. */
  deleteBefore(instantMs: number, signal: AbortSignal): Promise<void>;
}

/** Behind every id. */
const LAST_ID = `chg_${'z'.repeat(27)}`;

export function createChangesStore(database: DirectoryLane): ChangesStore {
  return {
    async insert(change) {
      await database.query(insertChange, CHANGES.valuesOf(change));
    },
    async end(id, { actor, endedAtMs, outcome, subjectId, accountId, before, after, errorCode }) {
      const values = [timestampOrNull(endedAtMs), outcome, subjectId, accountId];
      const by = [actor.kind, actor.id, actor.name, actor.sessionId];
      await database.query(endChange, [id, ...values, jsonOrNull(before), jsonOrNull(after), errorCode, ...by]);
    },
    async withdraw(id) {
      await database.query(withdrawChange, [id]);
    },
    list(filter, beforeId, limit, timing) {
      const values: Record<Lead, string | null> = {
        subject_id: filter.subjectId,
        account_id: filter.accountId,
        actor_id: filter.actorId,
        action: filter.action,
        actor_kind: filter.actorKind,
      };
      const lead = LEADS.find((name) => values[name] !== null) ?? null;
      const rest = LEADS.map((name) => (name === lead ? null : values[name]));
      const { from, to } = filter;
      const bounds = [
        from === null ? '' : firstIdAt('chg', from.getTime() - ID_SLACK_MS),
        to === null ? LAST_ID : firstIdAt('chg', to.getTime() + ID_SLACK_MS),
        from?.toISOString() ?? '-infinity',
        to?.toISOString() ?? 'infinity',
      ];
      const isExact = rest.every((value) => value === null) && from === null && to === null;
      return lookThrough({ start: beforeId, limit, isExact }, timing, async (behind, rows, wanted) => {
        const parameters = [rows, wanted, behind ?? LAST_ID, ...bounds, lead && values[lead], ...rest];
        const found = await database.query<SliceEnd>(slices.get(lead)!, parameters);
        const items = CHANGES.all(found.filter(({ id }) => id !== null));
        const { last_id: lastId, rows_read: rowsRead } = found[0]!;
        if (items.length === wanted) return { items, next: items.at(-1)!.id };
        return { items, next: rowsRead < rows ? null : lastId };
      });
    },
    async deleteBefore(instantMs, signal) {
      let rows: unknown[];
      do rows = await database.query(deleteOld, [toTimestamp(instantMs)]);
      while (rows.length === FORGOTTEN_ROWS_MAX && !signal.aborted);
    },
  };
}

/** Rows without a change end a slice. */
interface SliceEnd extends StoredRow {
  readonly last_id: string | null;
  readonly rows_read: number;
}

const jsonOrNull = (value: Recorded): string | null => (value === null ? null : JSON.stringify(value));
const timestampOrNull = (ms: number | null): string | null => (ms === null ? null : toTimestamp(ms));
