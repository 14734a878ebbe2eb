import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CallLength, COLUMNS, countCalls, SHAPES } from './call-lengths.ts';
import { REPOSITORY } from './revisions.ts';

/**
 * Limits for one call. If a figure falls, lower its limit here; if it rises, give a reason next to it.
 *
 * Files, own files, functions, function calls, messages, promises, timers. An idle machine counts 14 timers; on a busy one a call may
 * exceed a time limit between two phases, which starts another.
 */
const MOST: Readonly<Record<(typeof SHAPES)[number]['name'], readonly number[]>> = {
  'stream, balance': [169, 86, 744, 1_621, 4, 87, 15],
  'stream, coding': [175, 94, 791, 1_757, 4, 89, 15],
  'whole, balance': [159, 86, 664, 1_389, 4, 87, 15],
  'whole, coding': [165, 94, 711, 1_523, 4, 89, 15],
};

const NAMES = Object.keys(COLUMNS) as (keyof CallLength)[];

describe('the code path of a call', { timeout: 240_000 }, () => {
  it('is not longer than before', async () => {
    const counted = await countCalls({ checkout: REPOSITORY, warmUp: 30, calls: 9 });
    const seen = counted.flatMap(({ shape, length }) => NAMES.map((name) => [shape.name, name, length[name]] as const));
    const most = SHAPES.flatMap(({ name }) => NAMES.map((column, i) => [name, column, MOST[name][i]!] as const));
    const longer = seen.filter(([, , count], i) => count > most[i]![2]);
    assert.deepEqual(
      longer,
      [],
      `the code path is longer (node bench/call-path.ts --files); give the reason next to the figure in ${import.meta.url}`,
    );
  });
});
