import { countColumn, instantColumn, orNull, type RowOf, tableColumns, textColumn } from '../../db/table.ts';

/** Where a revision comes from. `file`: a record of the catalog in a configuration file, which nodes never use from here. */
export type RevisionSource = 'push' | 'rollback' | 'feed' | 'file';

const SUMMARY = {
  number: countColumn('number'),
  source: textColumn<RevisionSource>('source'),
  base: orNull(countColumn('base')),
  reason: orNull(textColumn('reason')),
  createdBy: textColumn('created_by'),
  createdAtMs: instantColumn('created_at'),
  /** `null`: a draft, which is never in force by itself. */
  inForceAtMs: orNull(instantColumn('in_force_at')),
  /** Who put a draft in force. */
  appliedBy: orNull(textColumn('applied_by')),
  canceledAtMs: orNull(instantColumn('canceled_at')),
  canceledBy: orNull(textColumn('canceled_by')),
};
export const SUMMARIES = tableColumns(SUMMARY);
export const REVISIONS = tableColumns({ ...SUMMARY, text: textColumn('text') });

export type RevisionSummary = RowOf<typeof SUMMARIES>;
/** A numbered version of the catalog, as YAML. */
export type Revision = RowOf<typeof REVISIONS>;
/** A revision that is no draft. */
export type DatedRevision = Revision & { readonly inForceAtMs: number };

export function isDated(revision: Revision): revision is DatedRevision {
  return revision.inForceAtMs !== null;
}
