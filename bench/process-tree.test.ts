import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseStat, sumTree } from './process-tree.ts';

const stat = (pid: number, parent: number, name = 'node'): string =>
  `${pid} (${name}) S ${parent} 1 1 0 -1 4194304 5 6 7 8 100 20 3 4 20 0 11 0 12345 999999 50 18446744073709551615`;

describe('process tree', () => {
  it('reads parent, times and memory after a name with blanks and brackets', () => {
    assert.deepEqual(parseStat(stat(31, 7, 'nginx: (worker) process')), { pid: 31, parent: 7, ticks: 127, pages: 50 });
  });

  it('sums a process and its descendants, listed in any order', () => {
    const all = [stat(5, 40), stat(40, 30), stat(30, 1), stat(31, 1)].map(parseStat);
    assert.deepEqual(sumTree(all, 30), { cpuMicros: 3 * 1_270_000, rssBytes: 3 * 50 * 4_096 });
  });
});
