import { chargeBasis, chargeFor } from '../../accounting/pricing/charge.ts';
import { createLocalTime } from '../../accounting/pricing/local-time.ts';
import { priceInForce } from '../../accounting/pricing/price.ts';
import type { Config } from '../../config/schema.ts';
import { withoutTrailing } from '../../lib/trailing.ts';
import { noUsage } from '../../protocols/metering/usage-facts.ts';
import { operationOf } from '../../protocols/operations/all.ts';
import { compilePrice, startMs } from './catalog.ts';

/** An example call. Reviewers of a catalog see what it would cost. */
const EXAMPLE = { ...noUsage, inputTokens: 10_000, outputTokens: 1_000 };

export interface ExampleCost {
  readonly model: string;
  readonly nowNano: bigint;
  /** What the call costs the operator over the dearest route; `null`: no route has a cost. */
  readonly costNano: bigint | null;
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
  const costs = settings.routes.flatMap(({ cost }) => (cost === undefined ? [] : [compilePrice(cost, localTime)]));
  const costsNano = costs.map((cost) => chargeFor(EXAMPLE, priceInForce(cost, atMs, atMs).prices, 'tokens'));
  return {
    model,
    nowNano: costAt(atMs),
    costNano: costsNano.reduce<bigint | null>((most, each) => (most === null || each > most ? each : most), null),
    later: later.map(({ from, fromMs }) => ({ from, nano: costAt(fromMs) })),
  };
}

/** The share of a charge that its cost leaves, such as `"16.66"` percent, rounded down; `null`: it is unknown, or nothing is charged. */
export function marginPercent({ nowNano, costNano }: Pick<ExampleCost, 'nowNano' | 'costNano'>): string | null {
  if (costNano === null || nowNano === 0n) return null;
  const above = (nowNano - costNano) * 10_000n;
  const below = above < 0n && above % nowNano !== 0n ? 1n : 0n;
  const basisPoints = above / nowNano - below;
  const [sign, size] = basisPoints < 0n ? ['-', -basisPoints] : ['', basisPoints];
  const fraction = withoutTrailing(String(size % 100n).padStart(2, '0'), '0');
  return `${sign}${size / 100n}${fraction === '' ? '' : `.${fraction}`}`;
}
