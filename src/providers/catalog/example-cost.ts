import { chargeBasis, chargeFor } from '../../accounting/pricing/charge.ts';
import { createLocalTime } from '../../accounting/pricing/local-time.ts';
import { priceInForce } from '../../accounting/pricing/price.ts';
import type { Config } from '../../config/schema.ts';
import { noUsage } from '../../protocols/metering/usage-facts.ts';
import { operationOf } from '../../protocols/operations/all.ts';
import { compilePrice, startMs } from './catalog.ts';

/** An example call. Reviewers of a catalog see what it would cost. */
const EXAMPLE = { ...noUsage, inputTokens: 10_000, outputTokens: 1_000 };

export interface ExampleCost {
  readonly model: string;
  readonly nowNano: bigint;
  /** The charges under later prices, at the same time of day as now. `from` is their start as written in the configuration. */
  readonly later: readonly { readonly from: string; readonly nano: bigint }[];
}

/** What the example call costs at the list price of a model; `null` if the model does not exist or is not charged by token. */
export function costOfExample(config: Config, model: string, atMs: number): ExampleCost | null {
  const settings = config.models[model];
  const [operation] = settings?.operations ?? [];
  if (settings === undefined || operation === undefined) return null;
  const localTime = createLocalTime(config.billing.timezone);
  const price = compilePrice(settings.price, localTime);
  if (chargeBasis(operationOf(operation), price.base) !== 'tokens') return null;
  const costAt = (listsAtMs: number): bigint =>
    chargeFor(EXAMPLE, priceInForce(price, atMs, listsAtMs).prices, 'tokens');
  const later = (settings.price.later ?? [])
    .map(({ from }) => ({ from, fromMs: startMs(from, localTime) }))
    .filter(({ fromMs }) => fromMs > atMs)
    .sort((one, other) => one.fromMs - other.fromMs);
  return {
    model,
    nowNano: costAt(atMs),
    later: later.map(({ from, fromMs }) => ({ from, nano: costAt(fromMs) })),
  };
}
