import type { Statement } from '../../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../../db/home-pools.ts';
import {
  type DatedRevision,
  isDated,
  REVISIONS,
  type Revision,
  type RevisionSource,
  type RevisionSummary,
  SUMMARIES,
} from './tables.ts';

/** This file stores revisions of the catalog. Instants are those of the database's clock, in epoch milliseconds. */

/** Channel of notifications after which nodes read the catalog again. */
export const CATALOG_CHANNEL = 'faregate_catalog';

/** Time until a new revision is in force at the earliest. By then every node has read it and knows the prices before and after. */
const LEAD_MS = 3_000;

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

/** `feed`: from the price source, whose earlier draft it replaces. */
export type NewDraft = Omit<NewRevision, 'inForceAtMs'> & { readonly source: 'push' | 'feed' };

/**
 * Why a revision was not inserted. `outdated`: the last revision is not `base` but `other` (`null`: there is none). `scheduled`: `other`
 * comes into force later than the new one would.
 */
export type RevisionConflict =
  | { readonly conflict: 'outdated'; readonly other: Revision | null }
  | { readonly conflict: 'scheduled'; readonly other: DatedRevision };

export interface LatestRevisions {
  readonly nowMs: number;
  /** Revision in force; `null`: there is none yet. */
  readonly current: DatedRevision | null;
  /** Revisions that come into force later, in order of time. */
  readonly scheduled: readonly DatedRevision[];
}

/** Nodes know this many scheduled revisions. */
export const SCHEDULED_MAX = 8;

