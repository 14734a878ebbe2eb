import { z } from 'zod';
import type { LocalTime } from '../../accounting/pricing/local-time.ts';
import { editCatalog } from '../../config/catalog-text.ts';
import type { CatalogChange } from '../../config/difference.ts';
import { sentenceOf } from '../../config/difference-text.ts';
import { ConfigError } from '../../config/load.ts';
import type { CatalogReader } from '../../config/revisions/catalog-reader.ts';
import type { NodeCatalog } from '../../config/revisions/node-catalog.ts';
import type { NewRevision, RevisionConflict, RevisionStore } from '../../config/revisions/revisions-store.ts';
import type { Revision } from '../../config/revisions/tables.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { signatureOf } from '../../people/actor.ts';
import { startMs } from '../../providers/catalog/catalog.ts';
import { type AdminContext, type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, notFound, Repeat } from '../management/endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { page, toPage } from '../management/wire.ts';
import { examplesOf } from './examples.ts';
import {
  linesOf,
  outdatedText,
  refusedApplyText,
  refusedCancelText,
  scheduledText,
  unusable,
} from './refusal-texts.ts';
import {
  checkBody,
  type Draft,
  difference,
  type InForceAt,
  inForceAt,
  newRevision,
  revisionNumber,
  rollbackBody,
} from './requests.ts';
import {
  type ChangedCatalogResponse,
  catalogResponse,
  changedCatalog,
  changeList,
  changesToWire,
  checkedCatalog,
  revisionResponse,
  revisionSummary,
  summaryToWire,
} from './wire.ts';

export interface CatalogAdminDependencies {
  readonly revisions: RevisionStore;
  readonly nodeCatalog: NodeCatalog;
  readonly catalogReader: CatalogReader;
  readonly localTime: () => LocalTime;
  readonly databaseNowMs: () => Promise<number>;
}

