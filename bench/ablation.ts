import { readOptions } from '../scripts/read-options.ts';
import { ABLATED, PARTS } from './ablate.ts';
import { endByClose, startGatewayTarget } from './gateway-target.ts';
import type { MeterReading } from './meter.ts';
import { openOrderLine } from './order-line.ts';
import { benchFile, nextMessage, spawnGateway, spawnOnCore, TARGET_CORE } from './processes.ts';
import { quantile } from './quantile.ts';
import { REPOSITORY } from './revisions.ts';
import { startStage } from './stage.ts';
import { chatCall, gatewayOrder } from './targets.ts';

/**
 * Ablation of a non-streaming call: CPU per call of the gateway with one part after another removed, compared with the full gateway and
 * the bare proxy, on PostgreSQL. Processes of the same code differ by a tenth, so each variant is started several times; figures are
 * medians.
 *
 *   node bench/ablation.ts [--connections 64] [--starts 1] [--rounds 7] [--seconds 2] [--warm-up 12]
 */
const values = readOptions({ connections: 64, starts: 1, rounds: 7, seconds: 2, 'warm-up': 12 });
const single = Object.keys(PARTS);
const VARIANTS: readonly (readonly string[])[] = [
  [],
  ...single.map((part) => [part]),
  ['admission', 'settlement'],
  single.filter((part) => part !== 'admission' && part !== 'settlement'),
  single,
];

interface Variant {
  readonly name: string;
  readonly call: ReturnType<typeof chatCall>;
  read(): Promise<MeterReading>;
  stop(): Promise<void>;
}

const stage = await startStage(0, []);
/** By name of the variant: CPU per call of each round. */
const measured = new Map<string, number[]>();
try {
  for (let start = 0; start < values.starts; start++) await measureAll();
  show();
} finally {
  await stage.stop();
}

async function measureAll(): Promise<void> {
  const variants: Variant[] = [];
  try {
    variants.push(await startBare());
    for (const parts of VARIANTS) variants.push(await startVariant(parts));
    for (const variant of variants) await measure(variant, values['warm-up']);
    for (let round = 0; round < values.rounds; round++) {
      for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
        const micros = await measure(variant, values.seconds);
        measured.set(variant.name, [...(measured.get(variant.name) ?? []), micros]);
      }
    }
  } finally {
    for (const variant of variants) await variant.stop();
  }
}

async function startBare(): Promise<Variant> {
  const orders = await openOrderLine();
  const args = ['--import', benchFile('meter.ts'), benchFile('bare-proxy.ts'), stage.providerUrl];
  const child = spawnOnCore(args, TARGET_CORE, orders.environment);
  const { url } = await nextMessage<{ url: string }>(child);
  return {
    name: 'bare proxy',
    call: chatCall(url, ['none']),
    read: () => orders.ask<MeterReading>({}),
    stop: () => endByClose(child, orders),
  };
}

async function startVariant(parts: readonly string[]): Promise<Variant> {
  const gateway = await startGatewayTarget({
    ...gatewayOrder(stage, REPOSITORY, await stage.createDatabase()),
    spawn: (args, environment) => spawnGateway(args, { ...environment, [ABLATED]: parts.join(',') }),
    meter: benchFile('ablate.ts'),
  });
  return {
    name: parts.length === 0 ? 'whole' : `without ${parts.join(', ')}`,
    call: chatCall(gateway.url, gateway.balanceKeys.slice(0, 1)),
    read: () => gateway.orders.ask<MeterReading>({}),
    stop: () => gateway.stop(),
  };
}

async function measure(variant: Variant, seconds: number): Promise<number> {
  const before = await variant.read();
  const { done, failures, firstFailure } = await stage.load({
    kind: 'closed',
    call: variant.call,
    connections: values.connections,
    seconds,
  });
  const after = await variant.read();
  if (failures > 0) throw new Error(`${variant.name}: ${failures} calls failed: ${firstFailure}`);
  return (after.cpuMicros - before.cpuMicros) / done;
}

function show(): void {
  const medians = [...measured].map(([name, micros]) => ({ name, micros: quantile(micros, 0.5) }));
  const [bare, whole] = [medians[0]!.micros, medians[1]!.micros];
  console.log('| | CPU µs/call | of bare | saved, of bare |\n|---|--:|--:|--:|');
  for (const [index, { name, micros }] of medians.entries()) {
    const saved = index < 2 ? '' : ((whole - micros) / bare).toFixed(2);
    console.log(`| ${name} | ${micros.toFixed(0)} | ${(micros / bare).toFixed(2)} | ${saved} |`);
  }
}
