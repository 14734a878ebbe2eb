import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSteady, type Warmed, workUntilSteady } from './steady.ts';

/** Each slice takes a second. */
function warm(slices: readonly (number | null)[], leastMs: number, mostMs: number): Promise<Warmed> {
  let worked = 0;
  return workUntilSteady(
    async () => slices[worked++] ?? null,
    { leastMs, mostMs },
    () => worked * 1_000,
  );
}

describe('warm-up', () => {
  it('ends after two consecutive changes of less than 3 %, up or down', () => {
    for (const [slices, expected] of [
      [[], false],
      [[100, 100], false],
      [[100, 102, 100], true],
      [[300, 200, 195, 194], true],
      [[100, 100, 97], false],
      [[100, 104, 104], false],
      [[100, 100, 120, 120], false],
      [[100, null, 100, 100], false],
      [[null, 100, 100, 100], true],
      [[100, 100, null], false],
    ] as const) {
      assert.equal(isSteady(slices), expected, String(slices));
    }
  });

  it('continues until it is steady, and reports each slice', async () => {
    assert.deepEqual(await warm([300, 200, 150, 149, 148, 148], 0, 20_000), {
      isSteady: true,
      tookMs: 5_000,
      slices: [300, 200, 150, 149, 148],
    });
  });

  it('does not stop at the plateau of the first seconds', async () => {
    const { isSteady: steady, slices } = await warm([239, 238, 237, 180, 143, 143, 143], 4_000, 20_000);
    assert.deepEqual([steady, slices.length], [true, 7]);
  });

  it('ends at its limit, and reports that', async () => {
    const { isSteady: steady, tookMs } = await warm([300, 200, 300, 200, 300, 200], 0, 5_000);
    assert.deepEqual([steady, tookMs], [false, 5_000]);
  });
});
