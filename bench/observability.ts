import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import { startGatewayTarget } from './gateway-target.ts';
import type { SwitchedPair, SwitchOrder } from './observer-switch.ts';
import { benchFile, hasCores, spawnGateway } from './processes.ts';
import { median } from './quantile.ts';
import { REPOSITORY } from './revisions.ts';
import { startStage } from './stage.ts';
import { chatCall, DATABASE_KINDS, type DatabaseKind, gatewayOrder } from './targets.ts';

/**
 * The cost of the log, of records of refusals and of metrics for a call: CPU of the gateway's process with them on and off in turns,
 * every second, in the same process, during non-streaming chat on a balance, which is the cheapest call. The log goes to a file. Prints
 * the medians, the median of the ratios of neighbours, and its 95 % confidence interval. The load has no refusals: most calls only check
 * for one.
 *
 *   node bench/observability.ts                  on a PostgreSQL that it starts, and on a local server
 *   node bench/observability.ts --pairs 30 --slice-ms 900 --connections 64
 *   node bench/observability.ts --profile directory    also writes a CPU profile of each gateway there, which slows it down
 */
const {
  connections,
  pairs,
  'slice-ms': sliceMs,
  profile,
} = readOptions({ connections: 64, pairs: 60, 'slice-ms': 700, profile: '' });
/** Until V8 has optimised the code. */
const WARM_UP_S = 10;

const stage = await startStage(0, profile === '' ? [] : ['--cpu-prof', '--cpu-prof-dir', profile]);

console.log(`${pairs} pairs of ${sliceMs} ms, ${connections} connections${hasCores ? '' : ', not pinned to cores'}`);
console.log('             off, µs   on, µs   on : off   95 %');
for (const kind of DATABASE_KINDS) {
  const measured = await measure(kind);
  // On a busy machine a slice may end without a completed call.
  const ratios = measured
    .map(({ on, off }) => on / off)
    .filter(Number.isFinite)
    .toSorted((left, right) => left - right);
  const [low, high] = medianInterval(ratios);
  const cells = (['off', 'on'] as const).map((half) => median(measured.map((pair) => pair[half]))!.toFixed(0));
  const interval = `${low.toFixed(3)} to ${high.toFixed(3)}`;
  console.log(
    `${kind.padEnd(12)}${cells.map((cell) => cell.padStart(8)).join(' ')}   ${median(ratios)!.toFixed(3)}      ${interval}`,
  );
}
await stage.stop();

async function measure(kind: DatabaseKind): Promise<readonly SwitchedPair[]> {
  const log = openSync(join(stage.directory, `${kind}.log`), 'a');
  const { url, balanceKeys, orders, stop } = await startGatewayTarget({
    ...gatewayOrder(stage, REPOSITORY, kind === 'local' ? '' : await stage.createDatabase()),
    spawn: (args, environment) => spawnGateway(args, { ...environment, LOG_LEVEL: 'info' }, log),
    meter: benchFile('observer-switch.ts'),
  });
  const seconds = WARM_UP_S + (pairs * 2 * (sliceMs + 100)) / 1_000;
  const loaded = stage.load({ kind: 'closed', call: chatCall(url, balanceKeys), connections, seconds });
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_S * 1_000));
  const measured = await orders.ask<SwitchedPair[]>({ pairs, sliceMs } satisfies SwitchOrder);
  const { failures } = await loaded;
  if (failures > 0) throw new Error(`${kind}: ${failures} calls failed`);
  await stop();
  closeSync(log);
  return measured;
}

/** The 95 % confidence interval of the median, as two of the sorted values. */
function medianInterval(sorted: readonly number[]): [number, number] {
  const reach = Math.ceil(0.98 * Math.sqrt(sorted.length));
  const middle = (sorted.length - 1) / 2;
  return [
    sorted[Math.max(0, Math.floor(middle - reach))]!,
    sorted[Math.min(sorted.length - 1, Math.ceil(middle + reach))]!,
  ];
}
