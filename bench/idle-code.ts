import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readOptions } from '../scripts/read-options.ts';
import { REPOSITORY } from './revisions.ts';
import { parseScenarios } from './scenarios.ts';
import { startStage } from './stage.ts';
import { DATABASE_KINDS, type DatabaseKind, startGateway, type Target, type Version } from './targets.ts';

/**
 * The cost of a call before and after a gateway was idle. V8 drops optimised code once the object shapes that it depends on are
 * collected, unless a flag keeps them (`src/main.ts`).
 *
 *   node bench/idle-code.ts                                   10 seconds idle
 *   node bench/idle-code.ts --before ../before --pause 30
 */
const given = readOptions({ before: '', pause: 10 });
const PAUSE_MS = given.pause * 1_000;
const WARM_ROUNDS = 8;
const ROUNDS = 4;
const ROUND_S = 3;

const here: Version = { name: given.before === '' ? '' : 'after', checkout: REPOSITORY };
const before: Version[] = given.before === '' ? [] : [{ name: 'before', checkout: resolve(given.before) }];
const scenario = parseScenarios('chat-64')[0]!;
const stage = await startStage(0, []);
try {
  console.log(`µs of CPU a call, in rounds of ${ROUND_S} s, the last ones behind ${given.pause} s without a call each`);
  for (const kind of DATABASE_KINDS) for (const version of [...before, here]) await measure(kind, version);
} finally {
  await stage.stop();
}

async function measure(kind: DatabaseKind, version: Version): Promise<void> {
  const target = await startGateway(stage, scenario, kind, version);
  try {
    const warm = await rounds(target, WARM_ROUNDS, 0);
    const afterwards = await rounds(target, ROUNDS, PAUSE_MS);
    console.log(`${`${kind} ${version.name}`.padEnd(20)} ${warm.join(' ')} | ${afterwards.join(' ')}`);
  } finally {
    await target.stop();
  }
}

async function rounds(target: Target, count: number, pauseMs: number): Promise<string[]> {
  const micros: string[] = [];
  for (let round = 0; round < count; round++) {
    await sleep(pauseMs);
    const begin = await target.read({});
    const { done } = await stage.load({
      kind: 'closed',
      call: target.call,
      connections: scenario.size,
      seconds: ROUND_S,
    });
    const end = await target.read({});
    micros.push(((end.cpuMicros - begin.cpuMicros) / done).toFixed(0));
  }
  return micros;
}
