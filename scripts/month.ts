import { runMonth } from '../test/month/month.ts';
import { globalSetup, globalTeardown } from '../test/support/global-setup.ts';

/**
 * Simulates a month of generated traffic and of the dialect corpus, charged by the gateway and billed by an independent program
 * (`test/month`).
 *
 *   npm run month -- [calls] [seed]      exit code 1 if the sums differ
 */
const [calls = '20000', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);

console.log(`${calls} calls, seed ${seed}`);
await globalSetup();
const month = await runMonth({
  seed: Number(seed),
  calls: Number(calls),
  aborts: Math.ceil(Number(calls) / 50),
  callsAtOnce: 16,
}).finally(globalTeardown);
for (const { model, chargedNano, billedNano } of month.sums) {
  const verdict = chargedNano === billedNano ? 'equal' : `billed ${yuan(billedNano)}`;
  console.log(`${model.padEnd(48)} charged ${yuan(chargedNano).padStart(18)}  ${verdict}`);
}
const over = month.aborted.filter(({ chargedNano, reservedNano }) => chargedNano > reservedNano);
console.log(`${month.refused} refused; ${month.aborted.length} aborted, ${over.length} of them above the reservation`);
if (over.length > 0 || month.sums.some(({ chargedNano, billedNano }) => chargedNano !== billedNano))
  process.exitCode = 1;

function yuan(nano: bigint): string {
  return `¥${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, '0')}`;
}
