import { toTimestamp } from '../db/columns.ts';
import type { Lane, Parameter, Statement } from '../db/database.ts';
import { firstIdAt } from '../lib/ids.ts';
import { type LookedThrough, lookThrough, type SliceTiming } from '../lib/slices.ts';
import type { Change, ChangeActorKind, ChangeOutcome } from './change.ts';
import type { Recorded } from './recorded-value.ts';

/** The SQL of the change log. Lists are newest first: ids sort by time. */

interface ChangeRow {
  id: string;
  begun_at: Date;
  ended_at: Date | null;
  outcome: ChangeOutcome;
  actor_kind: ChangeActorKind;
  actor_id: string | null;
  actor_name: string;
  session_id: string | null;
  local_user: string | null;
  method: string | null;
  path: string | null;
  action: string;
  subject_kind: string;
  subject_id: string | null;
  account_id: string | null;
  before: Recorded;
  after: Recorded;
  client_address: string | null;
  request_id: string | null;
  error_code: string | null;
}

const COLUMNS = [
  'id',
  'begun_at',
  'ended_at',
  'outcome',
  'actor_kind',
  'actor_id',
  'actor_name',
  'session_id',
  'local_user',
  'method',
  'path',
  'action',
  'subject_kind',
  'subject_id',
  'account_id',
  'before',
  'after',
  'client_address',
  'request_id',
  'error_code',
] as const satisfies readonly (keyof ChangeRow)[];

const insertChange: Statement = {
  name: 'changes.insert',
  text: `insert into changes (${COLUMNS.join(', ')})
values (${COLUMNS.map((name, i) => (name === 'before' || name === 'after' ? `$${i + 1}::jsonb` : `$${i + 1}`)).join(', ')})`,
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
select ${COLUMNS.map((name) => `c.${name}`).join(', ')}, last.id as last_id, last.rows_read
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

export function createChangesStore(database: Lane): ChangesStore {
  return {
    async insert(change) {
      await database.query(insertChange, valuesOf(change));
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
        const found = await database.query<SliceRow>(slices.get(lead)!, parameters);
        const items = found.filter((row): row is FoundRow => row.id !== null).map(toChange);
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

interface SliceEnd {
  readonly last_id: string | null;
  readonly rows_read: number;
}
type FoundRow = ChangeRow & SliceEnd;
type SliceRow = FoundRow | ({ readonly id: null } & SliceEnd);

const jsonOrNull = (value: Recorded): string | null => (value === null ? null : JSON.stringify(value));
const timestampOrNull = (ms: number | null): string | null => (ms === null ? null : toTimestamp(ms));

function valuesOf(change: Change): Parameter[] {
  const { actor } = change;
  const values: Record<keyof ChangeRow, Parameter> = {
    id: change.id,
    begun_at: toTimestamp(change.begunAtMs),
    ended_at: timestampOrNull(change.endedAtMs),
    outcome: change.outcome,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name,
    session_id: actor.sessionId,
    local_user: actor.localUser,
    method: change.method,
    path: change.path,
    action: change.action,
    subject_kind: change.subjectKind,
    subject_id: change.subjectId,
    account_id: change.accountId,
    before: jsonOrNull(change.before),
    after: jsonOrNull(change.after),
    client_address: change.clientAddress,
    request_id: change.requestId,
    error_code: change.errorCode,
  };
  return COLUMNS.map((name) => values[name]);
}

function toChange(row: ChangeRow): Change {
  return {
    id: row.id,
    begunAtMs: row.begun_at.getTime(),
    endedAtMs: row.ended_at?.getTime() ?? null,
    outcome: row.outcome,
    actor: {
      kind: row.actor_kind,
      id: row.actor_id,
      name: row.actor_name,
      sessionId: row.session_id,
      localUser: row.local_user,
    },
    method: row.method,
    path: row.path,
    action: row.action,
    subjectKind: row.subject_kind,
    subjectId: row.subject_id,
    accountId: row.account_id,
    before: row.before,
    after: row.after,
    clientAddress: row.client_address,
    requestId: row.request_id,
    errorCode: row.error_code,
  };
}
