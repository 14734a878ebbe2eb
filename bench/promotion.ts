import { readOptions } from '../scripts/read-options.ts';
import { startGatewayTarget } from './gateway-target.ts';
import { benchFile } from './processes.ts';
import { REPOSITORY } from './revisions.ts';
import { startStage } from './stage.ts';
import { chatCall, gatewayOrder } from './targets.ts';

/**
 * How much of a call's allocations V8 promotes to the old generation, which only major collections free. Ideally it promotes none of
 * completed calls.
 *
 *   node bench/promotion.ts                                  128 concurrent calls, on PostgreSQL
 *   node bench/promotion.ts --connections 256 --local --starts 3
 *
 * Before decision 58, some starts of one version promoted a fifth of all allocations for as long as they ran.
 */
const { connections, seconds, starts, local } = readOptions({
  connections: 128,
  seconds: 12,
  starts: 2,
  local: false,
});

/** The first ones happen while the program is being compiled. */
const COLLECTIONS = 24;
const SCAVENGE = /Scavenge ([\d.]+) \([\d.]+\) -> ([\d.]+) \(/g;

const stage = await startStage(0, []);
try {
  for (let start = 1; start <= starts; start++) console.log(`start ${start}: ${await measureStart()}`);
} finally {
  await stage.stop();
}

async function measureStart(): Promise<string> {
  let printed = '';
  const gateway = await startGatewayTarget({
    ...gatewayOrder(stage, REPOSITORY, local ? '' : await stage.createDatabase()),
    meter: benchFile('trace-collections.ts'),
  });
  gateway.child.stdout!.on('data', (text: string) => {
    printed += text;
  });
  const { done, failures } = await stage.load({
    kind: 'closed',
    call: chatCall(gateway.url, gateway.balanceKeys),
    connections,
    seconds,
  });
  gateway.child.kill();
  await gateway.stop();
  const whole = printed.match(/Mark-Compact/g)?.length ?? 0;
  return `${done} calls, ${failures} failed; ${describe(printed)}; ${whole} collections of the whole heap`;
}

function describe(printed: string): string {
  const collections = [...printed.matchAll(SCAVENGE)].map(
    ([, before, after]) => [Number(before), Number(after)] as const,
  );
  let allocatedMb = 0;
  let grownMb = 0;
  let pairs = 0;
  for (const [i, [before, after]] of collections.entries()) {
    const [, last] = collections[i - 1] ?? [0, before];
    // After a major collection it is smaller.
    if (i < collections.length - COLLECTIONS || before < last || after < last - (before - last)) continue;
    allocatedMb += before - last;
    grownMb += after - last;
    pairs++;
  }
  const share = allocatedMb === 0 ? 0 : Math.max(0, (100 * grownMb) / allocatedMb);
  return `of ${(allocatedMb / pairs).toFixed(0)} MB in ${pairs} collections of the young generation each, ${share.toFixed(1)} % became old`;
}
