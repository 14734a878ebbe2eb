import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chargeCall } from '../../src/accounting/pricing/call-charge.ts';
import { chargeBasis } from '../../src/accounting/pricing/charge.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../src/accounting/pricing/price-factor.ts';
import { withinReservation } from '../../src/calls/relay/estimates.ts';
import { estimateReservation } from '../../src/calls/reservation-estimate.ts';
import { parseConfig } from '../../src/config/load.ts';
import { createStreamTap, type StreamTap } from '../../src/protocols/metering/tap.ts';
import type { UsageFacts } from '../../src/protocols/metering/usage-facts.ts';
import { type OperationName, operationOf } from '../../src/protocols/operations/all.ts';
import type { CallInput, JsonOperation } from '../../src/protocols/operations/operation.ts';
import { createCatalog } from '../../src/providers/catalog/catalog.ts';
import { captureResponse } from '../support/captured.ts';
import { readInput } from '../support/request-input.ts';
import { byScope } from '../support/scope.ts';
import { type Dialect, dialects } from './dialects.ts';

/**
 * Chat, messages, responses, embeddings and rerank as the documents of vendors print them
 * (`test/fixtures/dialects/README.md`), metered as the relays do it, without a gateway.
 */
const all = dialects().filter(({ protocol }) => protocol !== 'images');

/** A catalog with a model for each of them, at its prices. */
const catalog = createCatalog(
  parseConfig(
    JSON.stringify({
      providers: { p: { protocol: 'chat', baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'provider-secret-key-1' } },
      models: Object.fromEntries(
        all.map(({ protocol, prices }, i) => [
          `m${i}`,
          {
            operations: [protocol],
            price: prices,
            contextLength: 200_000,
            maxOutputTokens: 8_192,
            routes: [{ provider: 'p', model: 'm' }],
          },
        ]),
      ),
    }),
    'dialects.yaml',
    {},
  ),
);

interface Metered {
  readonly chargeNano: bigint;
  readonly unpriced: readonly string[];
}

/** The meters of a case. */
class Meter {
  readonly #input: CallInput;
  readonly #terms;

  constructor(dialect: Dialect) {
    const operation = operationOf(dialect.protocol as OperationName) as JsonOperation;
    this.#input = readInput(operation, JSON.stringify(dialect.request));
    const model = catalog.models.find(({ id }) => id === `m${all.indexOf(dialect)}`)!;
    const prices = model.price.base;
    this.#terms = { model, prices, basis: chargeBasis(operation, prices) };
  }

  reservedNano(): bigint {
    return this.#reservation().amountNano;
  }

  #reservation() {
    return estimateReservation(this.#input, { ...this.#terms, continuedTokens: 0 });
  }

  /** A whole response that comes in chunks; `null` if it has no usage. */
  whole(chunks: readonly Buffer[]): Metered | null {
    const { response } = this.#input;
    const usage = response.usage(captureResponse(response, chunks), this.#terms.basis);
    return usage === null ? null : this.#metered({ ...usage, source: 'observed' });
  }

  /** A stream that comes in chunks and then breaks off or ends; `null` if nothing of a response came. */
  stream(chunks: readonly Buffer[]): Metered | null {
    const tap = this.#tap(chunks);
    const usage = tap.usage(this.#input.inputTokensEstimate);
    if (usage === null) return null;
    return this.#metered(usage.source === 'estimated' ? this.#bound(usage, tap) : usage);
  }

  /** What the text that has come costs by its size, as output. */
  deliveredNano(chunks: readonly Buffer[]): bigint {
    const { visibleTextBytes } = this.#tap(chunks);
    return (BigInt(Math.floor(visibleTextBytes / 4)) * this.#terms.prices.outputNanoPerMillion) / 1_000_000n;
  }

  #tap(chunks: readonly Buffer[]): StreamTap {
    const out = (): void => {};
    const reading = this.#input.readStream(this.#terms.basis);
    const tap = createStreamTap(reading, { forward: out, forwardError: out, finish: out, finishError: out });
    for (const chunk of chunks) tap.push(chunk);
    tap.end();
    return tap;
  }

  #bound(usage: UsageFacts, { reported }: StreamTap): UsageFacts {
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
      priceFactorBasisPoints: LIST_PRICE_BASIS_POINTS,
    });
    return { chargeNano, unpriced: notes?.unpriced ?? [] };
  }
}

/** A quick run cuts at every seventh byte. */
const STEP_BYTES = byScope({ full: 1, quick: 7 });

const halves = (bytes: Buffer, at: number): Buffer[] => [bytes.subarray(0, at), bytes.subarray(at)];

describe('text as vendors document it', () => {
  for (const dialect of all) {
    const { name, body, isStream, billNano, unpriced = [] } = dialect;
    const bill = billNano === null ? null : { chargeNano: BigInt(billNano), unpriced };

    it(`${name}: costs the bill, cut at any byte`, () => {
      const meter = new Meter(dialect);
      for (let at = 0; at <= body.length; at += STEP_BYTES) {
        const chunks = halves(body, at);
        assert.deepEqual(isStream ? meter.stream(chunks) : meter.whole(chunks), bill, `cut at ${at}`);
      }
    });

    if (!isStream || bill === null) continue;
    it(`${name}: costs at least what was delivered if it is left at any event, and no more than may be`, () => {
      const meter = new Meter(dialect);
      const events = body.toString().split(/(?<=\n\n)/);
      for (let count = 1; count <= events.length; count++) {
        const chunks = [Buffer.from(events.slice(0, count).join(''))];
        const charge = meter.stream(chunks)?.chargeNano ?? 0n;
        const delivered = meter.deliveredNano(chunks);
        const most = [delivered, bill.chargeNano, meter.reservedNano()].reduce((left, right) =>
          left > right ? left : right,
        );
        // The estimate of a tiny text may exceed the bill, which is by the vendor's own tokens.
        assert.ok(
          charge >= (delivered < bill.chargeNano ? delivered : bill.chargeNano),
          `${charge} behind ${count} events`,
        );
        assert.ok(charge <= most, `${charge} behind ${count} events`);
      }
    });
  }
});
