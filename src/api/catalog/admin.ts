import { z } from 'zod';
import type { NodeCatalog } from '../../config/revisions/node-catalog.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { page, toPage } from '../management/wire.ts';
import { type CatalogChangeDependencies, catalogChangeEndpoints } from './changes.ts';
import { examplesOf } from './examples.ts';
import { checkBody, difference, revisionNumber } from './requests.ts';
import { createRevisionReader, type RevisionReaderDependencies } from './revision-reader.ts';
import {
  catalogResponse,
  changeList,
  changesToWire,
  checkedCatalog,
  revisionResponse,
  revisionSummary,
  summaryToWire,
} from './wire.ts';

export interface CatalogAdminDependencies
  extends RevisionReaderDependencies,
    Omit<CatalogChangeDependencies, 'reader'> {
  readonly nodeCatalog: NodeCatalog;
}

/** Endpoints that read, check and change the catalog of the database. With `catalog: file`, it can only be read. */
export function catalogEndpoints(dependencies: CatalogAdminDependencies): AdminEndpoint[] {
  const { revisions, nodeCatalog, catalogReader, databaseNowMs } = dependencies;
  const reader = createRevisionReader(dependencies);
  const { changesBetween, configOf, baseOf } = reader;

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
        const revision = await reader.require(id);
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
        const { start, text } = await reader.readDraft(body);
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
    ...catalogChangeEndpoints({ ...dependencies, reader }),
  ];
}
