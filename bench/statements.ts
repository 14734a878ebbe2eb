import { ACCOUNTS, KINDS, openCallBatches } from './call-batches.ts';

/**
 * The cost of the two transactions of a call by batch size, on the balance and on a Coding Plan with a limited key: milliseconds per
 * transaction, microseconds per call.
 *
 *   node bench/statements.ts [postgres://…]        an empty database; by default one of a local server
 */
const batches = await openCallBatches(process.argv[2] ?? '');
console.log(`${ACCOUNTS} accounts`);
for (const kind of KINDS) {
  console.log(`\n${kind}\nbatch   admit ms   end ms   µs a call`);
  for (const size of [1, 32, 128]) await batches.measure(kind, size);
  for (const size of [1, 8, 32, 64, 128]) {
    const { admitMs, endMs } = await batches.measure(kind, size);
    const perCall = ((admitMs + endMs) / size) * 1_000;
    console.log(
      `${String(size).padStart(5)}${admitMs.toFixed(2).padStart(11)}${endMs.toFixed(2).padStart(9)}${perCall.toFixed(0).padStart(12)}`,
    );
  }
}
await batches.close();
