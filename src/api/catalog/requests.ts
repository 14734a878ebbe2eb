import { z } from 'zod';
import { isStorable } from '../../lib/plain-text.ts';
import { storable } from '../management/storable.ts';
import { instant, shortText } from '../management/wire.ts';

/** Bodies and parameters of requests about the catalog. */

export const revisionNumber = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

const edit = z.strictObject({
  path: z
    .array(z.union([storable(z.string().max(1_000)), z.int().min(0)]))
    .min(1)
    .max(16),
  value: z
    .unknown()
    .refine(isStorableValue, 'Must be well-formed text without zero bytes.')
    .optional()
    .describe('Absent: the setting is deleted.'),
});

const draft = {
  base: z.int().min(1).nullable().describe('The revision that the text or the edits start from; null: there is none.'),
  text: storable(z.string()).optional().describe('The whole text. Either this or `edits`.'),
  edits: z.array(edit).max(1_000).optional(),
};
const EXAMPLE = { base: null, text: 'billing: { timezone: Asia/Shanghai }\n' };
export type Draft = z.infer<z.ZodObject<typeof draft>>;
export const checkBody = z
  .strictObject({
    ...draft,
    exampleModels: z
      .array(storable(z.string().max(1_000)))
      .max(100)
      .optional()
      .describe('Models whose example calls are in the response although nothing changes for them.'),
  })
  .meta({ examples: [EXAMPLE] });

export const inForceAt = z
  .union([instant, z.iso.date()], { error: 'Expected an instant in ISO 8601, or a day such as 2026-12-01.' })
  .nullish()
  .describe('An instant, or a day in the billing time zone. Absent: at once.');

export const newRevision = z
  .strictObject({
    ...draft,
    reason: shortText.nullish(),
    inForceAt,
    isDraft: z.boolean().optional().describe('Saves a draft, which comes into force only when it is applied.'),
    isMove: z
      .boolean()
      .optional()
      .describe(
        'Accepts the revision although this gateway still reads the catalog from its file, so that the catalog can move to the database.',
      ),
  })
  .meta({ examples: [{ ...EXAMPLE, reason: 'the billing day is in Shanghai' }] });
export const rollbackBody = z.strictObject({ reason: shortText.nullish(), inForceAt });
export type InForceAt = z.infer<typeof inForceAt>;

export const difference = z.strictObject({ from: revisionNumber, to: revisionNumber });

/** Whether all texts and numbers of a value can be stored in the text of a revision. */
function isStorableValue(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorableValue(member));
}
