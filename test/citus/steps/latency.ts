import { type Calls, callsOf, createAccount, quantile } from '../calls.ts';
import { createCitusDatabase, createPlainDatabase, withPartitions } from '../databases.ts';
import type { Step } from '../step.ts';

const WARM_UP = 50;
const BATCHES = 300;
const SIZES = [1, 32];

interface Line {
  readonly where: string;
  readonly calls: Calls;
  readonly waits: number[];
}

export const latency: Step = {
  name: 'latency',
  tries:
    'admission and end of one call, and of a batch, in a distributed schema and in a plain schema of the same server, in turns',
  async run({ ports }) {
    const stored = {
      'distributed schema': await withPartitions(await createCitusDatabase(ports), 2),
      'plain schema': await withPartitions(await createPlainDatabase(ports), 2),
    };
    try {
      const found: string[] = [];
      for (const size of SIZES) {
        const lines: Line[] = [];
        for (const [where, { databases }] of Object.entries(stored)) {
          const [directory, partition] = databases.partitions;
          const ids = Array.from({ length: size }, (_, n) => `acct_${size}_${n}`);
          for (const id of ids) await createAccount(directory!, partition!, id);
          lines.push({ where, calls: callsOf(partition!, ids), waits: [] });
        }
        await inTurns(lines);
        for (const { where, waits } of lines)
          found.push(`${size} at a time, ${where}: p50 ${quantile(waits, 0.5)}, p99 ${quantile(waits, 0.99)}`);
      }
      return found;
    } finally {
      for (const each of Object.values(stored)) await each.remove();
    }
  },
};

async function inTurns(lines: readonly Line[]): Promise<void> {
  for (let n = 0; n < WARM_UP + BATCHES; n++) {
    for (const { calls, waits } of lines) {
      const { ms, errors } = await calls.next();
      if (errors.length > 0) throw new Error(errors[0]);
      if (n >= WARM_UP) waits.push(ms);
    }
  }
  for (const { calls } of lines) await calls.checkMoney();
}
