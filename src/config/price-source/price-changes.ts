import { isRecord } from '../../lib/json/json.ts';
import { parseYuan } from '../../lib/yuan.ts';
import type { Config } from '../schema.ts';
import type { Edit, EditPath } from '../yaml-text.ts';
import { type FollowedModel, keyOf, type Lookup } from './lookups.ts';
import type { PriceList } from './price-file.ts';
import type { SourcePrices } from './source-prices.ts';

/** A model, or a route of it, whose price does not follow the source, or only in part. */
export interface NotFollowed {
  readonly model: string;
  readonly why: string;
}

/** How the prices of one model follow the source. */
export interface ModelChange {
  readonly model: string;
  readonly edits: readonly Edit[];
  /** Whether each change is a change of an amount by at most the given percentage. */
  isWithin(percent: number): boolean;
}

export interface PriceChanges {
  readonly changes: readonly ModelChange[];
  readonly notFollowed: readonly NotFollowed[];
}

/** Amounts in nano-yuan, or factors in billionths. `null`: the list of a step is replaced. */
type Change = { readonly before: bigint; readonly after: bigint } | null;

interface ListChanges {
  readonly edits: readonly Edit[];
  readonly changes: readonly Change[];
  /** Prices of the source that the list lacks. */
  readonly lacks: readonly string[];
}

/**
 * The edits of the catalog that give it the prices of the source. They change prices that the catalog has, and add none: a missing price has a meaning,
 * such as cached input that costs as input.
 */
export function priceChanges(
  { models }: Pick<Config, 'models'>,
  followed: readonly FollowedModel[],
  prices: SourcePrices,
): PriceChanges {
  const notFollowed: NotFollowed[] = [];
  const changes = followed.flatMap(({ model, price, costs }): ModelChange[] => {
    const settings = models[model]!;
    const lists: ListChanges[] = [];
    const follow = (lookup: Lookup, kind: 'cost' | 'price', path: EditPath, list: unknown): void => {
      const found = prices.get(keyOf(lookup)) ?? 'the source does not have it';
      const read = typeof found === 'string' ? found : listChanges(path, list, found[kind], found.asInput);
      const place = kind === 'price' ? '' : `cost of ${lookup.name}: `;
      if (typeof read === 'string') notFollowed.push({ model, why: `${place}${read}` });
      else {
        lists.push(read);
        if (read.lacks.length > 0) {
          notFollowed.push({
            model,
            why: `${place}the source also has prices that the catalog lacks: ${read.lacks.join(', ')}`,
          });
        }
      }
    };
    if (price === null) notFollowed.push({ model, why: 'no address of its providers is one of a known vendor' });
    else follow(price, 'price', ['models', model, 'price'], settings.price);
    for (const { route, lookup } of costs) {
      follow(lookup, 'cost', ['models', model, 'routes', route, 'cost'], settings.routes[route]!.cost);
    }
    const edits = lists.flatMap((list) => list.edits);
    const amounts = lists.flatMap((list) => list.changes);
    return edits.length === 0
      ? []
      : [{ model, edits, isWithin: (percent) => amounts.every((each) => isWithin(each, percent)) }];
  });
  return { changes, notFollowed };
}

function isWithin(change: Change, percent: number): boolean {
  if (change === null) return false;
  const { before, after } = change;
  const by = after > before ? after - before : before - after;
  return by * 100n <= before * BigInt(percent);
}

type Fields = Readonly<Record<string, unknown>>;

/** Tables of factors by the name of a term. */
const TABLES = ['serviceTiers', 'speeds', 'inferenceGeos'] as const;

