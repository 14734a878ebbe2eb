import { chargeFor, type UnitPrices } from '../../accounting/pricing/charge.ts';
import { tokenRates } from '../../accounting/pricing/token-rates.ts';
import type { Tenant } from '../../lib/fair/shares.ts';
import { estimateTokens } from '../../protocols/metering/estimate.ts';
import { restatedResponse } from '../../protocols/metering/input-with-cache.ts';
import { pictureTokens } from '../../protocols/metering/media-tokens.ts';
import type { OutputSpeeds } from '../../protocols/metering/output-speed.ts';
import { deliveredAsWhole, doubtsOf, NO_DOUBTS } from '../../protocols/metering/plausible-usage.ts';
import type { ReadResponse, ResponseReading } from '../../protocols/metering/response.ts';
import {
  type ChargeBasis,
  type DoubtedSide,
  outputTokensOf,
  type Usage,
  type UsageFacts,
} from '../../protocols/metering/usage-facts.ts';
import { unitsWhere } from '../../protocols/metering/usage-units.ts';
import type { RequestBody } from '../../protocols/operations/operation.ts';
import { type Count, totalTokens } from '../../protocols/token-estimate/budgets.ts';
import type { BodyKind } from '../../protocols/token-estimate/count-body.ts';
import { familyFactor } from '../../protocols/token-estimate/families.ts';
import type { UpstreamRequest } from '../../providers/upstream/exchange.ts';
import type { Call } from '../call.ts';

/** Counts tokens in another thread. @throws if that thread has no capacity */
type CountInput = (kind: BodyKind, body: Buffer, tenant: Tenant) => Promise<Count>;

export interface EstimateDependencies {
  readonly countInput: CountInput;
  readonly speeds: OutputSpeeds;
}

export async function estimateInput(
  countInput: CountInput,
  { operation, principal, model, pricing }: Call,
  body: RequestBody,
): Promise<number> {
  const { countedAs } = operation;
  const { inputTokens } = pricing.estimate;
  if (countedAs === null || !Buffer.isBuffer(body)) return inputTokens;
  try {
    const count = await countInput(countedAs, body, principal);
    const tokens = totalTokens(count, model.tokenFactor ?? familyFactor(model.id));
    return Math.min(tokens, model.contextTokensMax ?? tokens);
  } catch {
    // If counting fails, the estimate of the admission is used.
    return inputTokens;
  }
}

export interface WrittenSize {
  readonly sizeBytes: number;
  /** The number of images that the text contains. */
  readonly pictures: number;
}

/** A complete response, whose text is only read if necessary. */
interface WholeResponse {
  readonly response: ReadResponse;
  /** Measures all text of the response. This is necessary only if usage is missing or in doubt. */
  written(): WrittenSize;
}

/** Returns which reported token counts cannot be true. Operations with other output than text or results are not checked. */
export function doubtsOfWhole(
  usage: Usage,
  { response, written }: WholeResponse,
  reading: ResponseReading,
  basis: ChargeBasis,
): readonly DoubtedSide[] {
  if (reading.written === undefined && reading.hasResults === undefined) return NO_DOUBTS;
  const isStated = outputTokensOf(usage) > 0;
  const textBytes = isStated ? 0 : written().sizeBytes;
  const hasMedia = !isStated && mediaTokensOf(reading, { response, written }).total > 0;
  const hasResults = reading.hasResults?.(response) ?? false;
  return doubtsOf(usage, deliveredAsWhole(textBytes, hasMedia, hasResults), basis);
}

function mediaTokensOf({ estimate }: ResponseReading, { response, written }: WholeResponse) {
  const media = estimate?.mediaTokens?.(response) ?? NO_MEDIA;
  const imageOutputTokens = media.imageOutputTokens + written().pictures * pictureTokens(null);
  return { ...media, imageOutputTokens, total: media.audioOutputTokens + imageOutputTokens };
}

const NO_MEDIA = { audioOutputTokens: 0, imageOutputTokens: 0 };

interface Reported {
  readonly usage: Usage | null;
  readonly doubted: readonly DoubtedSide[];
}

/**
 * The reported usage, or an estimate. `null`: there is no credible usage, and estimates are switched off for the provider or responses of
 * this kind are not charged.
 */
export async function usageOfWhole(
  whole: WholeResponse,
  call: Call,
  { provider, body }: Pick<UpstreamRequest, 'provider' | 'body'>,
  countInput: CountInput,
): Promise<UsageFacts | null> {
  const { input } = call;
  const { basis } = call.pricing;
  const usage = input.response.usage(restatedResponse(whole.response, provider.restatesUsage), basis);
  const doubted = usage === null ? NO_DOUBTS : doubtsOfWhole(usage, whole, input.response, basis);
  if (usage !== null && doubted.length === 0) return { ...usage, source: 'observed' };
  return provider.estimatesUsage ? estimateUnreported(whole, { usage, doubted }, countInput, call, body) : null;
}

/**
 * Estimates usage that is missing or cannot be true, up to the reservation. Derives other facts, such as tool uses, from the estimated
 * tokens. Returns `null` if responses of this kind are not charged.
 */
