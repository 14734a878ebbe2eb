import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { billedNano, dialects } from './dialects.ts';
import { presetOf } from './preset-catalog.ts';

const PROTOCOLS = ['chat', 'messages', 'responses', 'embeddings', 'rerank', 'images'];

describe('the corpus of vendor responses', () => {
  const all = dialects();

  it('names the document of each response, and how its bill was calculated', () => {
    assert.ok(all.length > 0);
    for (const { name, document, date, working, protocol } of all) {
      assert.match(document, /^https:\/\//, name);
      assert.match(date, /^\d{4}-\d{2}-\d{2}$/, name);
      assert.notEqual(working, '', name);
      assert.ok(PROTOCOLS.includes(protocol), name);
    }
  });

  it('has bills whose sums match their lines', () => {
    for (const each of all) {
      assert.equal(each.bill === undefined, each.billNano === null, each.name);
      if (each.billNano !== null) assert.equal(billedNano(each), BigInt(each.billNano), each.name);
    }
  });

  it('has no unbillable response of a vendor whose preset estimates missing usage', () => {
    for (const each of all) {
      if (each.billNano !== null) continue;
      // A response that the vendor does not bill, such as an error with status 200, would be charged.
      const estimating = presetOf(each)?.providers.filter(({ missingUsage }) => missingUsage === 'estimate') ?? [];
      assert.deepEqual(estimating, [], each.name);
    }
  });
});
