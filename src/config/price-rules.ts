import { isRecord } from '../lib/json/json.ts';
import { pricedUnits } from '../protocols/metering/usage-units.ts';
import { findOperation } from '../protocols/operations/all.ts';
import type { Path } from './document.ts';
import { entries, field, items, member, type RuleBreach } from './rule-values.ts';

/** This file has the rules of prices and costs. */

/** Returns the alternative lists of prices for an operation. One of them must be complete. */
function neededPrices(operation: unknown): readonly (readonly string[])[] {
  return findOperation(String(operation))?.charge.flatMap(({ prices }) => prices) ?? [];
}

export function priceBreaches(id: string, model: unknown): RuleBreach[] {
  const operations = items(model, 'operations').map(([operation]) => operation);
  return priceListBreaches(['models', id, 'price'], field(model, 'price'), operations);
}

/** Checks that a cost has the prices for the operations that its provider serves. */
export function costBreaches(
  id: string,
  model: unknown,
  providers: readonly (readonly [string, unknown])[],
): RuleBreach[] {
  const operations = items(model, 'operations').map(([operation]) => operation);
  return items(model, 'routes').flatMap(([route, index]): RuleBreach[] => {
    const provider = providers.find(([name]) => name === field(route, 'provider'))?.[1];
    const served = operations.filter(
      (operation) => findOperation(String(operation))?.protocol.name === field(provider, 'protocol'),
    );
    return priceListBreaches(['models', id, 'routes', index, 'cost'], field(route, 'cost'), served);
  });
}

export function priceListBreaches(root: Path, price: unknown, operations: readonly unknown[]): RuleBreach[] {
  const breaches = priceLists(price).flatMap((list) => {
    const prices = list.reduce(member, price);
    if (!isRecord(prices)) return [];
    const path = [...root, ...list];
    if (prices.perCall !== undefined && prices.perSearchUnit !== undefined) {
      return [{ path: [...path, 'perCall'], message: 'Set either "perCall" or "perSearchUnit", not both.' }];
    }
    const replacementBreaches = [
      ...runPriceBreaches(path, prices, prices),
      ...entries(prices, 'above').flatMap(([length, replacement]) => [
        ...lengthBreaches([...path, 'above', length], length),
        ...samePriceBreaches([...path, 'above', length], replacement, prices),
        ...runPriceBreaches([...path, 'above', length], replacement, prices),
      ]),
    ];
    if (replacementBreaches.length > 0) return replacementBreaches;
    return operations.flatMap((operation): RuleBreach[] => {
      const choices = neededPrices(operation);
      if (choices.length === 0 || choices.some((names) => names.every((name) => prices[name] !== undefined))) return [];
      const missing = choices[0]!.find((name) => prices[name] === undefined)!;
      const alternatives = choices.map((names) => names.join(' and ')).join(', or ');
      return [
        {
          path: [...path, missing],
          message: `This key is required: ${String(operation)} is charged by ${alternatives}.`,
        },
      ];
    });
  });
  return [...laterBreaches(root, price), ...breaches];
}

/** Returns the paths of the price lists in a price: its own, those of times of day, and those of later prices. */
function priceLists(price: unknown): Path[] {
  const own: Path[] =
    field(price, 'timeOfDay') === undefined ? [[]] : [[], ['timeOfDay', 'peak'], ['timeOfDay', 'offPeak']];
  const later = items(price, 'later').flatMap(([list, index]) =>
    priceLists(list).map((path): Path => ['later', index, ...path]),
  );
  return [...own, ...later];
}

/** Checks that later prices are in the order of their starts. A day and an instant are compared later, when prices are compiled. */
function laterBreaches(root: Path, price: unknown): RuleBreach[] {
  const starts = items(price, 'later').map(([list]) => field(list, 'from'));
  return starts.flatMap((from, index): RuleBreach[] => {
    const before = starts[index - 1];
    if (typeof from !== 'string' || typeof before !== 'string' || Date.parse(before) < Date.parse(from)) return [];
    return [{ path: [...root, 'later', index, 'from'], message: `This must be later than "${before}" before it.` }];
  });
}

const TOKEN_PRICE_KEYS = pricedUnits.flatMap(({ price }) => (price.per === 'million' ? [price.key] : []));
const TOKEN_LENGTH = /^[1-9]\d{0,8}$/;

/** Checks prices that depend on reasoning or on the length of the output. */
function runPriceBreaches(path: Path, list: unknown, prices: Record<string, unknown>): RuleBreach[] {
  const thinking = field(list, 'thinking');
  const lengths = entries(list, 'outputAbove');
  if (thinking !== undefined && lengths.length > 0) {
    const message = 'Set either "thinking" or "outputAbove" in a price list, not both.';
    return [{ path: [...path, 'thinking'], message }];
  }
  return [
    ...samePriceBreaches([...path, 'thinking'], thinking, prices),
    ...lengths.flatMap(([length, replacement]) => [
      ...lengthBreaches([...path, 'outputAbove', length], length),
      ...samePriceBreaches([...path, 'outputAbove', length], replacement, prices),
    ]),
  ];
}

function lengthBreaches(path: Path, length: string): RuleBreach[] {
  return TOKEN_LENGTH.test(length) ? [] : [{ path, message: 'Expected a number of tokens such as "200000".' }];
}

/** Checks that replacement prices have the same keys as the list: a missing one could mean "unchanged" or "as input". */
function samePriceBreaches(path: Path, replacement: unknown, prices: Record<string, unknown>): RuleBreach[] {
  if (!isRecord(replacement)) return [];
  return TOKEN_PRICE_KEYS.flatMap((key): RuleBreach[] => {
    if ((replacement[key] === undefined) === (prices[key] === undefined)) return [];
    const message =
      replacement[key] === undefined
        ? 'This key is required here, because the price list contains it.'
        : 'This key is not allowed here, because the price list does not contain it.';
    return [{ path: [...path, key], message }];
  });
}