async function estimateUnreported(
  whole: WholeResponse,
  reported: Reported,
  countInput: CountInput,
  call: Call,
  body: RequestBody,
): Promise<UsageFacts | null> {
  const { input } = call;
  const { basis } = call.pricing;
  const { response } = whole;
  const { estimate } = input.response;
  if (!estimate?.isSuccess(response)) return null;
  const inputTokens = await estimateInput(countInput, call, body);
  const outputTokens = estimateTokens(whole.written().sizeBytes);
  const { audioOutputTokens, imageOutputTokens } = mediaTokensOf(input.response, whole);
  const { searchUnits } = input.demand;
  const members = estimate.members({ inputTokens, outputTokens, audioOutputTokens, imageOutputTokens, searchUnits });
  const estimated = input.response.usage(
    {
      member: (name) => members[name] ?? response.member(name),
      isMarked: (name) => response.isMarked(name),
      count: (name) => response.count(name),
      holding: (group) => response.holding(group),
    },
    basis,
  );
  if (estimated === null) return null;
  const usage = withoutDoubts(reported, estimated);
  return withinReservation(usage, { reported: reported.usage, delivered: usage }, reservationOf(call));
}

function withoutDoubts({ usage, doubted }: Reported, estimated: Usage): UsageFacts {
  if (usage === null) return { ...estimated, source: 'estimated' };
  const sides = {
    input: { inputTokens: estimated.inputTokens },
    output: {
      outputTokens: estimated.outputTokens,
      audioOutputTokens: estimated.audioOutputTokens,
      imageOutputTokens: estimated.imageOutputTokens,
    },
    searchUnits: { searchUnits: estimated.searchUnits },
  };
  return Object.assign({ ...usage, source: 'estimated' as const, doubted }, ...doubted.map((side) => sides[side]));
}

interface Reservation {
  readonly amountNano: bigint;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  /** True if neither the request nor the model limits the output, so that the reservation assumes an output size. */
  readonly assumesOutput: boolean;
}

export function reservationOf({ pricing }: Call): Reservation {
  const { price, basis, estimate } = pricing;
  const { amountNano, assumesOutput } = estimate;
  return { amountNano, prices: price.prices, basis, assumesOutput };
}

interface KnownOutput {
  /** Usage that the provider reported; an estimate is never reduced below it. */
  readonly reported: Usage | null;
  /** Usage for the output that the client received, without hidden reasoning. */
  readonly delivered: Usage;
}

type Field = 'inputTokens' | (typeof OUTPUTS)[number];

/** The order in which estimates are reduced, the least precise one first. */
const OUTPUTS = ['outputTokens', 'audioOutputTokens', 'imageOutputTokens'] as const;
const NO_OUTPUT = { outputTokens: 0, audioOutputTokens: 0, imageOutputTokens: 0 };

const NO_USES = Object.fromEntries(unitsWhere(({ bound }) => bound?.name === 'toolUses').map((name) => [name, 0]));

const TOKENS_PER_PRICE = 1_000_000n;

/**
 * Reduces estimated usage to the reservation. Output is reduced first, because its estimate is less precise. If the reservation assumes an
 * output size, delivered output counts even above it. Tool uses are exact counts, so they are never reduced.
 */
export function withinReservation(
  estimate: UsageFacts,
  { reported, delivered }: KnownOutput,
  reservation: Reservation,
): UsageFacts {
  const least = reservation.assumesOutput ? delivered : reported;
  let usage = { ...estimate, ...NO_USES };
  for (const field of OUTPUTS) usage = reduced(usage, field, least?.[field] ?? 0, reservation);
  // Output that exceeds an assumed size must not reduce the input tokens.
  const input = reservation.assumesOutput ? { ...usage, ...NO_OUTPUT } : usage;
  const { inputTokens } = reduced(input, 'inputTokens', reported?.inputTokens ?? 0, reservation);
  const { outputTokens, audioOutputTokens, imageOutputTokens } = usage;
  return { ...estimate, inputTokens, outputTokens, audioOutputTokens, imageOutputTokens };
}

function reduced(usage: UsageFacts, field: Field, least: number, reservation: Reservation): UsageFacts {
  const { amountNano, prices, basis } = reservation;
  const overNano = chargeFor(usage, prices, basis) - amountNano;
  if (overNano <= 0n || usage[field] <= least) return usage;
  const { list, factor } = tokenRates(prices, usage, usage.servedOn);
  const priceNano =
    list[`${field.slice(0, -'Tokens'.length)}NanoPerMillion` as PriceField] ?? list.outputNanoPerMillion;
  const nanoPerMillion = factor === null ? priceNano : (priceNano * factor.numerator) / factor.denominator;
  if (nanoPerMillion === 0n) return usage;
  const overTokens = (overNano * TOKENS_PER_PRICE + nanoPerMillion - 1n) / nanoPerMillion;
  const tokens = BigInt(usage[field]) - overTokens;
  return { ...usage, [field]: Math.max(least, tokens > 0n ? Number(tokens) : 0) };
}

type PriceField =
  | 'inputNanoPerMillion'
  | 'outputNanoPerMillion'
  | 'audioOutputNanoPerMillion'
  | 'imageOutputNanoPerMillion';
