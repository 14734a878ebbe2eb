import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { presetConfig } from '../../src/config/preset-config.ts';
import { type Preset, presets } from '../../src/config/presets.ts';
import type { OperationName } from '../../src/protocols/operations/all.ts';
import { operationOf } from '../../src/protocols/operations/all.ts';
import { type Catalog, createCatalog } from '../../src/providers/catalog/catalog.ts';

/** The corpus of responses as the documents of vendors print them (`test/fixtures/dialects/README.md`). */
export interface Dialect {
  /** Its folder and file: `moonshot/chat-cached-whole`. */
  readonly name: string;
  readonly document: string;
  readonly date: string;
  readonly protocol: string;
  /** Of images: the operation. */
  readonly operation?: 'images.generate' | 'images.edit';
  readonly isStream: boolean;
  readonly request: Readonly<Record<string, unknown>>;
  /** As in a configuration. */
  readonly prices: Readonly<Record<string, unknown>>;
  /** The most pictures that are billed. */
  readonly pictures?: number;
  /** The lines of the vendor's bill: a quantity and the price of each, in nano-yuan. */
  readonly bill?: readonly (readonly [quantity: number, priceNano: number])[];
  /** Their sum; `null`: the response cannot be billed, so that it is withheld, as far as it has not been delivered. */
  readonly billNano: string | null;
  /** Of a stream of images: what has been delivered with each event and those before it, at its price. */
  readonly deliveredNano?: readonly string[];
  /** What the record of the call marks as used without a price. */
  readonly unpriced?: readonly string[];
  readonly working: string;
  /** The response. */
  readonly body: Buffer;
}

const folder = new URL('../fixtures/dialects/', import.meta.url);

/** All cases of all vendors. */
export function dialects(): Dialect[] {
  const vendors = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return vendors.flatMap(({ name: vendor }) =>
    readdirSync(new URL(`${vendor}/`, folder)).flatMap((file): Dialect[] => {
      if (!file.endsWith('.json') || file.endsWith('.response.json')) return [];
      const name = `${vendor}/${file.slice(0, -'.json'.length)}`;
      const read = (path: string): Buffer => readFileSync(new URL(path, folder));
      const each = JSON.parse(read(`${name}.json`).toString(), repeated) as Omit<Dialect, 'name' | 'body'>;
      return [{ ...each, name, body: read(each.isStream ? `${name}.stream.txt` : `${name}.response.json`) }];
    }),
  );
}

/** A long text of a request is kept as its beginning, and how often it comes. */
function repeated(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'text,times') return value;
  const { text, times } = value as { text: string; times: number };
  return text.repeat(times);
}

/** The sum of the lines of a bill. */
export function billedNano({ bill = [] }: Dialect): bigint {
  return bill.reduce((sum, [quantity, priceNano]) => sum + BigInt(quantity) * BigInt(priceNano), 0n);
}

/** The preset of the vendor, whose folder has its name or that of price files; `null` if there is none. */
export function presetOf({ name }: Dialect): Preset | null {
  const [vendor] = name.split('/');
  return presets.find((preset) => preset.name === vendor || preset.priceFileNames.includes(vendor!)) ?? null;
}

export const operationNameOf = ({ operation, protocol }: Dialect): OperationName =>
  operation ?? (protocol as OperationName);

/**
 * A catalog with a model for each of them, `m0` and so on, at its prices, over the provider that `faregate init --provider` writes for its
 * vendor. Vendors without a preset, and what a preset's addresses do not serve, have a provider of their own.
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