/** @returns the changes, or the reason why the list cannot follow the source */
function listChanges(
  path: EditPath,
  list: unknown,
  source: PriceList,
  asInput: readonly string[],
): ListChanges | string {
  const present = list as Fields;
  const reason = reasonOf(present);
  if (reason !== null) return reason;
  const { above, perImage, ...others } = source;
  const stated: Record<string, unknown> = { ...others };
  for (const name of asInput) stated[name] = source.input;
  const edits: Edit[] = [];
  const changes: Change[] = [];
  const lacks: string[] = [];
  /** Prices that would not fit, or are so small that they would be free. */
  const absurd: string[] = [];
  const compare = (place: EditPath, before: unknown, after: string): void => {
    const amount = parseYuan(after);
    if (typeof before !== 'bigint' || amount === before) return;
    if (amount === null || amount === 0n) {
      absurd.push(place.join('.'));
      return;
    }
    edits.push({ path: [...path, ...place], value: after });
    changes.push({ before, after: amount });
  };
  for (const [key, value] of Object.entries(stated)) {
    const own = present[key];
    if (own === undefined) {
      if (!asInput.includes(key)) lacks.push(key);
    } else if (typeof value === 'string') compare([key], own, value);
    else if (isRecord(value) && isRecord(own) && (TABLES as readonly string[]).includes(key)) {
      for (const [term, factor] of Object.entries(value)) compare([key, term], own[term], String(factor));
    }
  }

  if (isRecord(perImage)) {
    const own = present.perImage as Fields | undefined;
    if (own === undefined) lacks.push('perImage');
    else if (Object.keys(own).some((key) => key !== 'default')) return 'its prices of images depend on quality or size';
    else compare(['perImage'], own.default, String(perImage.default));
  }

  const own = stepsIn(present);
  if (own === null) {
    if (above !== undefined) lacks.push('above');
  } else {
    if (!isRecord(above)) return 'the source has no prices by the length of the input';
    const steps = stepsOf(own, above, asInput);
    if (typeof steps === 'string') return steps;
    const isSameSteps =
      Object.keys(own).length === Object.keys(steps).length &&
      Object.keys(steps).every((key) => Object.hasOwn(own, key));
    if (isSameSteps) {
      for (const [length, step] of Object.entries(steps)) {
        for (const [key, value] of Object.entries(step)) compare(['above', length, key], own[length]![key], value);
      }
    } else {
      edits.push({ path: [...path, 'above'], value: steps });
      changes.push(null);
    }
  }
  if (absurd.length > 0) return `the source has an impossible price of ${absurd.join(', ')}`;
  return { edits, changes, lacks };
}

/** Why a list cannot follow a price file, which has no such prices; `null`: it can. */
function reasonOf(present: Fields): string | null {
  if (present.timeOfDay !== undefined) return 'its prices depend on the time of day';
  if (present.later !== undefined) return 'it has later prices';
  const lists = [present, ...Object.values(stepsIn(present) ?? {})];
  const isByRun = lists.some(({ thinking, outputAbove }) => thinking !== undefined || outputAbove !== undefined);
  return isByRun ? 'its prices depend on reasoning or the length of the output' : null;
}

/** The price lists by the length of the input; `null`: there are none. */
function stepsIn({ above = {} }: Fields): Readonly<Record<string, Fields>> | null {
  const steps = above as Readonly<Record<string, Fields>>;
  return Object.keys(steps).length === 0 ? null : steps;
}

/** The steps of the source with the prices that the list has, because each step has all prices of tokens of its list. */
function stepsOf(
  own: Readonly<Record<string, Fields>>,
  above: PriceList,
  asInput: readonly string[],
): Record<string, Record<string, string>> | string {
  const keys = Object.keys(Object.values(own)[0]!);
  const steps: Record<string, Record<string, string>> = {};
  for (const [length, given] of Object.entries(above)) {
    const step: Record<string, string> = {};
    for (const key of keys) {
      const price = isRecord(given) ? (given[key] ?? (asInput.includes(key) ? given.input : undefined)) : undefined;
      if (typeof price !== 'string') return `the source has no price of ${key} above ${length} tokens`;
      step[key] = price;
    }
    steps[length] = step;
  }
  return steps;
}
