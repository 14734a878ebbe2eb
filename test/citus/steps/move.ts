import { callsOf, createAccount, quantile } from '../calls.ts';
import { createCitusDatabase, rowsOf, withPartitions } from '../databases.ts';
import type { Step } from '../step.ts';

const ACCOUNTS = 8;

export const move: Step = {
  name: 'move',
  tries: 'a schema moves to the other worker (citus_schema_move) while its accounts make calls',
  async run({ ports }) {
    await using stored = await withPartitions(await createCitusDatabase(ports), 2);
    const [directory, partition] = stored.databases.partitions;
    const ids = Array.from({ length: ACCOUNTS }, (_, n) => `acct_${n}`);
    for (const id of ids) await createAccount(directory!, partition!, id);
    const accounts = ids.map((id) => callsOf(partition!, [id]));
    const from = await portOf(ports.coordinator, stored.name);
    const to = ports.workers.find((port) => port !== from)!;
    const calls: { ms: number; errors: readonly string[] }[] = [];
    let isMoving = true;
    const loops = accounts.map(async (account) => {
      while (isMoving) calls.push(await account.next());
    });
    const startedAt = performance.now();
    await rowsOf(
      ports.coordinator,
      stored.name,
      `select citus_schema_move('faregate_01', '127.0.0.1', ${to}, 'auto')`,
    ).finally(() => {
      isMoving = false;
    });
    const tookS = ((performance.now() - startedAt) / 1_000).toFixed(1);
    await Promise.all(loops);
    // On the other worker.
    for (const account of accounts) await account.next();
    for (const account of accounts) await account.checkMoney();
    const now = await portOf(ports.coordinator, stored.name);
    if (now !== to) throw new Error(`the schema is on ${now}, not on ${to}`);
    const waits = calls.map(({ ms }) => ms);
    const errors = calls.flatMap((call) => call.errors);
    return [
      `moved in ${tookS} s, while ${ACCOUNTS} accounts made ${calls.length} calls: p50 ${quantile(waits, 0.5)}, the longest ${quantile(waits, 1)}`,
      `${errors.length} transactions failed and were repeated${errors.length === 0 ? '' : `: ${[...new Set(errors)].join('; ')}`}`,
      'balances, ledger and reservations agree with the calls',
    ];
  },
};

/** The worker that has the schema. */
async function portOf(coordinator: number, database: string): Promise<number> {
  const [row] = await rowsOf<{ port: number }>(
    coordinator,
    database,
    `select distinct nodeport as port from citus_shards where table_name = 'faregate_01.balances'::regclass`,
  );
  return row!.port;
}
