import { chargeCall } from '../../src/accounting/pricing/call-charge.ts';
import { chargeBasis } from '../../src/accounting/pricing/charge.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../src/accounting/pricing/price-factor.ts';
import { doubtsOfWhole, withinReservation } from '../../src/calls/relay/estimates.ts';
import { estimateReservation } from '../../src/calls/reservation-estimate.ts';
import { StreamTap } from '../../src/protocols/metering/tap.ts';
import type { Usage, UsageFacts } from '../../src/protocols/metering/usage-facts.ts';
import { WrittenText } from '../../src/protocols/metering/written-text.ts';
import type { CallInput, JsonOperation } from '../../src/protocols/operations/operation.ts';
import type { Model } from '../../src/providers/catalog/catalog.ts';
import { captureResponse } from './captured.ts';
import { readInput } from './request-input.ts';

/** The charge of a response, and the usage that its record marks as unpriced. */
export interface Metered {
  readonly chargeNano: bigint;
  readonly unpriced: readonly string[];
}

/** Meters the response of a call as the relays do, without a gateway. */
export class Meter {
  readonly #input: CallInput;
  readonly #priceFactorBasisPoints: number;
  readonly #terms;

  constructor(
    operation: JsonOperation,
    model: Model,
    request: object,
    priceFactorBasisPoints: number = LIST_PRICE_BASIS_POINTS,
  ) {
    this.#input = readInput(operation, JSON.stringify(request));
    this.#priceFactorBasisPoints = priceFactorBasisPoints;
    const prices = model.price.base;
    this.#terms = { model, prices, basis: chargeBasis(operation, prices) };
  }

  reservedNano(): bigint {
    return this.#reservation().amountNano;
  }

  #reservation() {
    return estimateReservation(this.#input, { ...this.#terms, continuedTokens: 0 });
  }

  /** A non-streaming response in chunks; `null` if its usage is missing or implausible. */
  whole(chunks: readonly Buffer[]): Metered | null {
    const { response } = this.#input;
    const captured = captureResponse(response, chunks);
    const { basis } = this.#terms;
    const usage = response.usage(captured, basis);
    if (usage === null) return null;
    const written = () => {
      const text = response.written === undefined ? null : new WrittenText(response.written, false);
      for (const chunk of chunks) text?.addPart(chunk, false);
      return text ?? { sizeBytes: 0, pictures: 0 };
    };
    const isTrue = doubtsOfWhole(usage, { response: captured, written }, response, basis).length === 0;
    return isTrue ? this.#metered({ ...usage, source: 'observed' }) : null;
  }

  /** A stream in chunks that then breaks off or ends; `null` if nothing arrived. */
  stream(chunks: readonly Buffer[]): Metered | null {
    const tap = this.#tap(chunks);
    const usage = tap.usage.facts(this.#input.inputTokensEstimate);
    if (usage === null) return null;
    return this.#metered(usage.source === 'estimated' ? this.#bound(usage, tap.usage.reported) : usage);
  }

  /** The charge of the text so far, estimated as output. */
  deliveredNano(chunks: readonly Buffer[]): bigint {
    const { visibleTextBytes } = this.#tap(chunks).usage;
    return (BigInt(Math.floor(visibleTextBytes / 4)) * this.#terms.prices.outputNanoPerMillion) / 1_000_000n;
  }

  #tap(chunks: readonly Buffer[]): StreamTap {
    const out = (): void => {};
    const reading = this.#input.readStream(this.#terms.basis);
    const tap = new StreamTap(reading, { forward: out, forwardError: out, finish: out, finishError: out });
    for (const chunk of chunks) tap.push(chunk);
    tap.end();
    return tap;
  }

  #bound(usage: UsageFacts, reported: Usage | null): UsageFacts {
    const { prices, basis } = this.#terms;
    const { amountNano, assumesOutput } = this.#reservation();
    return withinReservation(usage, { reported, delivered: usage }, { amountNano, prices, basis, assumesOutput });
  }

  #metered(usage: UsageFacts): Metered {
    const { chargeNano, notes } = chargeCall(usage, {
      ...this.#terms,
      input: this.#input,
      inner: [],
      ownNames: [],
      cost: null,
      isPaid: true,
      priceFactorBasisPoints: this.#priceFactorBasisPoints,
    });
    return { chargeNano, unpriced: notes?.unpriced ?? [] };
  }
}
