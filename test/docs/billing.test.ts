import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { LIST_PRICE_BASIS_POINTS, roundedAtFactor } from '../../src/accounting/pricing/price-factor.ts';
import { parseConfig } from '../../src/config/load.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { type OperationName, operationOf } from '../../src/protocols/operations/all.ts';
import type { JsonOperation } from '../../src/protocols/operations/operation.ts';
import { createCatalog } from '../../src/providers/catalog/catalog.ts';
import { Meter } from '../support/meter.ts';

/** Every charge in `docs/billing.md` is what the gateway charges, and the sum of its lines. */
const PAGE = readFileSync(new URL('../../docs/billing.md', import.meta.url), 'utf8');
const PROVIDER = 'providers: { acme: { protocol: chat, baseUrl: https://acme.example/v1, apiKey: a-key } }\n';

interface Example {
  readonly title: string;
  readonly operation: string;
  readonly request: { model: string };
  readonly response: Buffer;
  readonly isStream: boolean;
  readonly charge: string;
}

const blocksOf = (text: string): { language: string; about: string; text: string }[] =>
  [...text.matchAll(/^```(\w+) ?(.*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1]!,
    about: match[2]!,
    text: match[3]!,
  }));

const examples = PAGE.split(/^## /m).flatMap((section): Example[] => {
  const blocks = blocksOf(section);
  const charge = blocks.find(({ about }) => about === 'charge');
  if (charge === undefined) return [];
  const [request, response] = blocks;
  return [
    {
      title: section.split('\n')[0]!,
      operation: request!.about,
      request: JSON.parse(request!.text) as { model: string },
      response: Buffer.from(response!.about === 'stream' ? `${response!.text}\n` : response!.text),
      isStream: response!.about === 'stream',
      charge: charge.text,
    },
  ];
});

const configuration = blocksOf(PAGE).find(({ language }) => language === 'yaml')!.text;
const catalog = createCatalog(parseConfig(PROVIDER + configuration, 'faregate.yaml', {}));

/** The last line of a block. Checks each line before it, and their sum. */
function addedUp(text: string): { chargeNano: bigint; priceFactorBasisPoints: number } {
  let sum = 0n;
  let priceFactorBasisPoints = LIST_PRICE_BASIS_POINTS;
  const lines = text.trimEnd().split('\n');
  const charge = /^charge +¥([\d.]+)$/.exec(lines.pop()!);
  assert.ok(charge, 'the last line is not the charge');
  for (const line of lines) {
    const factor = /^x (\d+) %$/.exec(line);
    if (factor) {
      priceFactorBasisPoints = Number(factor[1]) * 100;
      continue;
    }
    const product = /^ *([\d,]+) x ¥([\d.]+) +(\/ 1,000,000 )?= ¥([\d.]+)$/.exec(line);
    assert.ok(product, line);
    const [, count, price, isPerMillion, amount] = product;
    const nano = BigInt(count!.replaceAll(',', '')) * parseYuan(price!)!;
    const divisor = isPerMillion === undefined ? 1n : 1_000_000n;
    assert.equal(nano, parseYuan(amount!)! * divisor, line);
    sum += parseYuan(amount!)!;
  }
  const chargeNano = parseYuan(charge[1]!)!;
  assert.equal(roundedAtFactor(sum, 1n, priceFactorBasisPoints), chargeNano);
  return { chargeNano, priceFactorBasisPoints };
}

describe('docs/billing.md', () => {
  for (const { title, operation, request, response, isStream, charge } of examples) {
    it(`matches the gateway's charge: ${title}`, () => {
      const { chargeNano, priceFactorBasisPoints } = addedUp(charge);
      const model = catalog.models.find(({ id }) => id === request.model)!;
      const meter = new Meter(
        operationOf(operation as OperationName) as JsonOperation,
        model,
        request,
        priceFactorBasisPoints,
      );
      const metered = isStream ? meter.stream([response]) : meter.whole([response]);
      assert.deepEqual(metered, { chargeNano, unpriced: [] });
    });
  }

  it('has an example of each kind', () => {
    const kinds = new Set(examples.map(({ operation }) => operation));
    assert.deepEqual([...kinds].sort(), ['chat', 'embeddings', 'images.generate', 'messages', 'responses']);
    assert.ok(examples.length >= 9 && examples.some(({ isStream }) => isStream));
  });
});
