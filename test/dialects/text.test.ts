import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { type OperationName, operationOf } from '../../src/protocols/operations/all.ts';
import type { JsonOperation } from '../../src/protocols/operations/operation.ts';
import { createCatalog } from '../../src/providers/catalog/catalog.ts';
import { Meter } from '../support/meter.ts';
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

/** The meter of a case. */
function meterOf(dialect: Dialect): Meter {
  const operation = operationOf(dialect.protocol as OperationName) as JsonOperation;
  const model = catalog.models.find(({ id }) => id === `m${all.indexOf(dialect)}`)!;
  return new Meter(operation, model, dialect.request);
}

/** A quick run cuts at every seventh byte. */
const STEP_BYTES = byScope({ full: 1, quick: 7 });

const halves = (bytes: Buffer, at: number): Buffer[] => [bytes.subarray(0, at), bytes.subarray(at)];

describe('text as vendors document it', () => {
  for (const dialect of all) {
    const { name, body, isStream, billNano, unpriced = [] } = dialect;
    const bill = billNano === null ? null : { chargeNano: BigInt(billNano), unpriced };

    it(`${name}: costs the bill, cut at any byte`, () => {
      const meter = meterOf(dialect);
      for (let at = 0; at <= body.length; at += STEP_BYTES) {
        const chunks = halves(body, at);
        assert.deepEqual(isStream ? meter.stream(chunks) : meter.whole(chunks), bill, `cut at ${at}`);
      }
    });

    if (!isStream || bill === null) continue;
    it(`${name}: costs at least what was delivered if it is left at any event, and no more than may be`, () => {
      const meter = meterOf(dialect);
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
