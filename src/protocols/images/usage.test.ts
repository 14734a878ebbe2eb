import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { noUsage, TOKEN_COUNT_MAX, type Usage } from '../metering/usage-facts.ts';
import { deliveredAs, readImageUsage, withSvgUsage } from './usage.ts';

const totals = { input_tokens: 100, output_tokens: 40, total_tokens: 140 };

/** Text and image tokens in, text and image tokens out. */
const facts = (textIn: number, imageIn: number, textOut: number, imageOut: number): Usage => ({
  ...noUsage,
  inputTokens: textIn,
  imageInputTokens: imageIn,
  outputTokens: textOut,
  imageOutputTokens: imageOut,
});

describe('usage of images', () => {
  const cases: readonly [what: string, usage: unknown, facts: Usage | null][] = [
    ['takes input for text and output for images if nothing else is said', totals, facts(100, 0, 0, 40)],
    [
      'splits both sides by their details',
      {
        ...totals,
        input_tokens_details: { text_tokens: 30, image_tokens: 70 },
        output_tokens_details: { text_tokens: 5, image_tokens: 35 },
      },
      facts(30, 70, 5, 35),
    ],
    ['finds text if only images are named', inDetail({ image_tokens: 70 }, { image_tokens: 35 }), facts(30, 70, 5, 35)],
    ['finds images if only text is named', inDetail({ text_tokens: 30 }, { text_tokens: 5 }), facts(30, 70, 5, 35)],
    [
      'counts what no detail names as text in and image out',
      inDetail({ text_tokens: 1, image_tokens: 2 }, { text_tokens: 1, image_tokens: 2 }),
      facts(98, 2, 1, 39),
    ],
    ['takes details that are null for absent', inDetail(null, null), facts(100, 0, 0, 40)],
    ['takes details that are empty for absent', inDetail({}, { text_tokens: null }), facts(100, 0, 0, 40)],
    ['ignores details that are no counts', inDetail({ image_tokens: '7' }, { text_tokens: -1 }), facts(100, 0, 0, 40)],
    ['ignores details that are no objects', inDetail([70], 'all'), facts(100, 0, 0, 40)],
    [
      'does not bill details beyond their total',
      inDetail({ image_tokens: 500 }, { text_tokens: 500 }),
      facts(0, 100, 40, 0),
    ],
    ['nor what is left over of them', inDetail({ text_tokens: 500 }, { image_tokens: 500 }), facts(100, 0, 0, 40)],
    ['takes counts of zero', { input_tokens: 0, output_tokens: 0, total_tokens: 0 }, facts(0, 0, 0, 0)],
    ['has none if there is no usage', undefined, null],
    ['has none if the usage is null', null, null],
    ['has none if the usage is no object', [totals], null],
    ['has none without input tokens', { ...totals, input_tokens: undefined }, null],
    ['has none without output tokens', { ...totals, output_tokens: null }, null],
    ['has none without total tokens', { ...totals, total_tokens: undefined }, null],
    ['has none if a total is negative', { ...totals, input_tokens: -1 }, null],
    ['has none if a total is a fraction', { ...totals, output_tokens: 0.5 }, null],
    ['has none if a total is text', { ...totals, total_tokens: '140' }, null],
    ['has none if a total is beyond belief', { ...totals, output_tokens: TOKEN_COUNT_MAX + 1 }, null],
  ];
  for (const [what, usage, expected] of cases) it(what, () => assert.deepEqual(readImageUsage(usage), expected));

  function inDetail(input: unknown, output: unknown): object {
    return { ...totals, input_tokens_details: input, output_tokens_details: output };
  }

  it('adds up to the totals, whatever the details say', () => {
    const count = fc.nat({ max: 1000 });
    const detail = fc.option(fc.record({ text_tokens: fc.option(count), image_tokens: fc.option(count) }));
    fc.assert(
      fc.property(count, count, count, detail, detail, (input, output, total, inputDetails, outputDetails) => {
        const used = readImageUsage({
          input_tokens: input,
          output_tokens: output,
          total_tokens: total,
          input_tokens_details: inputDetails,
          output_tokens_details: outputDetails,
        })!;
        assert.equal(used.inputTokens + used.imageInputTokens, input);
        assert.equal(used.outputTokens + used.imageOutputTokens, output);
        for (const tokens of Object.values(used)) if (typeof tokens === 'number') assert.ok(tokens >= 0);
      }),
    );
  });
});

describe('usage of the model that writes an SVG', () => {
  const before = facts(100, 0, 3, 40);
  const svg = { model: 'm', input_tokens: 50, output_tokens: 900, reasoning_tokens: 600, total_tokens: 950 };

  it('is added as text, in and out', () => {
    assert.deepEqual(withSvgUsage(before, svg), { ...facts(150, 0, 903, 40), reasoningTokens: 600 });
  });

  it('is none if it is absent or null', () => {
    assert.equal(withSvgUsage(before, undefined), before);
    assert.equal(withSvgUsage(before, null), before);
  });

  it('counts no more reasoning than there is output, and none if there is no count', () => {
    assert.equal(withSvgUsage(before, { ...svg, reasoning_tokens: 901 })?.reasoningTokens, 900);
    assert.equal(withSvgUsage(before, { ...svg, reasoning_tokens: undefined })?.reasoningTokens, 0);
  });

  it('makes the facts unusable if it is there and cannot be read', () => {
    for (const broken of [7, [svg], {}, { ...svg, input_tokens: null }, { ...svg, output_tokens: '900' }]) {
      assert.equal(withSvgUsage(before, broken), null);
    }
  });
});

describe('what images were delivered as', () => {
  const cases: readonly [responded: unknown, requested: string | null, expected: string | null][] = [
    ['high', 'auto', 'high'],
    ['high', null, 'high'],
    [undefined, 'low', 'low'],
    [null, 'low', 'low'],
    ['', 'low', 'low'],
    [7, 'low', 'low'],
    ['x'.repeat(64), null, 'x'.repeat(64)],
    ['x'.repeat(65), null, null],
    [undefined, null, null],
  ];
  for (const [responded, requested, expected] of cases) {
    it(`is ${expected} if the response says ${JSON.stringify(responded)} and the request ${requested}`, () => {
      assert.equal(deliveredAs(responded, requested), expected);
    });
  }
});
