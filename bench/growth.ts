import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { type CallBatches, KINDS, type Kind, openCallBatches } from './call-batches.ts';
import { createDatabase } from './create-database.ts';
import { divideDatabase, fillDatabase, pathOf } from './fill-database.ts';
import { median } from './quantile.ts';

/**
 * How the database cost of a call grows with the size of the database: admission and end of a call on databases with more and more
 * accounts and call records, in turns with an empty one. Prints medians over rounds, and medians of the ratios of rounds.
 *
 *     node bench/growth.ts [--sizes 200:10000,10000:100000,100000:1000000] [--rounds 7]
 *     node bench/growth.ts --local --sizes 100000:1000000
 *     node bench/growth.ts --partitions 4 --sizes 1000000:10000000       four partitions; calls are made in one of them
 *
 * A size is accounts and calls. Creating a million accounts with ten million calls takes about two minutes on PostgreSQL.
 */
const { rounds, local, partitions, ...given } = readOptions({
  sizes: '200:10000,10000:100000,100000:1000000,1000000:10000000',
  rounds: 7,
  local: false,
  partitions: 1,
});
const sizes = given.sizes.split(',').map((text) => {
  const [accounts = Number.NaN, calls = Number.NaN] = text.split(':').map(Number);
  if (!(accounts >= 200 && calls >= 1))
    throw new RangeError(`--sizes: "${text}" is not ACCOUNTS:CALLS, with 200 accounts or more`);
  return { accounts, calls };
});

/** A single call, and the size of a batch under load. */
const BATCHES = [1, 64] as const;
/** Transactions per round. */
const TRANSACTIONS = { 1: 200, 64: 40 } as const;

interface Target {
  readonly accounts: number;
  readonly calls: number;
  readonly batches: CallBatches;
  /** µs per call in each round, by kind and batch size. */
  readonly micros: Map<string, number[]>;
}

const directory = mkdtempSync(join(tmpdir(), 'faregate-growth-'));
// Memory of a small server.
const server = local ? null : await startPostgresServer(directory, { shared_buffers: '1GB', max_wal_size: '8GB' });
const targets: Target[] = [];
try {
  for (const [at, { accounts, calls }] of [{ accounts: 0, calls: 0 }, ...sizes].entries()) {
    const url = server === null ? '' : await createDatabase(server.url, `growth_${at}`);
    const dataDir = join(directory, `growth_${at}`);
    if (calls > 0) {
      console.error(`${accounts} accounts and ${calls} calls are made …`);
      await fillDatabase({ url, dataDir, accounts, calls, partitions });
    } else if (partitions > 1) await divideDatabase(url, partitions);
    const path = partitions > 1 ? pathOf(1) : null;
    targets.push({ accounts, calls, batches: await openCallBatches(url, dataDir, path), micros: new Map() });
  }
  // In the first round statements are not yet planned, and pages not yet cached.
  for (let round = 0; round <= rounds; round++) {
    console.error(`round ${round} of ${rounds}`);
    const order = round % 2 === 0 ? targets : targets.toReversed();
    for (const kind of KINDS) {
      for (const size of BATCHES) {
        for (const target of order) {
          const { admitMs, endMs } = await target.batches.measure(kind, size, TRANSACTIONS[size]);
          if (round > 0) add(target, kind, size, ((admitMs + endMs) / size) * 1_000);
        }
      }
    }
  }
  print();
} finally {
  for (const { batches } of targets) await batches.close();
  await server?.stop();
  removeDirectory(directory);
}

function add({ micros }: Target, kind: Kind, size: number, value: number): void {
  const key = `${kind} ${size}`;
  micros.set(key, [...(micros.get(key) ?? []), value]);
}

function print(): void {
  const columns = KINDS.flatMap((kind) => BATCHES.map((size) => ({ kind, size })));
  const titles = columns.map(({ kind, size }) => `${kind}, ${size === 1 ? 'alone' : `of ${size}`}: µs | of empty`);
  console.log(`| accounts | calls | ${titles.join(' | ')} |`);
  console.log(`|${'---|'.repeat(2 + 2 * columns.length)}`);
  const [empty] = targets;
  for (const target of targets) {
    const cells = columns.flatMap(({ kind, size }) => {
      const [own, beside] = [target, empty!].map(({ micros }) => micros.get(`${kind} ${size}`)!) as [
        number[],
        number[],
      ];
      const ratios = own.map((value, round) => value / beside[round]!);
      return [median(own)!.toFixed(0), median(ratios)!.toFixed(2)];
    });
    const counts = [target.accounts, target.calls].map((count) => count.toLocaleString('en'));
    console.log(`| ${[...counts, ...cells].join(' | ')} |`);
  }
}
