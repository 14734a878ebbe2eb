import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { amountNano, imagePrices, startOfPrice } from './fields.ts';
import { providerCredential } from './provider-credentials.ts';
import { CATALOG_SECTIONS, type Config, configSchema } from './schema.ts';
import { membersOf, unwrapped } from './schema-members.ts';
import { NOT_SHOWN, showValue } from './shown.ts';
import { type UseLimitsConfig, useLimits } from './use-limits-schema.ts';

export interface CatalogChange {
  readonly section: (typeof CATALOG_SECTIONS)[number];
  /** Name of the provider, model, plan or group; `null` in sections without names. */
  readonly name: string | null;
  readonly kind: 'added' | 'removed' | 'changed';
  /**
   * Path of the setting, with names and numbers in brackets, such as `routes[acme/large-1].weight` or `price.above[200000].output`. `null`:
   * the change is that of a whole provider, model, plan or group.
   */
  readonly setting: string | null;
  /** The value before the change, as the file spells it, with its unit of money or percent; `null`: absent, secret, or several values. */
  readonly before: string | null;
  readonly after: string | null;
  /** Start of the prices, as in the file; `null`: the change takes effect together with the revision. */
  readonly from: string | null;
}

type Place = Pick<CatalogChange, 'section' | 'name' | 'setting' | 'from'>;
type Schema = z.core.$ZodType;

/** Returns the differences between the catalogs of two configurations; none if they are equal. */
export function difference(before: Config, after: Config): CatalogChange[] {
  return CATALOG_SECTIONS.flatMap((section) => {
    const schema = unwrapped(configSchema.shape[section]);
    const place = { section, name: null, setting: null, from: null };
    if (!(schema instanceof z.ZodRecord)) return compare(schema, before[section], after[section], place);
    const [old, now] = [before[section], after[section]] as [Record<string, unknown>, Record<string, unknown>];
    return keysOf(old, now).flatMap((name): CatalogChange[] => {
      const named = { ...place, name };
      if (now[name] === undefined) return [changed(named, 'present', undefined)];
      const changes = compare(schema.valueType, old[name], now[name], named);
      if (old[name] !== undefined) return changes;
      // If the whole object is new, only its amounts of money are listed, because a reviewer needs these.
      return [changed(named, undefined, 'present'), ...changes.filter(({ after: text }) => text?.startsWith('¥'))];
    });
  });
}

/** Describes a change without the values. */
function changed(place: Place, before: unknown, after: unknown): CatalogChange {
  const kind = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
  return { ...place, kind, before: null, after: null };
}

function compare(schema: Schema, before: unknown, after: unknown, place: Place): CatalogChange[] {
  const field = unwrapped(schema);
  const changes =
    field instanceof z.ZodObject || field instanceof z.ZodRecord
      ? compareMembers(field, before, after, place)
      : field instanceof z.ZodArray
        ? isCredential(field.element)
          ? compareCredentials(field.element, listOf(before).map(partsOf), listOf(after).map(partsOf), place)
          : compareItems(field.element, listOf(before), listOf(after), place)
        : isCredential(field)
          ? compareCredential(field, partsOf(before), partsOf(after), place)
          : compareTexts(field, before, after, place);
  // If no member differs, an empty section may still differ from an absent one.
  const isAbsentOnce = (before === undefined) !== (after === undefined);
  return changes.length === 0 && isAbsentOnce && place.setting !== null ? [changed(place, before, after)] : changes;
}

function compareMembers(
  field: z.ZodObject | z.ZodRecord,
  before: unknown,
  after: unknown,
  place: Place,
): CatalogChange[] {
  const [old, now] = [before, after].map((value) => (isRecord(value) ? value : {})) as [Fields, Fields];
  const isNamed = field instanceof z.ZodRecord;
  const schemas = new Map(membersOf(field, { ...old, ...now }).map(({ key, schema }) => [String(key), schema]));
  return [...schemas].flatMap(([key, schema]) => {
    if (unwrapped(schema)._zod.def === startOfPrice._zod.def) return [];
    const lists = unwrapped(schema);
    if (key === 'later' && lists instanceof z.ZodArray) return compareLater(lists.element, old, now, place);
    return compare(schema, old[key], now[key], { ...place, setting: below(place.setting, key, isNamed) });
  });
}

type Fields = Readonly<Record<string, unknown>>;

/** Compares price lists by their start: with the former list of this start, or else with the one that it replaces. */
function compareLater(schema: Schema, before: Fields, after: Fields, place: Place): CatalogChange[] {
  const [old, now] = [before, after].map(({ later }) => listOf(later) as Fields[]) as [Fields[], Fields[]];
  const starts = [...new Set([...old, ...now].map(({ from }) => String(from)))].sort();
  return starts.flatMap((from) => {
    const at = { ...place, from };
    const index = now.findIndex((list) => list.from === from);
    const former = old.find((list) => list.from === from);
    if (index < 0) return [changed(at, former, undefined)];
    if (former !== undefined) return compare(schema, former, now[index], at);
    const { later: _later, ...first } = after;
    const changes = compare(schema, now[index - 1] ?? first, now[index], at);
    return changes.length > 0 ? changes : [changed(at, undefined, now[index])];
  });
}

