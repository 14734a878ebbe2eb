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

/** The lines of a price list, nested ones by their path. */
export function priceLines(price: Price, path: readonly string[] = []): PriceLine[] {
  return Object.entries(price).flatMap(([name, value]) => {
    if (name === 'rule') return [];
    return typeof value === 'string'
      ? [{ path: [...path, name], value }]
      : priceLines(value as Prices, [...path, name]);
  });
}

/** `09:00-21:00`. */
export function writeRange({
  fromMinute,
  toMinute,
}: {
  readonly fromMinute: number;
  readonly toMinute: number;
}): string {
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

const DAY_MINUTES = 1440;

/** The parts of a day that ranges fill, cut at midnight where one crosses it. */
export function partsOfDay(
  ranges: readonly { readonly fromMinute: number; readonly toMinute: number }[],
): { readonly fromMinute: number; readonly toMinute: number }[] {
  return ranges.flatMap(({ fromMinute, toMinute }) =>
    fromMinute < toMinute
      ? [{ fromMinute, toMinute }]
      : [
          { fromMinute, toMinute: DAY_MINUTES },
          { fromMinute: 0, toMinute },
        ].filter((part) => part.fromMinute < part.toMinute),
  );
}
