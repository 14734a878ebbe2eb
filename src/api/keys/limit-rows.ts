import type { z } from 'zod';
import type { OwnerUse } from '../../accounting/reservations/limits/key-day.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { yuan } from '../management/response-fields.ts';
import { capYuan, yuanOrNull } from '../management/wire.ts';

/** Limits of keys and members as rows: the members of requests and responses follow from them. */

interface LimitRow {
  /** The member of requests and responses. */
  readonly name: string;
  readonly asked: z.ZodType;
  readonly shown: z.ZodType;
  toWire(limit: never): string | number | null;
}

/** By the name under which a limit is stored. */
type LimitRows = Readonly<Record<string, LimitRow>>;
type Members<Rows extends LimitRows, Part extends 'asked' | 'shown'> = {
  [Limit in keyof Rows as Rows[Limit]['name']]: Rows[Limit][Part];
};
type Values<Rows extends LimitRows> = { readonly [Limit in keyof Rows]: Parameters<Rows[Limit]['toWire']>[0] };
type Asked<Rows extends LimitRows> = {
  readonly [Limit in keyof Rows as Rows[Limit]['name']]?: Values<Rows>[Limit] | undefined;
};
type OnWire<Rows extends LimitRows> = {
  [Limit in keyof Rows as Rows[Limit]['name']]: ReturnType<Rows[Limit]['toWire']>;
};

const amount = <const Name extends string>(name: Name) => ({
  name,
  asked: capYuan.nullish(),
  shown: yuan.nullable(),
  toWire: yuanOrNull,
});

/** Maximum spend per period, for all models together or for one. */
export const SPEND_CAPS = {
  dailySpendCapNano: amount('dailySpendCapYuan'),
  weeklySpendCapNano: amount('weeklySpendCapYuan'),
  monthlySpendCapNano: amount('monthlySpendCapYuan'),
  totalSpendCapNano: amount('totalSpendCapYuan'),
};

/** Spend in the periods of `SPEND_CAPS`. */
export const usedSpend = {
  dailySpendYuan: yuan,
  weeklySpendYuan: yuan,
  monthlySpendYuan: yuan,
  totalSpendYuan: yuan,
};

export const spendToWire = (use: OwnerUse): Record<keyof typeof usedSpend, string> => ({
  dailySpendYuan: formatYuan(use.spentNano),
  weeklySpendYuan: formatYuan(use.weekSpentNano),
  monthlySpendYuan: formatYuan(use.monthSpentNano),
  totalSpendYuan: formatYuan(use.totalSpentNano),
});

export function membersOf<Rows extends LimitRows, Part extends 'asked' | 'shown'>(
  rows: Rows,
  part: Part,
): Members<Rows, Part> {
  return Object.fromEntries(Object.values(rows).map((row) => [row.name, row[part]])) as Members<Rows, Part>;
}

/** Returns the limits of a request. An absent one is `undefined`. */
export function limitsIn<Rows extends LimitRows>(
  rows: Rows,
  body: Asked<Rows>,
): { readonly [Limit in keyof Rows]: Values<Rows>[Limit] | undefined } {
  const asked = body as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(rows).map(([limit, { name }]) => [limit, asked[name]])) as {
    readonly [Limit in keyof Rows]: Values<Rows>[Limit] | undefined;
  };
}

export function rowsToWire<Rows extends LimitRows>(rows: Rows, limits: Values<Rows>): OnWire<Rows> {
  return Object.fromEntries(
    Object.entries(rows).map(([limit, { name, toWire }]) => [name, toWire(limits[limit] as never)]),
  ) as OnWire<Rows>;
}
