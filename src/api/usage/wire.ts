import { z } from 'zod';
import { CALLER_VALUES_MAX } from '../../accounting/usage/caller-sums-store.ts';
import {
  CALLER_DIMENSIONS,
  type Dimension,
  dimensions,
  isCallerDimension,
  WITH_CALLER,
} from '../../accounting/usage/group-sums-store.ts';
import type { UsagePlace } from '../../accounting/usage/usage.ts';
import type { UsageRow } from '../../accounting/usage/usage-store.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { parseJson } from '../../lib/json/json.ts';
import { isStorable } from '../../lib/plain-text.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { shownUnits } from '../../protocols/metering/usage-units.ts';
import { readGroupBy } from '../management/group-by.ts';
import { count, yuan } from '../management/response-fields.ts';
import { yuanOrNull } from '../management/wire.ts';
import { MEMBERS } from './columns.ts';
import { marginBasisPoints } from './margin-share.ts';

export const COUNTED_UNITS = [...shownUnits, 'images'] as const;

const dimensionMembers = [...Object.values(MEMBERS), 'accountName', 'keyName', 'keyPrefix'] as const;

const share = (what: string) =>
  z.int().nullable().describe(`${what}, in basis points; null: unknown, or there is no revenue.`);

export const usageRowResponse = z
  .strictObject({
    ...(Object.fromEntries(dimensionMembers.map((name) => [name, z.string().nullable().optional()])) as {
      [Name in (typeof dimensionMembers)[number]]: z.ZodOptional<z.ZodNullable<z.ZodString>>;
    }),
    calls: count,
    chargeYuan: yuan,
    refundYuan: yuan,
    netChargeYuan: yuan,
    planRevenueYuan: yuan
      .nullable()
      .describe(
        'The prices of plans, distributed over their periods; null: not known for groups by key, model, provider or status.',
      ),
    costYuan: yuan,
    planCostYuan: yuan.describe('The part of the cost that calls on plans caused.'),
    marginYuan: yuan
      .nullable()
      .describe('The margin of balance and plans; null: the cost of some calls or the plan revenue is unknown.'),
    balanceMarginYuan: yuan.nullable().describe('Net charge minus the cost of calls on the balance.'),
    planMarginYuan: yuan.nullable().describe('Plan revenue minus the cost of calls on plans.'),
    marginBasisPoints: share('The margin as a share of net charge and plan revenue'),
    balanceMarginBasisPoints: share('The balance margin as a share of the net charge'),
    planMarginBasisPoints: share('The plan margin as a share of the plan revenue'),
    costedNetChargeYuan: yuan.describe(
      'The part of the net charge from days, models and providers whose calls on the balance all have a known cost.',
    ),
    costedMarginYuan: yuan.describe('That part of the net charge minus its cost.'),
    costedMarginBasisPoints: share('That margin as a share of that part of the net charge'),
    callsWithoutCost: count,
    heldYuan: yuan,
    usage: z.record(z.string(), count).describe(`Counts by unit: ${COUNTED_UNITS.join(', ')}.`),
  })
  .meta({
    id: 'UsageGroup',
    description:
      'Sums of a group of calls. It has a member for each requested dimension. A null `endUser`, `program` or `tag` is the group of all values ' +
      `beyond the first ${CALLER_VALUES_MAX} of an account and a day.`,
  });
export type UsageRowResponse = z.infer<typeof usageRowResponse>;

