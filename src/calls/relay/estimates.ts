import { chargeFor, type UnitPrices } from '../../accounting/pricing/charge.ts';
import { tokenRates } from '../../accounting/pricing/token-rates.ts';
import type { ShareHolder } from '../../lib/fair/shares.ts';
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

/** Estimates of what a call used, if its provider has not reported all of it. */

/** Counts the input tokens of a request, in another thread. It throws if it cannot take the request now. */
type CountInput = (kind: BodyKind, body: Buffer, holder: ShareHolder) => Promise<Count>;

/** The parts that estimates of all calls are made with. */
export interface EstimateParts {
  readonly countInput: CountInput;
  readonly speeds: OutputSpeeds;
}

/** The tokens of a request that was sent with this body. */
export async function estimateInput(
  countInput: CountInput,
  { policy, principal, model, estimate: { inputTokens } }: Call,
  body: RequestBody,
): Promise<number> {
  const { countedAs } = policy.operation;
  if (countedAs === null || !Buffer.isBuffer(body)) return inputTokens;
  try {
    const count = await countInput(countedAs, body, principal);
    const tokens = totalTokens(count, model.tokenFactor ?? familyFactor(model.id));
    return Math.min(tokens, model.contextTokensMax ?? tokens);
  } catch {
    // The queue of counts is full, or the body cannot be counted: the estimate of the admission serves instead.
    return inputTokens;
  }
}

/** What the model wrote in a whole response. */
export interface WrittenSize {
  readonly sizeBytes: number;
  /** The pictures that stand in the text. */
  readonly pictures: number;
}

/** A whole response, read as far as it is needed. */
interface WholeResponse {
  readonly response: ReadResponse;
  /** Reads the text of the response to its end, which is only done if its figures are missing or in doubt. */
  written(): WrittenSize;
}

/** The sides of the usage of a whole response that cannot be true. Images have facts of their own. */
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

/** What a provider reported of a whole response, and the sides of it that cannot be true. */
interface Reported {
  readonly usage: Usage | null;
  readonly doubted: readonly DoubtedSide[];
}

/**
 * The usage of a whole response as it was reported, or what is estimated in its place. `null` if no usage was reported that can be true and
 * none is estimated: by the setting of the provider, or because such a response is not charged.
 */
export async function usageOfWhole(
  whole: WholeResponse,
  call: Call,
  { provider, body }: Pick<UpstreamRequest, 'provider' | 'body'>,
  countInput: CountInput,
): Promise<UsageFacts | null> {
  const { input, basis } = call;
  const usage = input.response.usage(restatedResponse(whole.response, provider.restatesUsage), basis);
  const doubted = usage === null ? NO_DOUBTS : doubtsOfWhole(usage, whole, input.response, basis);
  if (usage !== null && doubted.length === 0) return { ...usage, source: 'observed' };
  return provider.estimatesUsage ? estimateUnreported(whole, { usage, doubted }, countInput, call, body) : null;
}

/**
 * The estimate of a whole response whose provider reported no usage, or of what cannot be true in it, up to what was reserved. Its
 * other facts, such as uses of tools, are read as if the provider had reported the estimated tokens. `null` where such a
 * response is not charged.
 */
async function estimateUnreported(
  whole: WholeResponse,
  reported: Reported,
  countInput: CountInput,
  call: Call,
  body: RequestBody,
): Promise<UsageFacts | null> {
  const { input, basis } = call;
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

/** The reported figures, with an estimate of those that cannot be true. */
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

/** The reservation that an estimate must not exceed, with the prices that it was made with. */
interface Reservation {
  readonly amountNano: bigint;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  /** Whether neither the request nor the model limits the output, so that its part of the reservation was assumed. */
  readonly assumesOutput: boolean;
}

/** The reservation of a call, for the usage of its own model. */
export function reservationOf({ price, basis, estimate: { amountNano, assumesOutput } }: Call): Reservation {
  return { amountNano, prices: price.prices, basis, assumesOutput };
}

/** What is known of an estimated call. */
interface KnownOutput {
  /** What the provider has reported, which is no estimate and never reduced; `null`: nothing. */
  readonly reported: Usage | null;
  /** The estimate of what came through, without what the model may have written unseen. */
  readonly delivered: Usage;
}

type Field = 'inputTokens' | (typeof OUTPUTS)[number];

/** The kinds of output, in the order in which they are reduced: the roughest estimate first. */
const OUTPUTS = ['outputTokens', 'audioOutputTokens', 'imageOutputTokens'] as const;
const NO_OUTPUT = { outputTokens: 0, audioOutputTokens: 0, imageOutputTokens: 0 };

const NO_USES = Object.fromEntries(unitsWhere(({ bound }) => bound?.name === 'toolUses').map((name) => [name, 0]));

const TOKENS_PER_PRICE = 1_000_000n;

/**
 * Reduces an estimate of what a call used to what was reserved for it: output first, because its estimate is rougher. Where the
 * output of the reservation was assumed, that bounds only what was not delivered: the estimate of what was delivered counts,
 * also above the reservation. Uses of tools are counted and not estimated: they reduce nothing, however many there were.
 */
export function withinReservation(
  estimate: UsageFacts,
  { reported, delivered }: KnownOutput,
  reservation: Reservation,
): UsageFacts {
  const least = reservation.assumesOutput ? delivered : reported;
  let usage = { ...estimate, ...NO_USES };
  for (const field of OUTPUTS) usage = reduced(usage, field, least?.[field] ?? 0, reservation);
  // Output that was delivered beyond an assumption takes nothing of what was reserved for the input.
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
