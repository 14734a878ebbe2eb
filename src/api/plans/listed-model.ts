import { z } from 'zod';
import { listsInForce, priceInForce, type TimeOfDayPrice } from '../../accounting/pricing/price.ts';
import { recordedPrices } from '../../accounting/pricing/priced-by.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Catalog, type Model, routesOf } from '../../providers/catalog/catalog.ts';
import { price, priceToWire } from '../calls/wire.ts';
import { count, listOf } from '../management/response-fields.ts';

/** A range of a day in minutes since midnight. If it ends before it begins, it crosses midnight. */
const dayRange = z.strictObject({ fromMinute: count, toMinute: count });

const timeOfDay = z.strictObject({
  timezone: z.string(),
  peakHours: listOf(dayRange).describe('In minutes since midnight of the time zone; a range may cross midnight.'),
  peak: price,
  offPeak: price,
});

/** Members of a model with its prices. */
export const listedModelMembers = {
  id: z.string(),
  aliases: listOf(z.string()),
  displayName: z.string(),
  operations: listOf(z.string()),
  contextTokens: count.nullable(),
  outputTokens: count.nullable(),
  price: price.describe('The current list price for the account, with the same names as in call records.'),
  timeOfDay: timeOfDay.nullable().describe('List prices by time of day; null: the same at all times.'),
};
const listedModel = z.strictObject(listedModelMembers);

/** Describes a listed model with the prices that are in force. `named`: the models of the configuration. */
export function listedModelToWire(model: Model, named: Config['models'], nowMs: number): z.infer<typeof listedModel> {
  const { rule, prices } = priceInForce(model.price, nowMs);
  const schedule = listsInForce(model.price, nowMs).timeOfDay;
  return {
    id: model.id,
    aliases: named[model.id]!.aliases,
    displayName: named[model.id]!.displayName ?? model.id,
    operations: [...model.operations].map(({ name }) => name),
    contextTokens: model.contextTokensMax,
    outputTokens: model.outputTokensMax,
    price: priceToWire(rule, recordedPrices(prices)),
    timeOfDay: schedule === null ? null : timeOfDayToWire(schedule),
  };
}

/** For this long, the same prices are sent, because anybody can request them. */
const KEPT_MS = 5_000;

/** Returns the models that accounts without a group may call, with their prices, as JSON for the price page. */
export function createPublicPrices(
  settings: () => { readonly config: Config; readonly catalog: Catalog },
  clock: Clock,
) {
  let kept: { readonly catalog: Catalog; readonly atMs: number; readonly text: string } | null = null;
  return (): string => {
    const { config, catalog } = settings();
    const nowMs = clock.nowMs();
    const isFresh = kept !== null && kept.catalog === catalog && Math.abs(nowMs - kept.atMs) < KEPT_MS;
    if (kept === null || !isFresh) {
      const models = catalog.models.filter(isCallable).map((model) => listedModelToWire(model, config.models, nowMs));
      kept = { catalog, atMs: nowMs, text: JSON.stringify({ data: models }) };
    }
    return kept.text;
  };
}

/** Whether a route serves an operation of the model, natively or by translation (contract 4.9). */
function isCallable(model: Model): boolean {
  return [...model.operations].some((operation) => routesOf(model, operation).length > 0);
}

function timeOfDayToWire({ timezone, peakHours, peak, offPeak }: TimeOfDayPrice): z.infer<typeof timeOfDay> {
  return {
    timezone,
    peakHours: peakHours.map(({ fromMinute, toMinute }) => ({ fromMinute, toMinute })),
    peak: priceToWire('peak', recordedPrices(peak)),
    offPeak: priceToWire('off_peak', recordedPrices(offPeak)),
  };
}
