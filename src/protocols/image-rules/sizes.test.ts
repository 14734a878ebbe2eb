import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { parseSize, type SizeLimits, sizeBreach } from './sizes.ts';

/** The limits of gpt-image-2, repeated here because the table itself is under test. */
const limits: SizeLimits = { edgeMultiple: 16, edgeMax: 3840, ratioMax: 3, pixelsMin: 655_360, pixelsMax: 8_294_400 };

const isTaken = (width: number, height: number): boolean => sizeBreach({ width, height }, limits) === null;

describe('parseSize', () => {
  it('reads digits, a lowercase x and digits', () => {
    assert.deepEqual(parseSize('1024x1536'), { width: 1024, height: 1536 });
    assert.deepEqual(parseSize('1x99999'), { width: 1, height: 99_999 });
  });

  for (const text of [
    ...['', 'auto', '1024', '1024x', 'x1024', '1024X1024', '1024*1024', '1024×1024', ' 1024x1024', '1024x1024 '],
    ...['01024x1024', '1024x0', '0x1024', '-16x16', '+16x16', '16.0x16', '1e3x16', '100000x16', '16x16x16', '16x16\n'],
  ]) {
    it(`does not accept ${JSON.stringify(text)} as a size`, () => assert.equal(parseSize(text), null));
  }

  it('reads every size that is written', () => {
    const edge = fc.integer({ min: 1, max: 99_999 });
    fc.assert(
      fc.property(edge, edge, (width, height) => {
        assert.deepEqual(parseSize(`${width}x${height}`), { width, height });
      }),
    );
  });
});

describe('sizeBreach', () => {
  const cases: readonly [width: number, height: number, isTaken: boolean, why: string][] = [
    [2048, 2048, true, 'documented'],
    [2048, 1152, true, 'documented'],
    [3840, 2160, true, 'the most pixels and the longest edge at once'],
    [2160, 3840, true, 'the same upright'],
    [512, 512, false, 'too few pixels'],
    [1024, 640, true, 'exactly the fewest pixels'],
    [1008, 640, false, 'a step below the fewest pixels'],
    [3840, 2176, false, 'a step above the most pixels'],
    [3856, 2144, false, 'a step above the longest edge'],
    [2160, 3856, false, 'the same upright'],
    [1536, 512, true, 'exactly three to one'],
    [512, 1536, true, 'exactly one to three'],
    [1552, 512, false, 'a step over three to one'],
    [1024, 1032, false, 'height is no multiple of 16'],
    [1032, 1024, false, 'width is no multiple of 16'],
  ];
  for (const [width, height, taken, why] of cases) {
    it(`${taken ? 'takes' : 'refuses'} ${width}x${height}: ${why}`, () => assert.equal(isTaken(width, height), taken));
  }

  it('accepts a size exactly if it is within all limits, in both orientations', () => {
    // Near the limits, so that both results occur: multiples of 8 up to slightly above the longest edge.
    const edge = fc.integer({ min: 1, max: 500 }).map((steps) => steps * 8);
    fc.assert(
      fc.property(edge, edge, (width, height) => {
        const expected =
          [width, height].every((each) => Number.isInteger(each / 16) && each <= 3840) &&
          width / height <= 3 &&
          height / width <= 3 &&
          width * height >= 1024 * 640 &&
          width * height <= 3840 * 2160;
        assert.equal(isTaken(width, height), expected);
        assert.equal(isTaken(height, width), expected);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
});
