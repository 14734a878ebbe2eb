import type { OwnModel, Prices } from '../../api/types.ts';

type Price = OwnModel['price'] | Prices;

/** A price in yuan, or the factor of a term on the token prices. */
export interface PriceLine {
  /** Path in the price list, such as `above`, `128k`, `inputYuanPerMillion`. */
  readonly path: readonly string[];
  readonly value: string;
}

const TERMS = ['serviceTiers', 'speeds', 'inferenceGeos'] as const;
export type Term = (typeof TERMS)[number];

export function isTerm(name: string | undefined): name is Term {
  return TERMS.some((term) => term === name);
}

/**
 * The relevant lines of a price list: without prices that are zero or equal to their default, and without token prices if calls or images
 * are priced.
 */
export function priceLines(price: OwnModel['price']): PriceLine[] {
  const all = linesOf(price, []);
  const isPriced = (name: string): boolean => all.some(({ path }) => path[0] === name);
  const byOther = ['perCallYuan', 'perSearchUnitYuan', 'perImageYuan'].some(isPriced);
  return all.filter(({ path, value }) => {
    const name = path.at(-1)!;
    if (!name.endsWith('YuanPerMillion')) return true;
    if (byOther) return false;
    const standIn = STAND_INS.find(([side]) => name.toLowerCase().startsWith(side) || name.includes(capital(side)));
    if (standIn === undefined || standIn[1] === name) return name === 'inputYuanPerMillion' || value !== '0';
    return value !== all.find((each) => each.path.join() === [...path.slice(0, -1), standIn[1]].join())?.value;
  });
}

/** The default of a missing price: the input price for caches and all input, the output price for all output. */
const STAND_INS = [
  ['output', 'outputYuanPerMillion'],
  ['input', 'inputYuanPerMillion'],
  ['cache', 'inputYuanPerMillion'],
] as const;

const capital = (word: string): string => word[0]!.toUpperCase() + word.slice(1);

function linesOf(price: Price, path: readonly string[]): PriceLine[] {
  return Object.entries(price).flatMap(([name, value]) => {
    if (name === 'rule') return [];
    return typeof value === 'string' ? [{ path: [...path, name], value }] : linesOf(value as Prices, [...path, name]);
  });
}

interface MinuteRange {
  readonly fromMinute: number;
  readonly toMinute: number;
}

export function writeRange({ fromMinute, toMinute }: MinuteRange): string {
  return `${clock(fromMinute)}–${clock(toMinute)}`;
}

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

export function minuteIn(timezone: string, ms: number): number {
  const text = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' }).format(ms);
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return (hours % 24) * 60 + minutes;
}

export const DAY_MINUTES = 1440;

/** Splits ranges that cross midnight. */
export function partsOfDay(ranges: readonly MinuteRange[]): MinuteRange[] {
  return ranges.flatMap(({ fromMinute, toMinute }) =>
    fromMinute < toMinute
      ? [{ fromMinute, toMinute }]
      : [
          { fromMinute, toMinute: DAY_MINUTES },
          { fromMinute: 0, toMinute },
        ].filter((part) => part.fromMinute < part.toMinute),
  );
}
