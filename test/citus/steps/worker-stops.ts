import assert from 'node:assert/strict';
import type { Database } from '../../../src/db/database.ts';
import { isUnavailable } from '../../../src/db/errors.ts';
import { sql } from '../../support/sql.ts';
import { callsOf, createAccount, quantile } from '../calls.ts';
import { createCitusDatabase, rowsOf, withPartitions } from '../databases.ts';
import type { Step } from '../step.ts';

const CALLS = 200;
const ATTEMPTS = 20;

const readOne = 'select balance_nano from balances limit 1';

export const workerStops: Step = {
  name: 'worker-stops',
  tries:
    'a worker loses its power: partitions of the other one go on, those of it fail at once, and work again when it is back',
  async run({ ports, workers }) {
    await using stored = await withPartitions(await createCitusDatabase(ports), 3);
    const [directory, first, second] = stored.databases.partitions;
    await createAccount(directory!, first!, 'acct_1');
    await createAccount(directory!, second!, 'acct_2');
    const [lost, kept] = [callsOf(first!, ['acct_1']), callsOf(second!, ['acct_2'])];
    for (let n = 0; n < 20; n++) await Promise.all([lost.next(), kept.next()]);
    const [{ port } = { port: 0 }] = await rowsOf<{ port: number }>(
      ports.coordinator,
      stored.name,
      `select distinct nodeport as port from citus_shards where table_name = 'faregate_01.balances'::regclass`,
    );
    const worker = workers.find((server) => server.port === port)!;
    await worker.kill();
    const failed = await failuresOf(first!);
    const waits: number[] = [];
    for (let n = 0; n < CALLS; n++) {
      const { ms, errors } = await kept.next();
      assert.deepEqual(errors, []);
      waits.push(ms);
    }
    await worker.start();
    const back = await lost.next();
    for (const calls of [lost, kept]) await calls.checkMoney();
    return [
      `the other partition: ${CALLS} calls without an error, p50 ${quantile(waits, 0.5)}, the longest ${quantile(waits, 1)}`,
      `statements of the lost one fail in p50 ${quantile(failed.waits, 0.5)}, at most ${quantile(failed.waits, 1)}: ${failed.words.join('; ')}`,
      `when it is back: the next call took ${back.ms.toFixed(0)} ms, with ${back.errors.length} failed attempts; money agrees in both`,
    ];
  },
};

async function failuresOf(
  partition: Database,
): Promise<{ readonly waits: readonly number[]; readonly words: readonly string[] }> {
  const waits: number[] = [];
  const words = new Set<string>();
  for (let n = 0; n < ATTEMPTS; n++) {
    const startedAt = performance.now();
    await assert.rejects(sql(partition, readOne), (error: Error & { code?: string }) => {
      words.add(`${error.code} (${isUnavailable(error) ? 'taken for unavailable' : 'not taken for unavailable'})`);
      return true;
    });
    waits.push(performance.now() - startedAt);
  }
  return { waits, words: [...words] };
}
