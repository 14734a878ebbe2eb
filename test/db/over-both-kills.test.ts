import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { COMMITTED, type Kill } from '../support/moments.ts';
import { until } from '../support/until.ts';
import { OPERATIONS, type Operation, type Outcome } from './over-both-operations.ts';
import { openScene, type Scene, type Totals, totalsOf } from './over-both-scene.ts';

/**
 * Kills something at each statement of a transaction over the directory and a partition: both homes commit or neither does, and a repeat of
 * the request takes effect once. Runs in its own process, because it kills processes of its server.
 */

type Change = Readonly<Record<'directory' | 'partitions', Readonly<Record<string, bigint>>>>;

const NOTHING: Change = { directory: {}, partitions: {} };

/** Moments at which the whole server is killed, which takes some tenths of a second each time. */
const SERVER_KILLS = 3;

function changeOf(since: Record<keyof Change, Totals>, now: Record<keyof Change, Totals>): Change {
  const of = (home: keyof Change): Record<string, bigint> => {
    const changes = Object.entries(now[home]).map(([name, value]) => [name, value - since[home][name]!] as const);
    return Object.fromEntries(changes.filter(([, change]) => change !== 0n));
  };
  return { directory: of('directory'), partitions: of('partitions') };
}

/** Evenly spread numbers below `count`, including the first and last. */
function someOf(count: number, most: number): number[] {
  const step = Math.max(1, (count - 1) / (most - 1));
  return Array.from({ length: Math.min(count, most) }, (_, n) => Math.round(n * step));
}

describe('a transaction over both homes is atomic, and a repeat takes effect once, whatever is killed', {
  timeout: 300_000,
}, () => {
  let scene: Scene;
  before(async () => {
    scene = await openScene();
  });
  after(() => scene?.[Symbol.asyncDispose]());

  for (const operation of OPERATIONS) it(operation.name, (context) => killEverywhere(operation, context));

  async function killEverywhere(operation: Operation, context: TestContext): Promise<void> {
    const { moments, kills } = scene;
    const run = await prepare(operation);
    assert.ok(isSuccess(await run.ask()));
    const all = moments.passed;
    const done = await run.change();
    assert.ok(all.includes(COMMITTED), 'it is a transaction over both homes');
    for (const [home, changes] of Object.entries(done)) assert.notDeepEqual(changes, {}, `it changes the ${home}`);
    const some = someOf(all.length, operation.momentsMax ?? all.length);
    for (const kill of ['backend', 'gateway'] as const)
      for (const at of some) await killAt(operation, { kill, at, moment: all[at]!, done });
    for (const at of someOf(all.length, SERVER_KILLS))
      await killAt(operation, { kill: 'server', at, moment: all[at]!, done });
    context.diagnostic(`${all.length} moments, ${Object.keys(kills).length} kinds of kills`);
  }

  async function killAt(
    operation: Operation,
    { kill, at, moment, done }: { kill: keyof Scene['kills']; at: number; moment: string; done: Change },
  ): Promise<void> {
    const run = await prepare(operation);
    const outcome = await run.ask(at, scene.kills[kill]);
    const where = `${kill} killed ${moment}, which was said to be ${outcome}`;
    assert.ok(scene.moments.isReached, `${where}: the moment came`);
    const isDone = outcome === 'done' || moment === COMMITTED;
    assert.deepEqual(await run.change(), isDone ? done : NOTHING, where);
    if (isDone && operation.again === 'another') return;
    let repeated: Outcome = 'failed';
    // The gateway's connections may be dead without its knowledge; clients repeat the request until it succeeds.
    await until(async () => {
      repeated = await run.ask();
      return repeated !== 'failed';
    }, `${where}; each repeat failed`);
    if (isDone && operation.again === 'refused') assert.equal(repeated, 'refused', where);
    else assert.ok(isSuccess(repeated), `${where}; a repeat is ${repeated}`);
    assert.deepEqual(await run.change(), done, `${where}; after a repeat`);
  }

  async function prepare(operation: Operation) {
    scene.moments.begin();
    const ask = await operation.prepare(scene);
    const changed = operation.changed?.(scene) ?? scene.others;
    const since = await totalsOf(changed);
    return {
      ask(at?: number, kill?: Kill): Promise<Outcome> {
        scene.moments.begin(at, kill);
        return ask();
      },
      change: async (): Promise<Change> => changeOf(since, await totalsOf(changed)),
    };
  }
});

const isSuccess = (outcome: Outcome): boolean => outcome === 'done' || outcome === 'unknown';
