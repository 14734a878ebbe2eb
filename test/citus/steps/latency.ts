import { callsOf, createAccount, quantile } from '../calls.ts';
import { createCitusDatabase, createPlainDatabase, withPartitions } from '../databases.ts';
import type { Step } from '../step.ts';

const WARM_UP = 100;
const CALLS = 1_000;

export const latency: Step = {
  name: 'latency',
  tries: 'one admission and one end in a distributed schema, and in a plain schema of the same server, in turns',
  async run({ ports }) {
    const stored = [
      await withPartitions(await createCitusDatabase(ports), 2),
      await withPartitions(await createPlainDatabase(ports), 2),
    ];
    try {
      const lines = [];
      for (const { databases } of stored) {
        const [directory, partition] = databases.partitions;
        await createAccount(directory!, partition!, 'acct_1');
        lines.push({ calls: callsOf(partition!, 'acct_1'), waits: [] as number[] });
      }
      for (let n = 0; n < WARM_UP + CALLS; n++) {
        for (const { calls, waits } of lines) {
          const { ms, errors } = await calls.next();
          if (errors.length > 0) throw new Error(errors[0]);
          if (n >= WARM_UP) waits.push(ms);
        }
      }
      for (const { calls } of lines) await calls.checkMoney();
      return lines.map(({ waits }, at) => {
        const where = at === 0 ? 'distributed schema' : 'plain schema';
        return `${where}: p50 ${quantile(waits, 0.5)}, p99 ${quantile(waits, 0.99)} of ${CALLS} calls`;
      });
    } finally {
      for (const each of stored) await each.remove();
    }
  },
};
