import { z } from 'zod';
import type { LocalTime } from '../../accounting/pricing/local-time.ts';
import type { CatalogChange } from '../../config/difference.ts';
import { sentenceOf } from '../../config/difference-text.ts';
import type { NodeCatalog } from '../../config/revisions/node-catalog.ts';
import type { NewRevision, RevisionConflict, RevisionStore } from '../../config/revisions/revisions-store.ts';
import type { Revision } from '../../config/revisions/tables.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { signatureOf } from '../../people/actor.ts';
import { startMs } from '../../providers/catalog/catalog.ts';
import { type AdminContext, type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, Repeat } from '../management/endpoint.ts';
import { linesOf, outdatedText, refusedApplyText, refusedCancelText, scheduledText } from './refusal-texts.ts';
import { type InForceAt, inForceAt, newRevision, rollbackBody } from './requests.ts';
import { numberOf, type RevisionReader } from './revision-reader.ts';
import { type ChangedCatalogResponse, changedCatalog, changesToWire, revisionSummary, summaryToWire } from './wire.ts';

export interface CatalogChangeDependencies {
  readonly revisions: RevisionStore;
  readonly nodeCatalog: Pick<NodeCatalog, 'mode'>;
  readonly reader: RevisionReader;
  readonly localTime: () => LocalTime;
  readonly databaseNowMs: () => Promise<number>;
}

/** Endpoints that change the catalog of the database. */
export function catalogChangeEndpoints(dependencies: CatalogChangeDependencies): AdminEndpoint[] {
  const { revisions, nodeCatalog, reader, localTime, databaseNowMs } = dependencies;
  const { changesBetween, baseOf, readDraft, requireUsable } = reader;

  function requireDatabase(): void {
    if (nodeCatalog.mode === 'database') return;
    throw new GatewayError('conflict', {
      code: 'catalog_is_file',
      message:
        'The catalog of this gateway is in its configuration file. Change the file, or move the catalog to the database with "faregate catalog use ' +
        'database".',
    });
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
        const [{ text }, last] = [await reader.require(id), await revisions.last()];
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
        const draft = await reader.require(id);
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
        const revision = await reader.require(id);
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
