import { z } from 'zod';
import type { DialectSearch } from '../../calls/dialect-search/dialect-search.ts';
import type { ProviderModels } from '../../calls/provider-models.ts';
import type { ProviderTest } from '../../calls/provider-test.ts';
import { dialect } from '../../config/dialect-schema.ts';
import { dialectYaml } from '../../config/dialect-yaml.ts';
import { notesOf, presets } from '../../config/presets.ts';
import { protocolNames } from '../../protocols/all.ts';
import { shownUnits } from '../../protocols/metering/usage-units.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { notFound } from '../management/endpoint.ts';
import { count, listOf, yuan } from '../management/response-fields.ts';
import { filterText, yuanOrNull } from '../management/wire.ts';

interface ProviderAdminDependencies {
  /** Tests a provider; `null`: there is none with this id. Absent in processes that call no providers. */
  readonly testProvider?: (
    providerId: string,
    asked: { readonly model: string | null; readonly operation: string | null },
  ) => Promise<ProviderTest | null>;
  /** Returns `null` if there is no such provider. Absent in processes that do not call providers. */
  readonly searchDialect?: (providerId: string, model: string | null) => Promise<DialectSearch | null>;
  /** Returns `null` if there is no such provider. Absent in processes that do not call providers. */
  readonly listProviderModels?: (providerId: string) => Promise<ProviderModels | null>;
}

const providerTest = z.strictObject({ model: filterText.nullish(), operation: filterText.nullish() });

