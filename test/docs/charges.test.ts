import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BilledFact, billedFacts } from '../../scripts/billed-facts.ts';
import { imagesResponse } from '../../src/protocols/images/response.ts';
import type { ResponseReading } from '../../src/protocols/metering/response.ts';
import { serviceTerms, type TermName, termNames } from '../../src/protocols/metering/service-terms.ts';
import { addUsage, type ChargeBasis, type Usage } from '../../src/protocols/metering/usage-facts.ts';
import { pricedUnits, type UnitName } from '../../src/protocols/metering/usage-units.ts';
import { type OperationName, operationNames, operationOf, operations } from '../../src/protocols/operations/all.ts';
import type { JsonOperation } from '../../src/protocols/operations/operation.ts';
import { captureResponse } from '../support/captured.ts';
import { readInput } from '../support/request-input.ts';

/** The table in `docs/charges.md` is generated from these facts. The gateway has to read each of them as the page states. */

const requests: Readonly<Record<string, object>> = {
  chat: { messages: [] },
  responses: { input: 'x' },
  compact: { input: 'x' },
  messages: { messages: [], max_tokens: 10 },
  completions: { prompt: 'x' },
  embeddings: { input: 'x' },
  rerank: { query: 'x', documents: ['y'] },
  'images.generate': { prompt: 'x' },
};
const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'abc' };
const responses: Readonly<Record<string, Record<string, unknown>>> = {
  responses: { id: 'resp_1', object: 'response', output: [] },
  compact: {
    id: 'resp_1',
    object: 'response.compaction',
    created_at: 1,
    output: [compaction],
  },
  embeddings: { data: [] },
  rerank: { results: [] },
  'images.generate': { created: 1, data: [{ url: 'a' }, { b64_json: 'b' }] },
  'images.edit': { created: 1, data: [{ url: 'a' }, { b64_json: 'b' }] },
};

function readingOf(operation: OperationName, fact: BilledFact): ResponseReading {
  // The request of an edit is a form; its response is parsed like a generation's.
  if (operation === 'images.edit') return imagesResponse({ quality: null, size: null });
  const body = JSON.stringify({ model: 'm', ...requests[operation], ...fact.request });
  return readInput(operationOf(operation) as JsonOperation, body).response;
}

function basisOf({ counts }: BilledFact): ChargeBasis {
  if (counts === 'searchUnits' || counts === 'images' || counts === 'calls') return counts;
  return 'tokens';
}

function usageOf(operation: OperationName, fact: BilledFact): Usage {
  const members: Record<string, unknown> = { ...responses[operation], ...withDetails(operation, fact.example) };
  const reading = readingOf(operation, fact);
  const response = captureResponse(reading, JSON.stringify(members));
  const usage = reading.usage(response, basisOf(fact));
  assert.ok(usage !== null, 'the response has no usage');
  return (usage.parts ?? []).reduce((sum, part) => (part.isInside ? sum : addUsage(sum, part.usage)), usage);
}

/** The gateway accepts usage of compactions only with all details. */
function withDetails(operation: OperationName, example: BilledFact['example']): BilledFact['example'] {
  if (operation !== 'compact') return example;
  const usage = example.usage as Record<string, object>;
  const input_tokens_details = { cached_tokens: 0, cache_write_tokens: 0, ...usage.input_tokens_details };
  const stated = usage.input_tokens_details as { cache_write_tokens_details?: object } | undefined;
  if (stated?.cache_write_tokens_details) Reflect.deleteProperty(input_tokens_details, 'cache_write_tokens');
  const output_tokens_details = { reasoning_tokens: 0, ...usage.output_tokens_details };
  return { ...example, usage: { ...usage, input_tokens_details, output_tokens_details } };
}

function amountOf(usage: Usage, counts: BilledFact['counts']): number | string | undefined {
  if (counts === 'calls') return 1;
  if (counts === 'images') return usage.images.reduce((sum, { count }) => sum + count, 0);
  if (Object.hasOwn(serviceTerms, counts)) return usage.servedOn?.[counts as TermName];
  return usage[counts as UnitName];
}

describe('a row in docs/charges.md', () => {
  for (const fact of billedFacts) {
    for (const operation of fact.operations) {
      it(`is read as it says: ${fact.counts} of ${operation} in ${fact.where}`, () => {
        assert.equal(amountOf(usageOf(operation, fact), fact.counts), fact.amount);
      });
    }
  }

  it('covers every operation, every unit with a price and every term', () => {
    const listed = new Set(billedFacts.map(({ counts }) => counts));
    assert.deepEqual(
      [...pricedUnits.map(({ name }) => name), ...termNames].filter((name) => !listed.has(name)),
      [],
    );
    const operationsListed = new Set(billedFacts.flatMap((fact) => fact.operations));
    assert.deepEqual(
      operationNames.filter((name) => !operationsListed.has(name)),
      [],
    );
  });

  it('covers every tool that an operation may report', () => {
    for (const { name, toolPrices = [] } of operations as readonly {
      name: OperationName;
      toolPrices?: readonly string[];
    }[]) {
      const listed = billedFacts
        .filter((fact) => fact.operations.includes(name))
        .flatMap(({ counts }) =>
          pricedUnits.flatMap((unit) => (unit.name === counts ? [unit.price.key as string] : [])),
        );
      for (const key of toolPrices) assert.ok(listed.includes(key), `${name} ${key}`);
    }
  });
});
