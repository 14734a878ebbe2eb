import { once } from 'node:events';
import { resolve } from 'node:path';
import pg from 'pg';
import { readOptions } from '../scripts/read-options.ts';
import type { Database } from '../src/db/database.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { createTestNode, outcomeOf, requestOf } from '../test/support/accounting-builders.ts';
import { startGatewayTarget } from './gateway-target.ts';
import { report, send, sendAll } from './paced-calls.ts';
import { ALL_CORES, spawnPinned } from './processes.ts';
import { REPOSITORY } from './revisions.ts';
import { startStage } from './stage.ts';
import { gatewayOrder } from './targets.ts';

/**
 * Locks on rows of accounts in PostgreSQL. First, the latency of calls of fifteen accounts while the row of a sixteenth, which makes
 * calls too, is locked for a second: 100 calls, 50 per second. Then, how often the transactions of two nodes that share a busy account
 * wait for each other so long that they skip the account or use a separate connection.
 *
 *   node bench/locked-account.ts
 *   node bench/locked-account.ts --checkout directory   the first part with another version, which has its node_modules
 */
const options = readOptions({
  checkout: REPOSITORY,
  /** For the processes of the second part. */
  node: '',
  url: '',
});
const BUSY_SECONDS = 8;
const BUSY_CALLS = 64;

if (options.node === '') await main();
else await beNode(options.node, options.url);

async function main(): Promise<void> {
  const stage = await startStage(0, []);
  const url = await stage.createDatabase();
  const target = await startGatewayTarget(gatewayOrder(stage, resolve(options.checkout), url));
  const [ofLocked, ...others] = target.balanceKeys;
  for (const key of target.balanceKeys) await send(target.url, key);
  report('other accounts, nothing locked', await sendAll(target.url, others));
  const operator = new pg.Client({ connectionString: url });
  await operator.connect();
  await operator.query('begin');
  await operator.query('select from balances where account_id = (select min(account_id) from balances) for update');
  const locked = Promise.all([send(target.url, ofLocked!), send(target.url, ofLocked!)]);
  const unlocked = new Promise((wait) => setTimeout(wait, 1_000)).then(() => operator.query('commit'));
  report('other accounts, a row locked for a second', await sendAll(target.url, others));
  await unlocked;
  report('the account of that row', await locked);
  await target.stop();

  const nodes = ['one', 'two'].map((name) =>
    spawnPinned([process.execPath, import.meta.filename, '--node', name, '--url', url], ALL_CORES, {}, 'inherit'),
  );
  await Promise.all(nodes.map((node) => once(node, 'exit')));
  await operator.end();
  await stage.stop();
}

/** One node: admits and ends calls of the shared account, many at a time. */
async function beNode(name: string, url: string): Promise<void> {
  const counts = { transactions: 0, pastLocks: 0, waiting: 0, longestMs: 0 };
  const real = openPostgres({ url, logger: silentLogger });
  const database: Database = {
    ...real,
    async readThenWrite(transaction, signal) {
      counts.transactions++;
      if (transaction.waitsForLocks) counts.waiting++;
      if (transaction.reads.some(({ statement }) => statement.name === 'reservations.lock-free-balances'))
        counts.pastLocks++;
      const startMs = performance.now();
      try {
        return await real.readThenWrite(transaction, signal);
      } finally {
        counts.longestMs = Math.max(counts.longestMs, performance.now() - startMs);
      }
    },
  };
  const [row] = await real.query<{ account_id: string }>({
    name: 'bench.account',
    text: 'select max(account_id) as account_id from balances',
  });
  const accountId = row!.account_id;
  const node = createTestNode(database, { nodeId: `node_${name}` });
  const endMs = performance.now() + BUSY_SECONDS * 1_000;
  let calls = 0;
  const oneAfterTheOther = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const callId = `call_${name}_${calls++}`;
      await node.reservations.admit(requestOf(accountId, callId, 1n));
      await node.end(outcomeOf(accountId, callId, 1n));
    }
  };
  await Promise.all(Array.from({ length: BUSY_CALLS }, oneAfterTheOther));
  await node.drain();
  await real.close();
  console.log(
    `node ${name}: ${calls} calls in ${counts.transactions} transactions, the longest ${counts.longestMs.toFixed(0)} ms; ` +
      `${counts.pastLocks} past locked accounts, ${counts.waiting} waiting for a lock`,
  );
}