/** Compares lists item by item: routes by provider and model, other items by their text. A different order is a change, too. */
function compareItems(
  schema: Schema,
  before: readonly unknown[],
  after: readonly unknown[],
  place: Place,
): CatalogChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [old, now] = [before, after].map((items) => keyed(items.map((item) => [keyOfItem(schema, item), item])));
  const isText = !(unwrapped(schema) instanceof z.ZodObject);
  const changes = keysOf(Object.fromEntries(old!), Object.fromEntries(now!)).flatMap((key): CatalogChange[] => {
    const [former, present] = [old!.get(key), now!.get(key)];
    const item = { ...place, setting: below(place.setting, key, true) };
    if (former !== undefined && present !== undefined) return isText ? [] : compare(schema, former, present, item);
    if (!isText) return [changed(item, former, present)];
    const [was, is] = [former, present].map((value) => (value === undefined ? null : textOf(schema, value, place)));
    return [{ ...changed(place, former, present), before: was!, after: is! }];
  });
  const isHidden = [...before, ...after].some((item) => textOf(schema, item, place) === null);
  if (isText && isHidden) return [changed(place, before, after)];
  if (changes.length > 0) return changes;
  const [was, is] = [old!, now!].map((items) => [...items.keys()].join(', '));
  return was === is
    ? [changed(place, before, after)]
    : [{ ...changed(place, before, after), before: was!, after: is! }];
}

const isCredential = (schema: Schema): boolean => unwrapped(schema)._zod.def === providerCredential._zod.def;

interface CredentialParts {
  /** The credential without its limits; `undefined`: it is absent. */
  readonly credential: unknown;
  readonly limits: UseLimitsConfig | undefined;
}

function partsOf(value: unknown): CredentialParts {
  if (!isRecord(value)) return { credential: value, limits: undefined };
  const { limits, ...reference } = value;
  const credential = 'isLiteral' in reference ? reference.value : reference;
  return { credential, limits: limits as UseLimitsConfig | undefined };
}

function compareCredential(
  schema: Schema,
  before: CredentialParts,
  after: CredentialParts,
  place: Place,
): CatalogChange[] {
  return [
    ...compareTexts(schema, before.credential, after.credential, place),
    ...compareLimits(before, after, { ...place, setting: below(place.setting, 'limits', false) }),
  ];
}

/** Compares a list of credentials, and the limits of each that the list has afterwards: by its reference, or else its number. */
function compareCredentials(
  schema: Schema,
  before: readonly CredentialParts[],
  after: readonly CredentialParts[],
  place: Place,
): CatalogChange[] {
  const [old, now] = [before, after].map((items) => items.map(({ credential }) => credential));
  const limits = after.flatMap((present, index): CatalogChange[] => {
    const former = before.find(({ credential }) => isDeepStrictEqual(credential, present.credential));
    const name = textOf(schema, present.credential, place) ?? String(index + 1);
    const setting = below(below(place.setting, name, true), 'limits', false);
    return compareLimits(former ?? { credential: undefined, limits: undefined }, present, { ...place, setting });
  });
  return [...compareItems(schema, old!, now!, place), ...limits];
}

function compareLimits({ limits: before }: CredentialParts, { limits: after }: CredentialParts, place: Place) {
  return before === undefined && after === undefined ? [] : compare(useLimits, before, after, place);
}

/** Returns items by key. Repeated keys get a number. */
function keyed(items: readonly (readonly [key: string, item: unknown])[]): Map<string, unknown> {
  const map = new Map<string, unknown>();
  for (const [key, item] of items) {
    let name = key;
    for (let number = 2; map.has(name); number++) name = `${key} #${number}`;
    map.set(name, item);
  }
  return map;
}

function keyOfItem(schema: Schema, item: unknown): string {
  if (!isRecord(item) || !(unwrapped(schema) instanceof z.ZodObject)) return wordsOfValue(showValue(schema, item));
  return `${String(item.provider)}/${String(item.model)}`;
}

function compareTexts(schema: Schema, before: unknown, after: unknown, place: Place): CatalogChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (schema._zod.def === IMAGE_PRICES) {
    const changes = compareImagePrices(tableOf(before), tableOf(after), place);
    return changes.length > 0 ? changes : [changed(place, before, after)];
  }
  const [was, is] = [before, after].map((value) => (value === undefined ? null : textOf(schema, value, place)));
  const change = changed(place, before, after);
  // If both values have the same text, they differ in something that is not shown.
  return [was === is ? change : { ...change, before: was!, after: is! }];
}

const IMAGE_PRICES = imagePrices._zod.def;

function compareImagePrices(before: Fields, after: Fields, place: Place): CatalogChange[] {
  return keysOf(before, after).flatMap((key) => {
    const [was, is] = [before[key], after[key]];
    const at = { ...place, setting: key === 'default' ? place.setting : below(place.setting, key, true) };
    return compareTexts(isRecord(was) || isRecord(is) ? imagePrices : amountNano, was, is, at);
  });
}

/** Converts image prices to a table. A single price is a table that only has a default. */
function tableOf(prices: unknown): Fields {
  return isRecord(prices) ? prices : prices === undefined ? {} : { default: prices };
}

/** Returns a value as the file spells it; `null` if it is secret. */
function textOf(schema: Schema, value: unknown, { setting }: Place): string | null {
  const text = wordsOfValue(showValue(schema, value));
  if (text.includes(NOT_SHOWN)) return null;
  if (setting?.endsWith('BasisPoints')) return String(Number(value) / 100).concat(' %');
  return unwrapped(schema)._zod.def === amountNano._zod.def ? '¥'.concat(text) : text;
}

function wordsOfValue(shown: unknown): string {
  return isRecord(shown) ? Object.entries(shown).flat().join(' ') : String(shown);
}

function below(setting: string | null, key: string, isNamed: boolean): string {
  if (isNamed) return `${setting ?? ''}[${key}]`;
  return setting === null ? key : `${setting}.${key}`;
}

function keysOf(before: Fields, after: Fields): string[] {
  return Object.keys({ ...before, ...after });
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
