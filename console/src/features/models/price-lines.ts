import type { OwnModel, Prices } from '../../api/types.ts';

type Price = OwnModel['price'] | Prices;

/** A line of a price list: what is priced, and the amount in yuan or, of a term, the factor on the prices of tokens. */
export interface PriceLine {
  /** The path of names to the price, such as `above`, `128k`, `inputYuanPerMillion`. */
  readonly path: readonly string[];
  readonly value: string;
}

const TERMS = ['serviceTiers', 'speeds', 'inferenceGeos'] as const;
export type Term = (typeof TERMS)[number];

/** Whether a line is a factor on prices rather than a price. */
export function isTerm(name: string | undefined): name is Term {
  return TERMS.some((term) => term === name);
}

/** The lines of a price list that say something: not those that are as another one, nor of tokens where calls or images are priced. */
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

/** What is charged in place of a price that the list lacks: caches and all that comes in as input, all that goes out as output. */
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

/** A part of a day. */
interface MinuteRange {
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** `09:00-21:00`. */
export function writeRange({ fromMinute, toMinute }: MinuteRange): string {
  return `${clock(fromMinute)}–${clock(toMinute)}`;
}

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

/** The minute of the day in a time zone. */
export function minuteIn(timezone: string, ms: number): number {
  const text = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' }).format(ms);
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return (hours % 24) * 60 + minutes;
}

export const DAY_MINUTES = 1440;

/** The parts of a day that ranges fill, cut at midnight if one crosses it. */
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
