import { z } from 'zod';
import type { ProviderTest } from '../../calls/provider-test.ts';
import { shownUnits } from '../../protocols/metering/usage-units.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { notFound } from '../management/endpoint.ts';
import { count, listOf, yuan } from '../management/response-fields.ts';
import { filterText, yuanOrNull } from '../management/wire.ts';

interface ProviderAdminDependencies {
  /** Returns `null` if there is no such provider. Absent in processes that do not call providers. */
  readonly testProvider?: (
    providerId: string,
    asked: { readonly model: string | null; readonly operation: string | null },
  ) => Promise<ProviderTest | null>;
}

const providerTest = z.strictObject({ model: filterText.nullish(), operation: filterText.nullish() });

export function providerEndpoints({ testProvider }: ProviderAdminDependencies): AdminEndpoint[] {
  if (testProvider === undefined) return [];
  return [
    adminEndpoint({
      method: 'POST',
      path: '/providers/:id/test',
      // A test changes nothing in the gateway, although the provider charges for its calls.
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
  ];
}

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