/** Selects the revision in force and the scheduled ones, by a single reading of the clock. Uses the primary key. */
const latest: Statement = {
  name: 'catalog-revisions.latest',
  text: `with clock as materialized (select clock_timestamp() as now),
used as (select ${REVISIONS.list} from catalog_revisions where source <> 'file' and canceled_at is null and in_force_at is not null),
newest as (
  (select * from used where in_force_at <= (select now from clock) order by number desc limit 1)
  union all
  (select * from used where in_force_at > (select now from clock) order by number limit ${SCHEDULED_MAX})
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
  text: `select ${REVISIONS.list} from catalog_revisions
where source <> 'file' and canceled_at is null and in_force_at is not null order by number desc limit 1`,
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

/** The newest draft of the price source, also if it was discarded. Scans the primary key from its end. */
const lastFeedDraft: Statement = {
  name: 'catalog-revisions.last-feed-draft',
  text: `select ${REVISIONS.list} from catalog_revisions
where source = 'feed' and in_force_at is null order by number desc limit 1`,
};

/** Scans the table, which has a row for each change of an operator. */
const discardFeedDrafts: Statement = {
  name: 'catalog-revisions.discard-feed-drafts',
  text: `update catalog_revisions set canceled_at = clock_timestamp(), canceled_by = $1
where source = 'feed' and in_force_at is null and canceled_at is null`,
};

/** Uses the primary key. */
const discardDraft: Statement = {
  name: 'catalog-revisions.discard-draft',
  text: `update catalog_revisions set canceled_at = clock_timestamp(), canceled_by = $2
where number = $1 and in_force_at is null and canceled_at is null returning ${REVISIONS.list}`,
};

/** Uses the primary key. The draft is in force after $4 milliseconds, or at $3. */
const applyDraft: Statement = {
  name: 'catalog-revisions.apply-draft',
  text: `update catalog_revisions
set applied_by = $2, in_force_at = greatest($3::timestamptz, clock_timestamp() + $4 * interval '1 millisecond')
where number = $1 and in_force_at is null and canceled_at is null returning ${REVISIONS.list}`,
};

/** Inserts a draft with the next number after the highest one. */
const insertDraft: Statement = {
  name: 'catalog-revisions.insert-draft',
  text: `insert into catalog_revisions (number, text, source, base, reason, created_by, created_at)
select coalesce((select max(number) from catalog_revisions), 0) + 1, $1, $2, $3, $4, $5, clock_timestamp()
returning ${REVISIONS.list}`,
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
  and not exists (select from catalog_revisions later where later.number > r.number and later.source <> 'file'
    and later.canceled_at is null and later.in_force_at is not null)
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
    const revisions = REVISIONS.all(rows.filter(({ number }) => number !== null)).filter(isDated);
    return {
      nowMs,
      current: revisions.findLast(({ inForceAtMs }) => inForceAtMs <= nowMs) ?? null,
      scheduled: revisions.filter(({ inForceAtMs }) => inForceAtMs > nowMs),
    };
  }

  /** Why a revision that starts from `base` cannot come into force at an instant; `null`: it can. */
  async function conflictOf(
    transaction: DirectoryQueryable,
    base: number | null,
    at: Date | null,
    leadTimeMs: number,
  ): Promise<RevisionConflict | null> {
    const last = REVISIONS.first(await transaction.query(lastRevision));
    if ((last?.number ?? null) !== base) return { conflict: 'outdated', other: last };
    const later = REVISIONS.all(await transaction.query(lastAfter, [leadTimeMs, at])).find(isDated);
    return later === undefined ? null : { conflict: 'scheduled', other: later };
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
        const at = inForceAtMs === null ? null : new Date(inForceAtMs);
        const conflict = await conflictOf(transaction, base, at, leadTimeMs);
        if (conflict !== null) return conflict;
        const [row] = await transaction.query(insertRevision, [text, source, base, reason, createdBy, at, leadTimeMs]);
        await transaction.query(notifyNodes);
        return REVISIONS.read(row!);
      }),
    /**
     * Inserts a draft, which waits for a decision. A draft of the price source replaces its earlier one, and is not inserted again while source and catalog
     * are the same, also if a person has discarded it; then the result is the earlier draft.
     */
    insertDraft: (draft: NewDraft): Promise<{ readonly draft: Revision; readonly isNew: boolean }> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockRevisions);
        const { text, source, base, reason, createdBy } = draft;
        if (source === 'feed') {
          const earlier = REVISIONS.first(await transaction.query(lastFeedDraft));
          const isSame = earlier !== null && earlier.text === text && earlier.base === base;
          // A draft that the source itself has withdrawn is new.
          if (isSame && earlier.canceledBy !== createdBy) return { draft: earlier, isNew: false };
          await transaction.query(discardFeedDrafts, [createdBy]);
        }
        const [row] = await transaction.query(insertDraft, [text, source, base, reason, createdBy]);
        return { draft: REVISIONS.read(row!), isNew: true };
      }),
    /** Discards the undecided draft of the price source, which no longer differs from the catalog. */
    discardFeedDrafts: async (by: string): Promise<void> => {
      await database.query(discardFeedDrafts, [by]);
    },
    /**
     * Puts a draft in force and notifies every node, unless the catalog has changed since, or another revision is scheduled after it. `null`: there is no
     * such draft, or it is decided.
     */
    apply: (number: number, by: string, inForceAtMs: number | null): Promise<Revision | RevisionConflict | null> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockRevisions);
        const draft = REVISIONS.first(await transaction.query(findRevision, [number]));
        if (draft === null || draft.inForceAtMs !== null || draft.canceledAtMs !== null) return null;
        const at = inForceAtMs === null ? null : new Date(inForceAtMs);
        const conflict = await conflictOf(transaction, draft.base, at, leadMs);
        if (conflict !== null) return conflict;
        const [row] = await transaction.query(applyDraft, [number, by, at, leadMs]);
        await transaction.query(notifyNodes);
        return REVISIONS.read(row!);
      }),
    /** Discards a draft. `null`: there is no such draft, or it is decided. */
    discard: async (number: number, by: string): Promise<Revision | null> =>
      REVISIONS.first(await database.query(discardDraft, [number, by])),
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
