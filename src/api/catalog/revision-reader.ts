import { editCatalog } from '../../config/catalog-text.ts';
import type { CatalogChange } from '../../config/difference.ts';
import { ConfigError } from '../../config/load.ts';
import type { CatalogReader } from '../../config/revisions/catalog-reader.ts';
import type { RevisionStore } from '../../config/revisions/revisions-store.ts';
import type { Revision } from '../../config/revisions/tables.ts';
import type { Config } from '../../config/schema.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { notFound } from '../management/endpoint.ts';
import { unusable } from './refusal-texts.ts';
import { type Draft, revisionNumber } from './requests.ts';

export interface RevisionReaderDependencies {
  readonly revisions: RevisionStore;
  readonly catalogReader: CatalogReader;
}

/** Reads revisions and drafts of the catalog for requests. */
export interface RevisionReader {
  /** `null` if one of the texts cannot be read. */
  changesBetween(before: Revision | null, after: string): readonly CatalogChange[] | null;
  configOf(revision: Revision | null): Config | null;
  /** The revision that this one is based on. */
  baseOf(revision: Pick<Revision, 'base'>): Promise<Revision | null>;
  /** Returns the revision with the number in a path. @throws GatewayError 404 */
  require(id: string): Promise<Revision>;
  /** Returns the text of a draft. @throws GatewayError 400 if the base does not exist, or if the edits cannot be applied */
  readDraft(draft: Draft): Promise<{ readonly start: Revision | null; readonly text: string }>;
  /** @throws GatewayError 400 */
  requireUsable(text: string): void;
}

export function createRevisionReader({ revisions, catalogReader }: RevisionReaderDependencies): RevisionReader {
  return {
    changesBetween: (before, after) => catalogReader.compare(before?.text ?? null, after),
    configOf: (revision) => revision && catalogReader.read(revision.text),
    baseOf: async ({ base }) => (base === null ? null : revisions.find(base)),
    async require(id) {
      const found = await revisions.find(numberOf(id));
      if (found === null) throw notFound('revision', id);
      return found;
    },
    async readDraft({ base, text, edits }) {
      if ((text === undefined) === (edits === undefined)) {
        throw invalidRequest('Send either the whole text, or edits.', 'text');
      }
      const start = base === null ? null : await revisions.find(base);
      if (base !== null && start === null) throw invalidRequest(`base: There is no revision ${base}.`, 'base');
      if (text !== undefined) return { start, text };
      try {
        return { start, text: editCatalog(start?.text ?? '', edits!) };
      } catch (error) {
        if (error instanceof ConfigError) throw unusable(error.problems, 'edits');
        throw error;
      }
    },
    requireUsable(text) {
      const { problems } = catalogReader.check(text);
      if (problems.length > 0) throw unusable(problems, 'text');
    },
  };
}

/** Reads the number of a revision. @throws GatewayError 404 if it is none */
export function numberOf(id: string): number {
  const parsed = revisionNumber.safeParse(id);
  if (!parsed.success) throw notFound('revision', id);
  return parsed.data;
}
