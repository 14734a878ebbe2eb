import { z } from 'zod';
import type { NotFollowed } from '../../config/price-source/price-changes.ts';
import type { PriceSource, PriceSourceResult } from '../../config/price-source/price-source.ts';
import type { PriceSourceRead } from '../../config/price-source/price-source-store.ts';
import type { CatalogReader } from '../../config/revisions/catalog-reader.ts';
import type { RevisionStore } from '../../config/revisions/revisions-store.ts';
import { formatDuration } from '../../config/units.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict, Repeat } from '../management/endpoint.ts';
import { at, count, listOf } from '../management/response-fields.ts';
import { instantToWire } from '../management/wire.ts';
import { examplesOf } from './examples.ts';
import { changeList, changesToWire, type ExampleResponse, examples } from './wire.ts';

export interface PriceSourceAdminDependencies {
  readonly priceSource: PriceSource;
  readonly revisions: Pick<RevisionStore, 'find'>;
  readonly catalogReader: Pick<CatalogReader, 'read'>;
  readonly databaseNowMs: () => Promise<number>;
}

const outcome = z.enum(['unchanged', 'draft', 'applied', 'changed', 'failed']).meta({
  description:
    'unchanged: the prices are those of the source, or a draft with them was discarded; draft: differences wait in a draft; applied: they are in force; ' +
    'changed: there are differences, and the catalog is in the file; failed: the source could not be used.',
});
const revision = count.nullable().describe('The draft, or the revision that was put in force.');
const message = z.string().nullable().describe('Why the source could not be used.');

const priceSourceResponse = z
  .strictObject({
    source: z
      .strictObject({
        address: z.string().describe('A URL, or the path of a file.'),
        every: z.string(),
        usdCny: z.string(),
        marginPercent: z.string(),
        applyBelowPercent: count.nullable(),
      })
      .nullable()
      .describe('null: the catalog has none.'),
    lastRead: z
      .strictObject({
        node: z.string(),
        startedAt: at,
        endedAt: at.nullable().describe('null: the read is in progress, or its node has died.'),
        outcome: outcome.nullable(),
        message,
        revision,
      })
      .nullable()
      .describe('The last read by any node; null: there was none.'),
  })
  .meta({ id: 'PriceSource' });
export type PriceSourceResponse = z.infer<typeof priceSourceResponse>;

const readResponse = z
  .strictObject({
    outcome,
    message,
    revision,
    changes: changeList,
    examples,
    notFollowed: listOf(z.strictObject({ model: z.string(), why: z.string() })).describe(
      'Models whose prices do not follow the source, or only in part.',
    ),
  })
  .meta({ id: 'PriceSourceRead' });
export type PriceSourceReadResponse = z.infer<typeof readResponse>;

/** Shows the price source and its last read, and reads it at once. */
export function priceSourceEndpoints({
  priceSource,
  revisions,
  catalogReader,
  databaseNowMs,
}: PriceSourceAdminDependencies): AdminEndpoint[] {
  async function examplesFor({ revision: made, changes }: PriceSourceResult): Promise<ExampleResponse[]> {
    const config = made === null ? null : catalogReader.read(made.text);
    if (made === null || config === null) return [];
    const base = made.base === null ? null : await revisions.find(made.base);
    return examplesOf(base && catalogReader.read(base.text), config, changes, await databaseNowMs());
  }

  return [
    adminEndpoint({
      method: 'GET',
      path: '/catalog/price-source',
      summary: 'Show the source that prices follow, and its last read',
      response: priceSourceResponse,
      async run() {
        const { settings } = priceSource;
        const last = await priceSource.lastRead();
        return { source: settings && sourceToWire(settings), lastRead: last && lastToWire(last) };
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/catalog/price-source/read',
      summary: 'Read the price source at once. Differences become a draft, or come into force if the source allows it',
      subject: {
        kind: 'catalog',
        named: () => null,
        responded: (response) => revisionOf(response as PriceSourceReadResponse),
        recorded(response) {
          const { outcome: led, revision: number, changes } = response as PriceSourceReadResponse;
          return { outcome: led, number, changes: (changes ?? []).map(({ text }) => text) };
        },
      },
      response: readResponse,
      async run() {
        const { settings } = priceSource;
        if (settings === null) throw conflict('The catalog has no price source. Set "priceSource".');
        const result = await priceSource.readNow(settings);
        if (result === null) throw conflict('The price source is being read. Try again in a minute.');
        const response = {
          outcome: result.outcome,
          message: result.message,
          revision: result.revision?.number ?? null,
          changes: changesToWire(result.changes),
          examples: await examplesFor(result),
          notFollowed: result.notFollowed.map(({ model, why }: NotFollowed) => ({ model, why })),
        };
        return Repeat.if(!result.isNew || result.revision === null, response);
      },
    }),
  ];
}

function revisionOf({ revision: number }: PriceSourceReadResponse): string | null {
  return number === null ? null : String(number);
}

function sourceToWire(settings: NonNullable<PriceSource['settings']>): NonNullable<PriceSourceResponse['source']> {
  const { url, file, every, usdCny, marginPercent, applyBelowPercent = null } = settings;
  return { address: url ?? file!, every: formatDuration(every), usdCny, marginPercent, applyBelowPercent };
}

function lastToWire(read: PriceSourceRead): NonNullable<PriceSourceResponse['lastRead']> {
  const { node, startedAtMs, endedAtMs, outcome: led, message: why, revision: number } = read;
  return {
    node,
    startedAt: new Date(startedAtMs).toISOString(),
    endedAt: instantToWire(endedAtMs),
    outcome: led,
    message: why,
    revision: number,
  };
}
