import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConnectionShare, shareOfDirectory, shareOfPartition } from './connection-shares.ts';
import { POOL_NAMES, STATEMENT_CONNECTIONS_MAX } from './pools.ts';

const sum = ({ statements, batches, locks, pool }: ConnectionShare): number =>
  POOL_NAMES.reduce((total, name) => total + pool(name), statements + batches + locks);

function numbersOf(partitions: number, statementsMax = STATEMENT_CONNECTIONS_MAX) {
  const [directory, further] = [shareOfDirectory, shareOfPartition].map((of) => of(partitions, statementsMax));
  return {
    directory: sum(directory!),
    further: sum(further!),
    all: sum(directory!) + (partitions - 1) * sum(further!),
    batches: directory!.batches + (partitions - 1) * further!.batches,
  };
}

describe('connections to partitions', () => {
  it('are those of one process if there is one partition, which shares them with the directory', () => {
    const { statements, batches, locks, pool } = shareOfDirectory(1, STATEMENT_CONNECTIONS_MAX);
    assert.deepEqual([statements, batches, locks, ...POOL_NAMES.map(pool)], [10, 4, 2, 2, 4, 1, 1, 1]);
    assert.equal(shareOfDirectory(1, 3).batches, 3);
  });

  it('are divided among several partitions, so that their sum grows far less than their number', () => {
    const table = [1, 2, 4, 8, 16].map((partitions) => ({ partitions, ...numbersOf(partitions) }));
    assert.deepEqual(table, [
      { partitions: 1, directory: 25, further: 25, all: 25, batches: 4 },
      { partitions: 2, directory: 22, further: 14, all: 36, batches: 4 },
      { partitions: 4, directory: 22, further: 11, all: 55, batches: 8 },
      { partitions: 8, directory: 22, further: 10, all: 92, batches: 16 },
      { partitions: 16, directory: 22, further: 10, all: 172, batches: 32 },
    ]);
  });

  it('leave one batch in addition to one that waits for a lock, for any number of partitions', () => {
    for (const partitions of [2, 16, 99]) {
      const { statements, batches, locks, pool } = shareOfPartition(partitions, STATEMENT_CONNECTIONS_MAX);
      assert.deepEqual([batches, locks, Math.min(statements, 2)], [2, 1, 2]);
      for (const name of POOL_NAMES) assert.ok(pool(name) >= 1);
    }
  });
});
