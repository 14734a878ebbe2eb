import { createLocalTime, type LocalTime } from '../../accounting/pricing/local-time.ts';
import { isPeak, nextPriceSwitchMs } from '../../accounting/pricing/price.ts';
import type { Config, ModelConfig, UnitPricesConfig } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { operationOf } from '../../protocols/operations/all.ts';
import type { Operation } from '../../protocols/operations/operation.ts';
import { startMs } from './catalog.ts';

/** The public model catalog (contract 2.5, 4.9): callable models, their endpoints and prices. */

export interface PublishedOperation {
  readonly operation: Operation;
  readonly method: 'POST';
  readonly path: string;
}

interface OfficialPricing {
  readonly inputPriceYuan: string;
  readonly cachedInputPriceYuan: string;
  readonly outputPriceYuan: string;
  readonly discountBasisPoints: number;
}

interface PeriodPricing {
  readonly inputPriceYuan: string | null;
  readonly cachedInputPriceYuan: string | null;
  readonly outputPriceYuan: string | null;
  readonly officialPricing: OfficialPricing | null;
}

interface TimePricing {
  readonly activePeriod: 'PEAK' | 'OFF_PEAK';
  readonly nextSwitchAt: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly peak: PeriodPricing;
  readonly offPeak: PeriodPricing;
}

interface ApiInterface {
  readonly id: string;
  readonly operations: readonly { readonly id: string; readonly method: 'POST'; readonly path: string }[];
}

interface PublicModel extends PeriodPricing {
  readonly modelId: string;
  readonly displayName: string;
  readonly manufacturer: string;
  readonly capability: string;
  readonly description: string | null;
  readonly contextLength: string | null;
  readonly maxOutputTokens: string | null;
  readonly modelSize: string | null;
  readonly inputModalities: string | null;
  readonly outputModalities: string | null;
  readonly docsPath: string | null;
  readonly timePricing: TimePricing | null;
  readonly apiInterfaces: readonly ApiInterface[];
}

export interface PublicCatalog {
  readonly models: readonly PublicModel[];
  readonly priceUnit: string;
}

const PRICE_UNIT = 'CNY per million tokens';

export function describeCatalog(
  config: Config,
  published: readonly PublishedOperation[],
  nowMs: number,
): PublicCatalog {
  const localTime = createLocalTime(config.billing.timezone);
  const models = Object.entries(config.models)
    .filter(([, model]) => model.listed)
    .map(([id, model]) => describeModel(id, model, config, published, { localTime, nowMs }))
    .filter((model) => model.apiInterfaces.length > 0);
  return { models, priceUnit: PRICE_UNIT };
}

const KEPT_MS = 60_000;

/** Caches the description for a minute, or until the next price change (contract 4.9), because anybody can request it. */
export function createPublicCatalog(
  config: Config,
  published: readonly PublishedOperation[],
  clock: Clock,
): () => PublicCatalog {
  const localTime = createLocalTime(config.billing.timezone);
  const starts = Object.values(config.models).flatMap(({ price }) => price.later ?? []);
  let kept: PublicCatalog | null = null;
  let describedAtMs = 0;
  let keptUntilMs = 0;
  return () => {
    const nowMs = clock.nowMs();
    if (kept === null || nowMs >= keptUntilMs || nowMs < describedAtMs) {
      kept = describeCatalog(config, published, nowMs);
      const switches = kept.models.flatMap(({ timePricing }) => timePricing?.nextSwitchAt ?? []);
      describedAtMs = nowMs;
      const later = starts.map(({ from }) => startMs(from, localTime)).filter((fromMs) => fromMs > nowMs);
      keptUntilMs = Math.min(nowMs + KEPT_MS, ...switches.map((instant) => Date.parse(instant)), ...later);
    }
    return kept;
  };
}