/** Returns the amounts of a row. The margin is known only if the cost of every call with usage is known and, for plans, the revenue. */
function amountsOf(row: UsageRow, hasRevenue: boolean) {
  const { chargeNano, refundNano, costNano, uncostedCalls, planCalls, planCostNano, planUncostedCalls } = row;
  const netNano = chargeNano - refundNano;
  const revenueNano = hasRevenue ? row.planRevenueNano : null;
  const balanceNano = uncostedCalls > planUncostedCalls ? null : netNano - (costNano - planCostNano);
  const planNano = planUncostedCalls > 0 || revenueNano === null ? null : revenueNano - planCostNano;
  const ofPlans = planNano ?? (planCalls === 0 ? 0n : null);
  const marginNano = balanceNano === null || ofPlans === null ? null : balanceNano + ofPlans;
  const costedMarginNano = row.costedNetNano - row.costedCostNano;
  return {
    chargeYuan: formatYuan(chargeNano),
    refundYuan: formatYuan(refundNano),
    netChargeYuan: formatYuan(netNano),
    planRevenueYuan: yuanOrNull(revenueNano),
    costYuan: formatYuan(costNano),
    planCostYuan: formatYuan(planCostNano),
    marginYuan: yuanOrNull(marginNano),
    balanceMarginYuan: yuanOrNull(balanceNano),
    planMarginYuan: yuanOrNull(planNano),
    marginBasisPoints: marginBasisPoints(marginNano, netNano + (revenueNano ?? 0n)),
    balanceMarginBasisPoints: marginBasisPoints(balanceNano, netNano),
    planMarginBasisPoints: marginBasisPoints(planNano, revenueNano ?? 0n),
    costedNetChargeYuan: formatYuan(row.costedNetNano),
    costedMarginYuan: formatYuan(costedMarginNano),
    costedMarginBasisPoints: marginBasisPoints(costedMarginNano, row.costedNetNano),
  };
}

export function usageRowToWire(row: UsageRow, groupBy: readonly Dimension[], hasRevenue = false): UsageRowResponse {
  const group: Record<string, string | null> = {};
  for (const [i, name] of groupBy.entries()) {
    group[MEMBERS[name]] = name === 'group' || isCallerDimension(name) ? row.group[i]! || null : row.group[i]!;
    if (name === 'account') group.accountName = row.accountName;
    if (name === 'key') Object.assign(group, { keyName: row.keyName, keyPrefix: row.keyPrefix });
  }
  return {
    ...group,
    calls: row.calls,
    ...amountsOf(row, hasRevenue),
    callsWithoutCost: row.uncostedCalls,
    heldYuan: formatYuan(row.reservedNano),
    usage: { ...Object.fromEntries(shownUnits.map((unit) => [unit, row.units[unit]])), images: row.images },
  };
}

/**
 * Reads names such as `model,day`, and returns them in a fixed order. `key` implies `account`.
 * @throws GatewayError `invalidRequest` for an unknown name, or names that cannot be combined
 */
export function readDimensions(text: string, known: readonly Dimension[] = dimensions): readonly Dimension[] {
  const names = readGroupBy(text, known);
  const named = new Set<string>(names.includes('key') ? [...names, 'account'] : names);
  const groupBy = dimensions.filter((name) => named.has(name));
  const [caller, ...others] = groupBy.toReversed();
  const isSummed = caller === undefined || !isCallerDimension(caller) || others.every((name) => WITH_CALLER.has(name));
  if (isSummed) return groupBy;
  throw invalidRequest(
    `groupBy: Use only one of ${CALLER_DIMENSIONS.join(', ')}, together with any of ${known.filter((name) => WITH_CALLER.has(name)).join(', ')}.`,
    'groupBy',
  );
}

export function usageCursor({ account, after }: UsagePlace): string {
  return Buffer.from(JSON.stringify([account, after])).toString('base64url');
}

/** Reads a cursor. @throws GatewayError if it is not one of the same list */
export function readUsageCursor(cursor: string, groupBy: readonly Dimension[]): UsagePlace {
  const value = parseJson(Buffer.from(cursor, 'base64url').toString('utf8'));
  const isText = (each: unknown): each is string => typeof each === 'string' && isStorable(each);
  if (Array.isArray(value) && value.length === 2) {
    const [account, after] = value as [unknown, unknown];
    const isAfter = after === null || (Array.isArray(after) && after.length === groupBy.length && after.every(isText));
    if ((account === null || isText(account)) && isAfter) return { account, after: after as readonly string[] | null };
  }
  throw invalidRequest('cursor: Expected the nextCursor of an earlier page of the same list.', 'cursor');
}
