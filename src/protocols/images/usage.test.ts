import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { noUsage, TOKEN_COUNT_MAX, type Usage } from '../metering/usage-facts.ts';
import { deliveredAs, readImageUsage, withSvgUsage } from './usage.ts';

const totals = { input_tokens: 100, output_tokens: 40, total_tokens: 140 };

/** Input and output tokens, of text and of images. */
const facts = (textIn: number, imageIn: number, textOut: number, imageOut: number): Usage => ({
  ...noUsage,
  inputTokens: textIn,
  imageInputTokens: imageIn,
  outputTokens: textOut,
  imageOutputTokens: imageOut,
});

describe('image usage', () => {
  const cases: readonly [what: string, usage: unknown, facts: Usage | null][] = [
    ['counts input as text and output as images by default', totals, facts(100, 0, 0, 40)],
    [
      'splits both totals by their details',
      {
        ...totals,
        input_tokens_details: { text_tokens: 30, image_tokens: 70 },
        output_tokens_details: { text_tokens: 5, image_tokens: 35 },
      },
      facts(30, 70, 5, 35),
    ],
    [
      'derives text if only images are reported',
      inDetail({ image_tokens: 70 }, { image_tokens: 35 }),
      facts(30, 70, 5, 35),
    ],
    [
      'derives images if only text is reported',
      inDetail({ text_tokens: 30 }, { text_tokens: 5 }),
      facts(30, 70, 5, 35),
    ],
    [
      'counts tokens without a detail as text input and image output',
      inDetail({ text_tokens: 1, image_tokens: 2 }, { text_tokens: 1, image_tokens: 2 }),
      facts(98, 2, 1, 39),
    ],
    ['treats null details as absent', inDetail(null, null), facts(100, 0, 0, 40)],
    ['treats empty details as absent', inDetail({}, { text_tokens: null }), facts(100, 0, 0, 40)],
    ['ignores invalid counts in details', inDetail({ image_tokens: '7' }, { text_tokens: -1 }), facts(100, 0, 0, 40)],
    ['ignores details that are not objects', inDetail([70], 'all'), facts(100, 0, 0, 40)],
    ['limits details to their total', inDetail({ image_tokens: 500 }, { text_tokens: 500 }), facts(0, 100, 40, 0)],
    ['limits the remainder too', inDetail({ text_tokens: 500 }, { image_tokens: 500 }), facts(100, 0, 0, 40)],
    ['accepts counts of zero', { input_tokens: 0, output_tokens: 0, total_tokens: 0 }, facts(0, 0, 0, 0)],
    ['is null without usage', undefined, null],
    ['is null for null usage', null, null],
    ['is null if the usage is not an object', [totals], null],
    ['is null without input tokens', { ...totals, input_tokens: undefined }, null],
    ['is null without output tokens', { ...totals, output_tokens: null }, null],
    ['is null without total tokens', { ...totals, total_tokens: undefined }, null],
    ['is null for a negative total', { ...totals, input_tokens: -1 }, null],
    ['is null for a fractional total', { ...totals, output_tokens: 0.5 }, null],
    ['is null for a total in a string', { ...totals, total_tokens: '140' }, null],
    ['is null for an excessive total', { ...totals, output_tokens: TOKEN_COUNT_MAX + 1 }, null],
  ];
  for (const [what, usage, expected] of cases) it(what, () => assert.deepEqual(readImageUsage(usage), expected));

  function inDetail(input: unknown, output: unknown): object {
    return { ...totals, input_tokens_details: input, output_tokens_details: output };
  }

  it('adds up to the totals, whatever the details', () => {
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

  it('is added as text input and output', () => {
    assert.deepEqual(withSvgUsage(before, svg), { ...facts(150, 0, 903, 40), reasoningTokens: 600 });
  });

  it('is ignored if it is absent or null', () => {
    assert.equal(withSvgUsage(before, undefined), before);
    assert.equal(withSvgUsage(before, null), before);
  });

  it('has no more reasoning than output, and none without a valid count', () => {
    assert.equal(withSvgUsage(before, { ...svg, reasoning_tokens: 901 })?.reasoningTokens, 900);
    assert.equal(withSvgUsage(before, { ...svg, reasoning_tokens: undefined })?.reasoningTokens, 0);
  });

  it('makes the usage unusable if it is present but unreadable', () => {
    for (const broken of [7, [svg], {}, { ...svg, input_tokens: null }, { ...svg, output_tokens: '900' }]) {
      assert.equal(withSvgUsage(before, broken), null);
    }
  });
});

describe('the description of delivered images', () => {
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
    it(`is ${expected} if the response has ${JSON.stringify(responded)} and the request ${requested}`, () => {
      assert.equal(deliveredAs(responded, requested), expected);
    });
  }
});
