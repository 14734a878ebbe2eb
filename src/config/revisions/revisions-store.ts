import type { Statement } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { countColumn, instantColumn, orNull, type RowOf, tableColumns, textColumn } from '../../db/table.ts';

/** SQL of the revisions of the catalog. Instants are those of the database's clock, in epoch milliseconds. */

/** Channel that tells nodes to read the catalog again. */
export const CATALOG_CHANNEL = 'faregate_catalog';

/** Every node has read a new revision within this time, so that all nodes know both sides of a switch of prices. */
export const LEAD_MS = 3_000;

export type RevisionSource = 'push' | 'rollback' | 'feed' | 'file';

const SUMMARY = {
  number: countColumn('number'),
  source: textColumn<RevisionSource>('source'),
  base: orNull(countColumn('base')),
  reason: orNull(textColumn('reason')),
  createdBy: textColumn('created_by'),
  createdAtMs: instantColumn('created_at'),
  inForceAtMs: instantColumn('in_force_at'),
  canceledAtMs: orNull(instantColumn('canceled_at')),
  canceledBy: orNull(textColumn('canceled_by')),
};
const SUMMARIES = tableColumns(SUMMARY);
const REVISIONS = tableColumns({ ...SUMMARY, text: textColumn('text') });

export type RevisionSummary = RowOf<typeof SUMMARIES>;
/** A numbered version of the catalog, as YAML. */
export type Revision = RowOf<typeof REVISIONS>;

export interface NewRevision {
  readonly text: string;
  readonly source: RevisionSource;
  /** The number of the last revision that the author has seen; `null`: there was none. */
  readonly base: number | null;
  readonly reason: string | null;
  readonly createdBy: string;
  /** `null`: as soon as every node has read it. */
  readonly inForceAtMs: number | null;
}

/** Why a revision was not inserted: another one was inserted after `base`, or one is scheduled for a later instant. */
export type RevisionConflict = { readonly conflict: 'outdated' | 'scheduled'; readonly other: Revision };

export interface LatestRevisions {
  readonly nowMs: number;
  /** The revision in force; `null`: there is none yet. */
  readonly current: Revision | null;
  /** The next revision that comes into force; `null`: none is scheduled. */
  readonly scheduled: Revision | null;
}

/** Uses the primary key, from the newest revision down to the one in force. */
const latest: Statement = {
  name: 'catalog-revisions.latest',
  text: `with newest as (
  (select ${REVISIONS.list} from catalog_revisions where canceled_at is null and in_force_at <= clock_timestamp() order by number desc limit 1)
  union all
  (select ${REVISIONS.list} from catalog_revisions where canceled_at is null and in_force_at > clock_timestamp() order by number limit 1)
)
select ${REVISIONS.of('n')}, t.now from (select clock_timestamp() as now) t left join newest n on true order by n.number`,
};

/** Uses the primary key. */
const findRevision: Statement = {
  name: 'catalog-revisions.find',
  text: `select ${REVISIONS.list} from catalog_revisions where number = $1`,
};

/** Uses the primary key. */
const listRevisions: Statement = {
  name: 'catalog-revisions.list',
  text: `select ${SUMMARIES.list} from catalog_revisions where $1::bigint is null or number < $1 order by number desc limit $2`,
};

/** Revisions are inserted one after another. */
const lockRevisions: Statement = {
  name: 'catalog-revisions.lock',
  text: `select pg_advisory_xact_lock(hashtextextended('${CATALOG_CHANNEL}', 0))`,
};

/** Uses the primary key. */
const lastRevision: Statement = {
  name: 'catalog-revisions.last',
  text: `select ${REVISIONS.list} from catalog_revisions order by number desc limit 1`,
};

/** The last revision that an insertion "at once" would precede. Uses the primary key. */
const lastScheduled: Statement = {
  name: 'catalog-revisions.last-scheduled',
  text: `select ${REVISIONS.list} from catalog_revisions
where canceled_at is null and in_force_at > clock_timestamp() + ${LEAD_MS} * interval '1 millisecond' order by number desc limit 1`,
};

const insertRevision: Statement = {
  name: 'catalog-revisions.insert',
  text: `insert into catalog_revisions (number, text, source, base, reason, created_by, created_at, in_force_at)
select $1, $2, $3, $4, $5, $6, clock_timestamp(), greatest($7::timestamptz, clock_timestamp() + $8 * interval '1 millisecond')
returning ${REVISIONS.list}`,
};

/** Uses the primary key. Only a revision that is not in force yet can be canceled. */
const cancelRevision: Statement = {
  name: 'catalog-revisions.cancel',
  text: `update catalog_revisions set canceled_at = clock_timestamp(), canceled_by = $2
where number = $1 and canceled_at is null and in_force_at > clock_timestamp()
returning ${REVISIONS.list}`,
};

const notifyNodes: Statement = {
  name: 'catalog-revisions.notify',
  text: `select pg_notify('${CATALOG_CHANNEL}', '')`,
};

export type RevisionStore = ReturnType<typeof createRevisionStore>;

export function createRevisionStore(database: DirectoryPool) {
  async function readLatest(): Promise<LatestRevisions> {
    const rows = await database.query(latest);
    const nowMs = Number(rows[0]!.now);
    const revisions = REVISIONS.all(rows.filter(({ number }) => number !== null));
    return {
      nowMs,
      current: revisions.findLast(({ inForceAtMs }) => inForceAtMs <= nowMs) ?? null,
      scheduled: revisions.find(({ inForceAtMs }) => inForceAtMs > nowMs) ?? null,
    };
  }

  return {
    latest: readLatest,
    find: async (number: number): Promise<Revision | null> =>
      REVISIONS.first(await database.query(findRevision, [number])),
    /** The last revision by number, canceled or not; `null`: there is none. */
    last: async (): Promise<Revision | null> => REVISIONS.first(await database.query(lastRevision)),
    /** Revisions before a number, newest first. */
    list: async (before: number | null, limit: number): Promise<RevisionSummary[]> =>
      SUMMARIES.all(await database.query(listRevisions, [before, limit])),
    /** Inserts a revision and notifies every node, unless it is based on an earlier revision than the last one, or another one is scheduled after it. */
    insert: (revision: NewRevision): Promise<Revision | RevisionConflict> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockRevisions);
        const last = REVISIONS.first(await transaction.query(lastRevision));
        if ((last?.number ?? null) !== revision.base) return { conflict: 'outdated', other: last! };
        const scheduled = REVISIONS.first(await transaction.query(lastScheduled));
        const { text, source, base, reason, createdBy, inForceAtMs } = revision;
        if (scheduled !== null && (inForceAtMs === null || inForceAtMs < scheduled.inForceAtMs)) {
          return { conflict: 'scheduled', other: scheduled };
        }
        const at = inForceAtMs === null ? null : new Date(inForceAtMs);
        const leadMs = source === 'file' ? 0 : LEAD_MS;
        const values = [(last?.number ?? 0) + 1, text, source, base, reason, createdBy, at, leadMs];
        const [row] = await transaction.query(insertRevision, values);
        await transaction.query(notifyNodes);
        return REVISIONS.read(row!);
      }),
    /** Cancels a scheduled revision and notifies every node. `null`: there is no such revision, or it is in force or canceled. */
    cancel: (number: number, canceledBy: string): Promise<Revision | null> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockRevisions);
        const canceled = REVISIONS.first(await transaction.query(cancelRevision, [number, canceledBy]));
        if (canceled !== null) await transaction.query(notifyNodes);
        return canceled;
      }),
  };
}
