import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { presetConfig } from '../../src/config/preset-files.ts';
import { type Preset, presets } from '../../src/config/presets.ts';
import { type OperationName, operationOf } from '../../src/protocols/operations/all.ts';
import { type Catalog, createCatalog } from '../../src/providers/catalog/catalog.ts';
import type { Dialect } from './dialects.ts';

/** Vendors in the corpus, configured by their presets. */

/** The preset of a vendor; the folder has its name or the name of its price files. `null` if there is none. */
export function presetOf({ name }: Dialect): Preset | null {
  const [vendor] = name.split('/');
  return presets.find((preset) => preset.name === vendor || preset.priceFileNames.includes(vendor!)) ?? null;
}

export const operationNameOf = ({ operation, protocol }: Dialect): OperationName =>
  operation ?? (protocol as OperationName);

/**
 * A catalog with a model for each case, named `m0` and so on, at the case's prices, with the provider that `faregate init --provider`
 * writes for the vendor. Vendors without a preset, and endpoints that a preset does not cover, have a provider of their own.
 */
export function catalogOf(all: readonly Dialect[], settings: object): Catalog {
  const written = presets.map((preset) => (parse(presetConfig(preset)) as { providers: object }).providers);
  const other = { protocol: 'chat', baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'provider-secret-key-1' };
  const models = all.map((dialect, i) => [
    `m${i}`,
    {
      operations: [operationNameOf(dialect)],
      price: dialect.prices,
      ...settings,
      routes: [{ provider: providerOf(dialect) ?? 'other', model: 'm' }],
    },
  ]);
  const keys = presets.map(({ keyVariable }) => [keyVariable, 'provider-secret-key-1']);
  return createCatalog(
    parseConfig(
      JSON.stringify({ providers: Object.assign({ other }, ...written), models: Object.fromEntries(models) }),
      'dialects.yaml',
      Object.fromEntries(keys),
    ),
  );
}

function providerOf(dialect: Dialect): string | null {
  const [preset, operation] = [presetOf(dialect), operationNameOf(dialect)];
  if (preset === null || preset.lacks?.includes(operation)) return null;
  const { name: protocol } = operationOf(operation).protocol;
  const provider = preset.providers.find((each) => each.protocol === protocol);
  assert.ok(provider !== undefined, `${dialect.name}: the preset ${preset.name} does not speak ${protocol}`);
  return provider.name;
}
