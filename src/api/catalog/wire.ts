import { z } from 'zod';
import type { CatalogChange } from '../../config/difference.ts';
import { sentenceOf } from '../../config/difference-text.ts';
import type { RevisionSummary } from '../../config/revisions/tables.ts';
import { CATALOG_SECTIONS } from '../../config/schema.ts';
import { signerIdOf } from '../../people/actor.ts';
import { at, count, listOf, signerId, yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { instantToWire } from '../management/wire.ts';

const marginPercent = z
  .string()
  .nullable()
  .describe('Share of the charge that the cost of the dearest route leaves, in percent; null: no route has a cost.');

const summary = {
  number: count,
  source: z.enum(['push', 'rollback', 'feed', 'file']).meta({
    description: 'file: a record of the catalog in the configuration file of a node.',
  }),
  base: count.nullable().describe('The revision that the change started from; null: none.'),
  reason: z.string().nullable(),
  createdBy: z.string().describe('Who created the revision; for a record of a file, the node.'),
  createdById: signerId,
  createdAt: at,
  inForceAt: at
    .nullable()
    .describe('The instant, by the clock of the database, from which the revision is in force; null: it is a draft.'),
  appliedBy: z.string().nullable().describe('Who put a draft in force; null: nobody, or it was not a draft.'),
  appliedById: signerId,
  canceledAt: at.nullable(),
  canceledBy: z.string().nullable(),
  canceledById: signerId,
};

export const revisionSummary = z.strictObject(summary).meta({ id: 'RevisionSummary' });
export type RevisionSummaryResponse = z.infer<typeof revisionSummary>;

const catalogChange = z
  .strictObject({
    section: z.enum(CATALOG_SECTIONS),
    name: z.string().nullable().describe('The provider, model, plan or group; null in sections without names.'),
    kind: z.enum(['added', 'removed', 'changed']),
    setting: z.string().nullable().describe('The path of the setting; null: the whole provider, model, plan or group.'),
    before: z.string().nullable().describe('The earlier value, with its unit; null: none, or not shown.'),
    after: z.string().nullable(),
    from: z.string().nullable().describe('The instant from which the changed prices apply; null: with the revision.'),
    text: z.string().describe('The change as a sentence.'),
  })
  .meta({ id: 'CatalogChange' });
export type CatalogChangeResponse = z.infer<typeof catalogChange>;

export const changeList = listOf(catalogChange)
  .nullable()
  .describe('null: the texts cannot be compared, because one of them is not valid on this node.');

const example = z.strictObject({
  model: z.string(),
  before: yuan.nullable().describe('The charge by the earlier text; null: unknown, or the model is new.'),
  now: yuan,
  later: listOf(z.strictObject({ from: z.string(), yuan })),
  marginPercentBefore: marginPercent,
  marginPercentNow: marginPercent,
});
export type ExampleResponse = z.infer<typeof example>;

export const examples = listOf(example).describe(
  'The charge for a call of 10,000 input tokens and 1,000 output tokens to each changed model.',
);

export const revisionResponse = z
  .strictObject({ ...summary, text: z.string(), difference: changeList, examples })
  .meta({ id: 'Revision' });
export type RevisionResponse = z.infer<typeof revisionResponse>;

export const changedCatalog = z.strictObject({ ...summary, changes: changeList }).meta({ id: 'ChangedCatalog' });
export type ChangedCatalogResponse = z.infer<typeof changedCatalog>;

export const catalogResponse = z
  .strictObject({
    mode: z.enum(['file', 'database']),
    inForce: revisionSummary.nullable().describe('In mode file: the last record of a configuration file.'),
    scheduled: revisionSummary.nullable().describe('The next revision that comes into force.'),
    base: count
      .nullable()
      .describe('The last revision that is not canceled, which the next one must name as its base.'),
    text: z.string().describe('The text of `base`; in mode file, the sections of the file without secrets.'),
    failed: z
      .strictObject({ number: count, message: z.string(), at })
      .nullable()
      .describe('The revision that the responding node cannot use.'),
  })
  .meta({ id: 'Catalog' });
export type CatalogResponse = z.infer<typeof catalogResponse>;

const problem = z.strictObject({
  line: count.describe('Counted from 1; 0: the problem is not on a known line.'),
  key: z.string(),
  message: z.string(),
});

export const checkedCatalog = z
  .strictObject({
    text: z.string(),
    problems: listOf(problem),
    changes: changeList,
    examples,
  })
  .meta({ id: 'CheckedCatalog' });
export type CheckedCatalogResponse = z.infer<typeof checkedCatalog>;

export function summaryToWire(revision: RevisionSummary): RevisionSummaryResponse {
  return shown(revisionSummary, {
    ...revision,
    createdById: signerIdOf(revision.createdBy),
    canceledById: revision.canceledBy === null ? null : signerIdOf(revision.canceledBy),
    createdAt: new Date(revision.createdAtMs),
    inForceAt: instantToWire(revision.inForceAtMs),
    appliedById: revision.appliedBy === null ? null : signerIdOf(revision.appliedBy),
    canceledAt: instantToWire(revision.canceledAtMs),
  });
}

export function changesToWire(changes: readonly CatalogChange[] | null): CatalogChangeResponse[] | null {
  return changes === null ? null : changes.map((change) => ({ ...change, text: sentenceOf(change) }));
}