export function providerEndpoints(dependencies: ProviderAdminDependencies): AdminEndpoint[] {
  const { testProvider, searchDialect, listProviderModels } = dependencies;
  const listPresets = adminEndpoint({
    method: 'GET',
    path: '/provider-presets',
    summary: 'List the settings of known vendors, for new providers of the catalog',
    response: presetList,
    async run() {
      return { data: PRESETS };
    },
  });
  if (testProvider === undefined || searchDialect === undefined || listProviderModels === undefined)
    return [listPresets];
  return [
    listPresets,
    adminEndpoint({
      method: 'POST',
      path: '/providers/:id/test',
      // A test changes nothing in the gateway, but the provider charges for its calls.
      isChange: false,
      needs: 'change',
      summary: 'Test a provider with a minimal call for each of its credentials; the gateway charges nobody',
      body: providerTest,
      response: providerTestResponse,
      async run({ id, body }) {
        const test = await testProvider(id, { model: body.model ?? null, operation: body.operation ?? null });
        if (test === null) throw notFound('provider', id);
        return providerTestToWire(id, test);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/providers/:id/dialect',
      // As for a test: the provider charges for the calls.
      isChange: false,
      needs: 'change',
      summary: 'Find the dialect in which a provider takes translated requests, with about a dozen small calls',
      body: z.strictObject({ model: filterText.nullish() }),
      response: dialectSearchResponse,
      async run({ id, body }) {
        const search = await searchDialect(id, body.model ?? null);
        if (search === null) throw notFound('provider', id);
        return dialectSearchToWire(id, search);
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/providers/:id/models',
      // The gateway sends a request with a credential.
      needs: 'change',
      summary: 'Ask a provider for its list of models',
      response: providerModelsResponse,
      async run({ id }) {
        const list = await listProviderModels(id);
        if (list === null) throw notFound('provider', id);
        const { models, hasMore, message } = list;
        return { data: [...models], hasMore, message };
      },
    }),
  ];
}

const providerModelsResponse = z
  .strictObject({
    data: listOf(
      z.strictObject({
        id: z.string().describe('The provider’s name of the model.'),
        displayName: z.string().nullable(),
        contextLength: count.nullable().describe('In tokens; null: the provider does not report it.'),
        maxOutputTokens: count.nullable(),
      }),
    ),
    hasMore: z.boolean().describe('Whether the provider has more models than the list.'),
    message: z.string().nullable().describe('Why there is no list; null: there is one.'),
  })
  .meta({ id: 'ProviderModels' });

const providerPreset = z
  .strictObject({
    name: z.string(),
    title: z.string(),
    keyVariable: z.string().describe('The usual environment variable of the credential.'),
    notes: listOf(z.string()),
    providers: listOf(
      z.strictObject({
        name: z.string(),
        protocol: z.enum(protocolNames),
        baseUrl: z.string(),
        vendor: z.string().nullable(),
        auth: z.enum(['bearer', 'x-api-key', 'api-key']).nullable(),
        missingUsage: z.literal('estimate').nullable(),
        allows: listOf(z.string()),
        dialect: dialect.nullable(),
      }),
    ).describe('One entry for each protocol of the vendor.'),
  })
  .meta({ id: 'ProviderPreset' });

const presetList = z.strictObject({ data: listOf(providerPreset) });

const PRESETS: z.infer<typeof presetList>['data'] = presets.map((preset) => ({
  name: preset.name,
  title: preset.title,
  keyVariable: preset.keyVariable,
  notes: notesOf(preset),
  providers: preset.providers.map(({ vendor = null, auth = null, missingUsage = null, allows = [], ...provider }) => ({
    ...provider,
    ...{ vendor, auth, missingUsage, allows: [...allows] },
    dialect: provider.dialect ?? null,
  })),
}));

const providerTestResponse = z
  .strictObject({
    provider: z.string(),
    operation: z.string(),
    model: z.string().nullable(),
    providerModel: z.string(),
    priceRule: z.string().nullable(),
    results: listOf(
      z.strictObject({
        credential: z.string(),
        status: z.enum(['succeeded', 'failed']),
        httpStatus: z.int().nullable(),
        durationMs: z.number(),
        firstByteMs: z.number().nullable(),
        message: z.string().nullable(),
        usage: z.record(z.string(), count).nullable(),
        chargeYuan: yuan.nullable().describe('The charge of a call at the list price.'),
      }),
    ),
  })
  .meta({ id: 'ProviderTest' });

export type ProviderTestResponse = z.infer<typeof providerTestResponse>;

export function providerTestToWire(provider: string, { results, ...test }: ProviderTest): ProviderTestResponse {
  return {
    provider,
    ...test,
    results: results.map(({ isSuccess, usage, chargeNano, ...result }) => ({
      ...result,
      status: isSuccess ? ('succeeded' as const) : ('failed' as const),
      usage:
        usage === null
          ? null
          : Object.fromEntries([
              ...shownUnits.map((unit) => [unit, usage[unit]] as const),
              ['images', usage.images.reduce((sum, { count }) => sum + count, 0)] as const,
            ]),
      chargeYuan: yuanOrNull(chargeNano),
    })),
  };
}

const dialectSearchResponse = z
  .strictObject({
    provider: z.string(),
    protocol: z.enum(protocolNames),
    model: z.string().nullable(),
    providerModel: z.string(),
    trials: listOf(
      z.strictObject({
        tried: z.string().describe('The keys of the dialect that were tried, or what was asked.'),
        status: z.enum(['succeeded', 'failed']),
        httpStatus: z.int().nullable(),
        durationMs: z.number(),
        message: z.string().nullable().describe('The words of the provider, or what its response lacks.'),
      }),
    ),
    dialect: dialect.nullable().describe('The dialect with which all steps succeeded; null: there is none.'),
    yaml: z.string().nullable().describe('The dialect for the configuration; empty if the defaults suffice.'),
  })
  .meta({ id: 'DialectSearch' });

export type DialectSearchResponse = z.infer<typeof dialectSearchResponse>;

export function dialectSearchToWire(
  provider: string,
  { trials, dialect: found, ...search }: DialectSearch,
): DialectSearchResponse {
  return {
    provider,
    ...search,
    trials: trials.map(({ isSuccess, ...trial }) => ({ ...trial, status: isSuccess ? 'succeeded' : 'failed' })),
    dialect: found,
    yaml: found === null ? null : dialectYaml(found),
  };
}
