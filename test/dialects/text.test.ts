import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { operationOf } from '../../src/protocols/operations/all.ts';
import type { JsonOperation } from '../../src/protocols/operations/operation.ts';
import { Meter } from '../support/meter.ts';
import { cutEverywhere } from '../support/scope.ts';
import { type Dialect, dialects } from './dialects.ts';
import { catalogOf, operationNameOf } from './preset-catalog.ts';

/**
 * Responses of chat, messages, responses, embeddings and rerank from vendors' documentation (`test/fixtures/dialects/README.md`), metered
 * like relayed ones but without a gateway.
 */
const all = dialects().filter(({ protocol }) => protocol !== 'images');

const catalog = catalogOf(all, { contextLength: 200_000, maxOutputTokens: 8_192 });

function meterOf(dialect: Dialect): Meter {
  const operation = operationOf(operationNameOf(dialect)) as JsonOperation;
  const model = catalog.models.find(({ id }) => id === `m${all.indexOf(dialect)}`)!;
  return new Meter(operation, model, dialect.request);
}

describe("text in vendors' documented formats", () => {
  for (const dialect of all) {
    const { name, body, isStream, billNano, leftNano, unpriced = [] } = dialect;
    const bill = billNano === null ? null : { chargeNano: BigInt(billNano), unpriced };

    it(`${name}: costs the bill, however it is cut`, () => {
      const meter = meterOf(dialect);
      for (const { chunks, note } of cutEverywhere(body)) {
        assert.deepEqual(isStream ? meter.stream(chunks) : meter.whole(chunks), bill, note);
      }
    });

    if (!isStream || bill === null) continue;
    if (leftNano !== undefined) {
      it(`${name}: costs what was delivered if it is abandoned at any event`, () => {
        const meter = meterOf(dialect);
        const events = body.toString().split(/(?<=\n\n)/);
        const charges = events.map((_, i) => meter.stream([Buffer.from(events.slice(0, i + 1).join(''))])?.chargeNano);
        assert.deepEqual(charges, leftNano.map(BigInt));
      });
      continue;
    }
    it(`${name}: costs at least what was delivered and no more than the bounds if it is abandoned at any event`, () => {
      const meter = meterOf(dialect);
      const events = body.toString().split(/(?<=\n\n)/);
      for (let count = 1; count <= events.length; count++) {
        const chunks = [Buffer.from(events.slice(0, count).join(''))];
        const charge = meter.stream(chunks)?.chargeNano ?? 0n;
        const delivered = meter.deliveredNano(chunks);
        const most = [delivered, bill.chargeNano, meter.reservedNano()].reduce((left, right) =>
          left > right ? left : right,
        );
        // The estimate of a very short text may exceed the bill, which uses the vendor's tokens.
        assert.ok(
          charge >= (delivered < bill.chargeNano ? delivered : bill.chargeNano),
          `${charge} behind ${count} events`,
        );
        assert.ok(charge <= most, `${charge} behind ${count} events`);
      }
    });
  }
});
