import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chargeCall } from '../../src/accounting/pricing/call-charge.ts';
import { chargeBasis } from '../../src/accounting/pricing/charge.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../src/accounting/pricing/price-factor.ts';
import { estimateReservation } from '../../src/calls/reservation-estimate.ts';
import { StreamTap } from '../../src/protocols/metering/tap.ts';
import type { UsageFacts } from '../../src/protocols/metering/usage-facts.ts';
import { imageEdit } from '../../src/protocols/operations/image-edit.ts';
import { imageGeneration } from '../../src/protocols/operations/image-generation.ts';
import type { CallInput } from '../../src/protocols/operations/operation.ts';
import { captureResponse } from '../support/captured.ts';
import { readInput } from '../support/request-input.ts';
import { cutEverywhere } from '../support/scope.ts';
import { type Dialect, dialects } from './dialects.ts';
import { catalogOf } from './preset-catalog.ts';

/** Image responses from vendors' documentation (`test/fixtures/dialects/README.md`), metered like relayed ones but without a gateway. */
const all = dialects().filter(({ protocol }) => protocol === 'images');

const catalog = catalogOf(all, {});

class Meter {
  readonly #dialect: Dialect;
  readonly #input: CallInput;
  readonly #terms;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#input = inputOf(dialect);
    const model = catalog.models.find(({ id }) => id === `m${all.indexOf(dialect)}`)!;
    const prices = model.price.base;
    const operation = dialect.operation === 'images.edit' ? imageEdit : imageGeneration;
    this.#terms = { model, prices, basis: chargeBasis(operation, prices) };
  }

  reservedNano(): bigint {
    return estimateReservation(this.#input, { ...this.#terms, continuedTokens: 0 }).amountNano;
  }

  /** The charge of a non-streaming response that arrives in chunks; `null` if it is withheld. */
  whole(chunks: readonly Buffer[]): bigint | null {
    const { response } = this.#input;
    const usage = response.usage(captureResponse(response, chunks), this.#terms.basis);
    return usage === null ? null : this.#charge({ ...usage, source: 'observed' });
  }

  /** The charge of a stream that arrives in chunks and then ends; `null` if there is nothing to bill. */
  stream(chunks: readonly Buffer[]): { readonly chargeNano: bigint | null; readonly relayed: Buffer } {
    const relayed: Buffer[] = [];
    const out = (bytes: Buffer): unknown => relayed.push(Buffer.from(bytes));
    const tap = new StreamTap(this.#input.readStream(this.#terms.basis), {
      forward: out,
      forwardError: out,
      finish: out,
      finishError: out,
    });
    for (const chunk of chunks) tap.push(chunk);
    tap.end();
    const usage = tap.usage.facts(this.#input.inputTokensEstimate);
    return { chargeNano: usage === null ? null : this.#charge(usage), relayed: Buffer.concat(relayed) };
  }

  #charge(usage: UsageFacts): bigint {
    const { usage: charged, chargeNano } = chargeCall(usage, {
      ...this.#terms,
      input: this.#input,
      inner: [],
      ownNames: [],
      cost: null,
      isPaid: true,
      priceFactorBasisPoints: LIST_PRICE_BASIS_POINTS,
    });
    const pictures = charged.images.reduce((sum, { count }) => sum + count, 0);
    assert.ok(pictures <= this.#dialect.pictures!, `${pictures} pictures`);
    return chargeNano;
  }
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d4948445200000040000000400802000000', 'hex');

function inputOf({ operation, request }: Dialect): CallInput {
  if (operation === 'images.generate') return readInput(imageGeneration, JSON.stringify(request));
  const parts = [...Object.entries(request), ['image', PNG] as const].map(([name, value]) => [
    Buffer.from(`--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    Buffer.isBuffer(value) ? value : Buffer.from(String(value)),
    Buffer.from('\r\n'),
  ]);
  const form = Buffer.concat([...parts.flat(), Buffer.from('--b--\r\n')]);
  const reader = imageEdit.receive('multipart/form-data; boundary=b');
  reader.push(form);
  return reader.finish({
    sizeBytes: form.length,
    async *read(start = 0, end = form.length) {
      yield form.subarray(start, end);
    },
  });
}

describe("images in vendors' documented formats", () => {
  for (const dialect of all) {
    const { name, body, isStream, billNano } = dialect;
    const bill = billNano === null ? null : BigInt(billNano);

    if (!isStream) {
      it(`${name}: costs the bill, however it is cut`, () => {
        const meter = new Meter(dialect);
        for (const { chunks, note } of cutEverywhere(body)) assert.equal(meter.whole(chunks), bill, note);
      });
      continue;
    }

    it(`${name}: costs the bill, however it is cut`, () => {
      const meter = new Meter(dialect);
      for (const { chunks, note } of cutEverywhere(body)) {
        const { chargeNano, relayed } = meter.stream(chunks);
        assert.equal(chargeNano, bill, note);
        assert.ok(relayed.equals(body), note);
      }
    });

    it(`${name}: costs at least what was delivered and no more than the bounds if it is abandoned at any event`, () => {
      const meter = new Meter(dialect);
      const reserved = meter.reservedNano();
      const most = bill === null || reserved > bill ? reserved : bill;
      const delivered = dialect.deliveredNano!.map(BigInt);
      const events = body.toString().split(/(?<=\n\n)/);
      assert.equal(events.length, delivered.length);
      for (const [index, least] of delivered.entries()) {
        const charge = meter.stream([Buffer.from(events.slice(0, index + 1).join(''))]).chargeNano ?? 0n;
        assert.ok(charge >= least && charge <= most, `${charge} behind event ${index}`);
      }
      assert.equal(delivered.at(-1), bill ?? 0n);
      assert.ok(bill === null || bill <= reserved, 'the reservation covers the bill');
    });
  }
});