function describeModel(
  id: string,
  model: ModelConfig,
  config: Config,
  published: readonly PublishedOperation[],
  { localTime, nowMs }: { readonly localTime: LocalTime; readonly nowMs: number },
): PublicModel {
  const price = model.price.later?.findLast(({ from }) => startMs(from, localTime) <= nowMs) ?? model.price;
  const timePricing = describeTimePricing(price, nowMs);
  const inForce =
    timePricing === null
      ? describePrices(price)
      : timePricing.activePeriod === 'PEAK'
        ? timePricing.peak
        : timePricing.offPeak;
  return {
    modelId: id,
    displayName: model.displayName ?? id,
    manufacturer: model.manufacturer,
    capability: model.capability,
    description: model.description ?? null,
    contextLength: model.contextLength ?? null,
    maxOutputTokens: model.maxOutputTokens ?? null,
    modelSize: model.modelSize ?? null,
    inputModalities: model.inputModalities ?? null,
    outputModalities: model.outputModalities ?? null,
    docsPath: model.docsPath ?? null,
    ...inForce,
    timePricing: timePricing !== null && isComplete(timePricing) ? timePricing : null,
    apiInterfaces: describeInterfaces(model, config, published),
  };
}

type ListedPrice = Omit<ModelConfig['price'], 'later'>;
type PricesConfig = UnitPricesConfig & { readonly official?: ModelConfig['price']['official'] };

function describePrices(prices: PricesConfig): PeriodPricing {
  return {
    inputPriceYuan: priceText(prices.input),
    cachedInputPriceYuan: priceText(prices.cachedInput),
    outputPriceYuan: priceText(prices.output),
    officialPricing:
      prices.official === undefined
        ? null
        : {
            inputPriceYuan: formatYuan(prices.official.input),
            // This field is never null (contract 2.5). If cached input has no price, it costs as much as other input.
            cachedInputPriceYuan: formatYuan(prices.official.cachedInput ?? prices.official.input),
            outputPriceYuan: formatYuan(prices.official.output),
            discountBasisPoints: prices.official.discountBasisPoints,
          },
  };
}

function priceText(priceNano: bigint | undefined): string | null {
  return priceNano === undefined ? null : formatYuan(priceNano);
}

function describeTimePricing(price: ListedPrice, nowMs: number): TimePricing | null {
  if (price.timeOfDay === undefined) return null;
  const { id, timezone, peak, offPeak } = price.timeOfDay;
  const schedule = { localTime: createLocalTime(timezone), peakHours: peak.hours };
  const nextSwitchMs = nextPriceSwitchMs(schedule, nowMs) ?? schedule.localTime.nextDayStartMs(nowMs);
  return {
    activePeriod: isPeak(schedule, nowMs) ? 'PEAK' : 'OFF_PEAK',
    nextSwitchAt: new Date(nextSwitchMs).toISOString(),
    schedule: id,
    timezone,
    peak: describePrices(peak),
    offPeak: describePrices(offPeak),
  };
}

/** Whether peak and off-peak hours both have token prices (contract 2.5). Models that are charged per image have none. */
function isComplete({ peak, offPeak }: TimePricing): boolean {
  return [peak, offPeak].every(
    ({ inputPriceYuan, outputPriceYuan }) => inputPriceYuan !== null && outputPriceYuan !== null,
  );
}

function describeInterfaces(
  model: ModelConfig,
  config: Config,
  published: readonly PublishedOperation[],
): ApiInterface[] {
  const offered = new Set(model.operations.map(operationOf));
  const isServed = ({ name, protocol }: Operation): boolean =>
    model.routes.some(({ provider, translate }) => {
      if (translate?.some((each) => each === name)) return true;
      const { protocol: spoken, serves } = config.providers[provider]!;
      return spoken === protocol.name && (serves?.some((each) => each === name) ?? true);
    });
  const interfaces = new Map<string, ApiInterface['operations'][number][]>();
  for (const { operation, method, path } of published) {
    const { protocol, catalogEntry: names } = operation;
    if (names === null || !offered.has(operation) || !isServed(operation)) continue;
    const prefix = enumPrefix(config.server.protocolNames[protocol.name][0]!);
    const operations = interfaces.get(`${prefix}_${names.interfaceId}`) ?? [];
    operations.push({ id: `${prefix}_${names.operationId}`, method, path });
    interfaces.set(`${prefix}_${names.interfaceId}`, operations);
  }
  return [...interfaces].map(([id, operations]) => ({ id, operations }));
}

/** Prefix of a protocol in the contract's enums: `ALT` for `altproto`, otherwise the name in upper case. */
function enumPrefix(protocolName: string): string {
  return protocolName === 'altproto' ? 'ALT' : protocolName.toUpperCase().replaceAll('-', '_');
}