/** Endpoints that read, check and change the catalog of the database. With `catalog: file`, it can only be read. */
export function catalogEndpoints(dependencies: CatalogAdminDependencies): AdminEndpoint[] {
  const { revisions, nodeCatalog, catalogReader, localTime, databaseNowMs } = dependencies;

  const changesBetween = (before: Revision | null, after: string) => catalogReader.compare(before?.text ?? null, after);
  const configOf = (revision: Revision | null) => revision && catalogReader.read(revision.text);
  const baseOf = async ({ base }: Pick<Revision, 'base'>) => (base === null ? null : revisions.find(base));

  async function require(number: number): Promise<Revision> {
    const found = await revisions.find(number);
    if (found === null) throw notFound('revision', String(number));
    return found;
  }

  function requireDatabase(): void {
    if (nodeCatalog.mode === 'database') return;
    throw new GatewayError('conflict', {
      code: 'catalog_is_file',
      message:
        'The catalog of this gateway is in its configuration file. Change the file, or move the catalog to the database with "faregate catalog use ' +
        'database".',
    });
  }

  /** Returns the text of a draft. @throws GatewayError 400 if the base does not exist, or if the edits cannot be applied */
  async function readDraft({ base, text, edits }: Draft): Promise<{ start: Revision | null; text: string }> {
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
  }

  /** Converts the start of a revision; `null`: at once. @throws GatewayError 400 if it has passed */
  async function instantOf(at: InForceAt): Promise<number | null> {
    if (at === undefined || at === null) return null;
    const atMs = at instanceof Date ? at.getTime() : startMs(at, localTime());
    if (atMs < (await databaseNowMs())) {
      throw invalidRequest(
        'inForceAt: This instant has passed. Leave it out to put the revision in force at once.',
        'inForceAt',
      );
    }
    return atMs;
  }

  /** @throws GatewayError 400 */
  function requireUsable(text: string): void {
    const { problems } = catalogReader.check(text);
    if (problems.length > 0) throw unusable(problems, 'text');
  }

  async function insert(revision: NewRevision, start: Revision | null): Promise<ChangedCatalogResponse> {
    requireUsable(revision.text);
    return changed(await revisions.insert(revision), revision.base, start);
  }

  /** @throws GatewayError 409 */
  function changed(
    inserted: Revision | RevisionConflict,
    base: number | null,
    start: Revision | null,
  ): ChangedCatalogResponse {
    if (!('conflict' in inserted)) return changedToWire(inserted, changesBetween(start, inserted.text));
    const { conflict: reason, other } = inserted;
    throw new GatewayError(
      'conflict',
      reason === 'scheduled'
        ? { code: 'catalog_scheduled', message: scheduledText(other) }
        : {
            code: 'catalog_outdated',
            message: outdatedText(base, other),
            details: linesOf((changesBetween(start, other?.text ?? '') ?? []).map(sentenceOf)),
          },
    );
  }

  return [
    adminEndpoint({
      method: 'GET',
      path: '/catalog',
      summary: 'Show the catalog: its text, the revision in force and the next one',
      response: catalogResponse,
      async run() {
        const { mode, follower } = nodeCatalog;
        if (mode === 'file') {
          const [recorded, last] = await Promise.all([revisions.lastOfFile(), revisions.last()]);
          return {
            mode,
            inForce: recorded && summaryToWire(recorded),
            scheduled: null,
            base: last?.number ?? null,
            text: nodeCatalog.textOfFile(),
            failed: null,
          };
        }
        const [
          {
            current,
            scheduled: [next],
          },
          last,
        ] = await Promise.all([revisions.latest(), revisions.last()]);
        const failed = follower?.status.failed ?? null;
        return {
          mode,
          inForce: current && summaryToWire(current),
          scheduled: next === undefined ? null : summaryToWire(next),
          base: last?.number ?? null,
          text: last?.text ?? '',
          failed: failed && { number: failed.number, message: failed.message, at: new Date(failed.atMs).toISOString() },
        };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/catalog/revisions',
      summary: 'List the revisions of the catalog, newest first',
      query: z.strictObject({ ...page, cursor: revisionNumber.optional() }),
      response: pageOf(revisionSummary),
      async run({ query: { limit, cursor } }) {
        const found = await revisions.list(cursor ?? null, limit);
        return toPage(found.map(summaryToWire), limit, ({ number }) => String(number));
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/catalog/revisions/:id',
      summary: 'Show a revision of the catalog, and how it differs from the one that it is based on',
      response: revisionResponse,
      async run({ id }) {
        const revision = await require(numberOf(id));
        const { text } = revision;
        const [base, nowMs] = [await baseOf(revision), await databaseNowMs()];
        const [config, changes] = [configOf(revision), changesBetween(base, text)];
        return {
          ...summaryToWire(revision),
          text,
          difference: changesToWire(changes),
          examples: config === null ? [] : examplesOf(configOf(base), config, changes ?? [], nowMs),
        };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/catalog/difference',
      summary: 'Compare two revisions of the catalog',
      query: difference,
      response: z.strictObject({ changes: changeList }),
      async run({ query: { from, to } }) {
        const [before, after] = await Promise.all([revisions.find(from), revisions.find(to)]);
        if (before === null) throw invalidRequest(`from: There is no revision ${from}.`, 'from');
        if (after === null) throw invalidRequest(`to: There is no revision ${to}.`, 'to');
        return { changes: changesToWire(changesBetween(before, after.text)) };
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/catalog/check',
      isChange: false,
      summary:
        'Check a text of the catalog, or edits, without a change: problems, differences, and what example calls would cost',
      body: checkBody,
      response: checkedCatalog,
      async run({ body }) {
        const { start, text } = await readDraft(body);
        const { config, problems } = catalogReader.check(text);
        const changes = changesBetween(start, text);
        const nowMs = await databaseNowMs();
        return {
          text,
          problems: problems.map(({ line, key, message }) => ({ line, key, message })),
          changes: changesToWire(changes),
          examples:
            config === null ? [] : examplesOf(configOf(start), config, changes ?? [], nowMs, body.exampleModels),
        };
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/catalog/revisions',
      status: 201,
      summary:
        'Put another catalog in force, at once or at an instant. If it changes nothing, the response is the last revision',
      subject: CHANGED_CATALOG,
      body: newRevision,
      response: changedCatalog,
      async run({ body }, { actor }) {
        if (body.isMove !== true) requireDatabase();
        const { start, text } = await readDraft(body);
        const last = await revisions.last();
        if (last !== null && last.number === body.base && last.text === text) {
          return new Repeat(changedToWire(last, []));
        }
        const { base, reason = null } = body;
        if (body.isDraft === true) {
          requireUsable(text);
          const draft = { text, source: 'push', base, reason, createdBy: signatureOf(actor) } as const;
          return changedToWire((await revisions.insertDraft(draft)).draft, changesBetween(start, text));
        }
        const inForceAtMs = await instantOf(body.inForceAt);
        return insert({ text, source: 'push', base, reason, createdBy: signatureOf(actor), inForceAtMs }, start);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/catalog/revisions/:id/rollback',
      status: 201,
      summary: 'Put the text of an earlier revision of the catalog in force again, as a new revision',
      subject: { ...CHANGED_CATALOG, named: () => null },
      body: rollbackBody,
      response: changedCatalog,
      async run({ id, body }, { actor }) {
        requireDatabase();
        const [{ text }, last] = [await require(numberOf(id)), await revisions.last()];
        if (last?.text === text) return new Repeat(changedToWire(last, []));
        const { reason = null } = body;
        const inForceAtMs = await instantOf(body.inForceAt);
        const base = last?.number ?? null;
        return insert({ text, source: 'rollback', base, reason, createdBy: signatureOf(actor), inForceAtMs }, last);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/catalog/revisions/:id/apply',
      summary: 'Put a draft of the catalog in force, at once or at an instant',
      subject: CHANGED_CATALOG,
      body: z.strictObject({ inForceAt }),
      response: changedCatalog,
      async run({ id, body }, { actor }) {
        requireDatabase();
        const draft = await require(numberOf(id));
        if (draft.inForceAtMs !== null || draft.canceledAtMs !== null) throw conflict(refusedApplyText(draft));
        requireUsable(draft.text);
        const applied = await revisions.apply(draft.number, signatureOf(actor), await instantOf(body.inForceAt));
        if (applied === null) throw conflict(refusedApplyText(draft));
        return changed(applied, draft.base, await baseOf(draft));
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/catalog/revisions/:id',
      summary: 'Cancel a scheduled revision of the catalog, or discard a draft',
      subject: CHANGED_CATALOG,
      response: revisionSummary,
      async run({ id }, { actor }) {
        requireDatabase();
        const number = numberOf(id);
        const by = signatureOf(actor);
        const canceled = (await revisions.discard(number, by)) ?? (await revisions.cancel(number, by));
        if (canceled !== null) return summaryToWire(canceled);
        const revision = await require(number);
        const last = await revisions.last();
        throw conflict(refusedCancelText(revision, last));
      },
    }),
  ];
}

/** What the audit log records of a change of the catalog: sentences. */
const CHANGED_CATALOG: ChangeSubject<unknown, unknown, AdminContext> = {
  kind: 'catalog',
  named: ({ id }) => (id === '' ? null : id),
  responded: (response) => String((response as ChangedCatalogResponse).number),
  recorded(response) {
    const { changes, ...members } = response as ChangedCatalogResponse;
    return changes === undefined ? members : { ...members, changes: (changes ?? []).map(({ text }) => text) };
  },
};

function changedToWire(revision: Revision, changes: readonly CatalogChange[] | null): ChangedCatalogResponse {
  return { ...summaryToWire(revision), changes: changesToWire(changes) };
}

/** Reads the number of a revision. @throws GatewayError 404 if it is none */
function numberOf(id: string): number {
  const parsed = revisionNumber.safeParse(id);
  if (!parsed.success) throw notFound('revision', id);
  return parsed.data;
}
