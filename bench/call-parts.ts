import { resolve } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import type { Attributed, Part } from './attribute.ts';
import { startGatewayTarget } from './gateway-target.ts';
import { benchFile } from './processes.ts';
import { REPOSITORY } from './revisions.ts';
import { startStage } from './stage.ts';
import { chatCall, gatewayOrder } from './targets.ts';

/**
 * What a non-streaming call allocates, and its CPU and asynchronous resources, by module and function. Bytes and counts do not depend on
 * other load of the machine.
 *
 *   node bench/call-parts.ts                       bytes, on PostgreSQL
 *   node bench/call-parts.ts --of cpu --local      µs; --of counts: asynchronous resources
 *   node bench/call-parts.ts --checkout ../before --coding --rows 40
 */
const values = readOptions({
  of: 'bytes',
  local: false,
  coding: false,
  connections: 64,
  seconds: 8,
  'warm-up': 10,
  rows: 30,
  checkout: REPOSITORY,
});
const checkout = resolve(values.checkout);

const stage = await startStage(0, []);
try {
  const gateway = await startGatewayTarget({
    ...gatewayOrder(stage, checkout, values.local ? '' : await stage.createDatabase()),
    meter: benchFile('attribute.ts'),
  });
  const call = values.coding
    ? { ...chatCall(gateway.url, gateway.codingKeys), path: '/v1/coding/chat/completions' }
    : chatCall(gateway.url, gateway.balanceKeys);
  const load = (seconds: number) => stage.load({ kind: 'closed', call, connections: values.connections, seconds });
  await load(values['warm-up']);
  await gateway.orders.ask({ begin: values.of });
  const { done, failures } = await load(values.seconds);
  const attributed = await gateway.orders.ask<Attributed>({});
  await gateway.stop();
  show(attributed, done, failures);
} finally {
  await stage.stop();
}

function show(attributed: Attributed, done: number, failures: number): void {
  const { cpuMicros, mainMicros, parts, collectedMs, counts } = attributed;
  console.log(`${done} calls, ${failures} failed; ${(cpuMicros / done).toFixed(0)} µs of CPU a call, all threads`);
  const busy = parts.filter(({ name }) => name !== '(idle)');
  const total = busy.reduce((sum, { amount }) => sum + amount, 0);
  const garbage = ((collectedMs * 1_000) / done).toFixed(1);
  const each = (amount: number): string => (amount / done).toFixed(values.of === 'cpu' ? 1 : 0).padStart(7);
  console.log(`\nmain thread: ${(mainMicros / done).toFixed(0)} µs a call, collections of garbage ${garbage} µs`);
  if (values.of === 'counts') {
    for (const [type, count] of Object.entries(counts).toSorted((left, right) => right[1] - left[1]))
      if (count / done >= 0.02) console.log(`${(count / done).toFixed(2).padStart(8)} ${type}`);
    return;
  }
  console.log(`${each(total)} ${values.of === 'cpu' ? 'µs' : 'bytes'} a call`);
  for (const [title, keyOf] of [
    ['by room', ({ file }: Part) => roomOf(file)],
    ['by room of the nearest own caller', ({ caller }: Part) => roomOf(caller)],
    ['by function', ({ name, file }: Part) => `${name || '(anonymous)'} ${nameOf(file)}`],
    ['by own caller', ({ caller }: Part) => nameOf(caller) || '(none)'],
  ] as const) {
    const sums = new Map<string, number>();
    for (const part of busy) sums.set(keyOf(part), (sums.get(keyOf(part)) ?? 0) + part.amount);
    console.log(`\n${title}`);
    const rows = [...sums].toSorted((left, right) => right[1] - left[1]).slice(0, values.rows);
    for (const [name, amount] of rows)
      console.log(`${each(amount)} ${((100 * amount) / total).toFixed(1).padStart(5)} %  ${name}`);
  }
}

/** Without directories of this machine. */
function nameOf(file: string): string {
  const path = file.replace(/^file:\/\//, '');
  const at = path.lastIndexOf('node_modules/');
  if (at >= 0) return path.slice(at + 'node_modules/'.length);
  return path.startsWith(checkout) ? path.slice(checkout.length + 1) : path;
}

function roomOf(file: string): string {
  const path = nameOf(file);
  const parts = path.split('/');
  if (path.startsWith('src/') || path.startsWith('dist/'))
    return parts
      .slice(0, parts[1] === 'accounting' || parts[1] === 'calls' ? 3 : 2)
      .join('/')
      .replace(/:.*/, '');
  if (path.startsWith('node:'))
    return path
      .replace(/^node:internal\//, 'node:')
      .replace(/:\d+$/, '')
      .split('/')[0]!;
  return parts[0]!.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '').replace(/:.*/, '');
}
