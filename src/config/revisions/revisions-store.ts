import type { Statement } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { countColumn, instantColumn, orNull, type RowOf, tableColumns, textColumn } from '../../db/table.ts';

/** This file stores revisions of the catalog. Instants are those of the database's clock, in epoch milliseconds. */

/** Channel of notifications after which nodes read the catalog again. */
export const CATALOG_CHANNEL = 'faregate_catalog';

/** Time until a new revision is in force at the earliest. By then every node has read it and knows the prices before and after. */
const LEAD_MS = 3_000;

/** Where a revision comes from. `file`: a record of the catalog in a configuration file, which nodes never use from here. */
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
  readonly source: Exclude<RevisionSource, 'file'>;
  /** Number of the last revision that was not canceled when the author began; `null`: there was none. */
  readonly base: number | null;
  readonly reason: string | null;
  readonly createdBy: string;
  /** When the revision is in force; `null`: as soon as every node has read it. */
  readonly inForceAtMs: number | null;
}

/**
 * Why a revision was not inserted. `outdated`: the last revision is not `base` but `other` (`null`: there is none). `scheduled`: `other`
 * comes into force later than the new one would.
 */
export type RevisionConflict =
  | { readonly conflict: 'outdated'; readonly other: Revision | null }
  | { readonly conflict: 'scheduled'; readonly other: Revision };

export interface LatestRevisions {
  readonly nowMs: number;
  /** Revision in force; `null`: there is none yet. */
  readonly current: Revision | null;
  /** Revision that comes into force next; `null`: none is scheduled. */
  readonly scheduled: Revision | null;
}

/** Selects revisions from the newest one to the one in force, by a single reading of the clock. Uses the primary key. */
const latest: Statement = {
  name: 'catalog-revisions.latest',
  text: `with clock as materialized (select clock_timestamp() as now),
used as (select ${REVISIONS.list} from catalog_revisions where source <> 'file' and canceled_at is null),
newest as (
  (select * from used where in_force_at <= (select now from clock) order by number desc limit 1)
  union all
  (select * from used where in_force_at > (select now from clock) order by number limit 1)
)
select ${REVISIONS.of('n')}, t.now from clock t left join newest n on true order by n.number`,
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

/** Locks the revisions, so that they are inserted one after another. */
const lockRevisions: Statement = {
  name: 'catalog-revisions.lock',
  text: `select pg_advisory_xact_lock(hashtextextended('${CATALOG_CHANNEL}', 0))`,
};

/** Uses the primary key. */
const lastRevision: Statement = {
  name: 'catalog-revisions.last',
  text: `select ${REVISIONS.list} from catalog_revisions where source <> 'file' and canceled_at is null order by number desc limit 1`,
};

/** Uses the primary key. */
const lastOfFile: Statement = {
  name: 'catalog-revisions.last-of-file',
  text: `select ${REVISIONS.list} from catalog_revisions where source = 'file' order by number desc limit 1`,
};

/** Selects the last revision that comes into force after a new one, whose instant is in $1 milliseconds or at $2. Uses the primary key. */
const lastAfter: Statement = {
  name: 'catalog-revisions.last-after',
  text: `select ${REVISIONS.list} from catalog_revisions where source <> 'file' and canceled_at is null
and in_force_at > greatest($2::timestamptz, clock_timestamp() + $1 * interval '1 millisecond') order by number desc limit 1`,
};

/** Inserts a revision with the next number after the highest one. */
const insertRevision: Statement = {
  name: 'catalog-revisions.insert',
  text: `insert into catalog_revisions (number, text, source, base, reason, created_by, created_at, in_force_at)
select coalesce((select max(number) from catalog_revisions), 0) + 1, $1, $2, $3, $4, $5, clock_timestamp(),
  greatest($6::timestamptz, clock_timestamp() + $7 * interval '1 millisecond')
returning ${REVISIONS.list}`,
};

/**
 * Cancels a revision: only the last one, because a later text contains its changes; and not within $3 milliseconds before its instant,
 * because a node might not read this in time. Uses the primary key.
 */
const cancelRevision: Statement = {
  name: 'catalog-revisions.cancel',
  text: `update catalog_revisions r set canceled_at = clock_timestamp(), canceled_by = $2
where number = $1 and source <> 'file' and canceled_at is null and in_force_at > clock_timestamp() + $3 * interval '1 millisecond'
  and not exists (select from catalog_revisions later where later.number > r.number and later.source <> 'file' and later.canceled_at is null)
returning ${REVISIONS.list}`,
};

const notifyNodes: Statement = {
  name: 'catalog-revisions.notify',
  text: `select pg_notify('${CATALOG_CHANNEL}', '')`,
};

export type RevisionStore = ReturnType<typeof createRevisionStore>;

/** @param leadMs for tests: the time until an inserted revision is in force at the earliest */
export function createRevisionStore(
  database: DirectoryPool,
  { leadMs = LEAD_MS }: { readonly leadMs?: number | undefined } = {},
) {
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
    /** Returns the last revision that is not canceled, on which a new one is based; `null`: there is none. */
    last: async (): Promise<Revision | null> => REVISIONS.first(await database.query(lastRevision)),
    /** Returns the last record of a configuration file; `null`: there is none. */
    lastOfFile: async (): Promise<Revision | null> => REVISIONS.first(await database.query(lastOfFile)),
    /** Returns revisions before a number, newest first. */
    list: async (before: number | null, limit: number): Promise<RevisionSummary[]> =>
      SUMMARIES.all(await database.query(listRevisions, [before, limit])),
    /**
     * Inserts a revision and notifies every node, unless it is not based on the last revision, or another one is scheduled after it.
     *
     * @param leadTimeMs 0 only for the first revision
     */
    insert: (revision: NewRevision, leadTimeMs = leadMs): Promise<Revision | RevisionConflict> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockRevisions);
        const { text, source, base, reason, createdBy, inForceAtMs } = revision;
        const last = REVISIONS.first(await transaction.query(lastRevision));
        if ((last?.number ?? null) !== base) return { conflict: 'outdated', other: last };
        const at = inForceAtMs === null ? null : new Date(inForceAtMs);
        const later = REVISIONS.first(await transaction.query(lastAfter, [leadTimeMs, at]));
        if (later !== null) return { conflict: 'scheduled', other: later };
        const [row] = await transaction.query(insertRevision, [text, source, base, reason, createdBy, at, leadTimeMs]);
        await transaction.query(notifyNodes);
        return REVISIONS.read(row!);
      }),
    /** Records the catalog of a configuration file; `null` if the last record is equal. */
    record: ({ text, createdBy }: Pick<NewRevision, 'text' | 'createdBy'>): Promise<Revision | null> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockRevisions);
        const last = REVISIONS.first(await transaction.query(lastOfFile));
        if (last?.text === text) return null;
        const [row] = await transaction.query(insertRevision, [
          text,
          'file',
          last?.number ?? null,
          null,
          createdBy,
          null,
          0,
        ]);
        return REVISIONS.read(row!);
      }),
    /**
     * Cancels a scheduled revision and notifies every node. Returns `null` if there is none with this number, it is canceled, another one
     * follows it, or it is in force or about to be.
     */
    cancel: (number: number, canceledBy: string): Promise<Revision | null> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockRevisions);
        const canceled = REVISIONS.first(await transaction.query(cancelRevision, [number, canceledBy, leadMs]));
        if (canceled !== null) await transaction.query(notifyNodes);
        return canceled;
      }),
  };
}
