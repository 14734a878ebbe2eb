import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createNodes, type Nodes } from '../../src/db/nodes/nodes.ts';
import type { NodeStore } from '../../src/db/nodes/nodes-store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';

/** When a node looks for dead nodes, with a heartbeat every 3 s and a node dead after 15 s without one. */

const BEAT_MS = 3_000;
const TIMES = { beatMs: BEAT_MS, deadAfterMs: 15_000 };
const LOST = new Error('the connection was reset');

/** A store whose next heartbeats a test defines; later ones are regular. */
class ScriptedStore implements Omit<NodeStore, 'forget'> {
  next: (number | null | Error)[] = [null];
  readonly asked: string[] = [];
  /** If set, heartbeats wait for it. */
  gate: Promise<void> | null = null;
  isAway = false;

  async beat(nodeId: string) {
    this.asked.push(`beat ${nodeId}`);
    await this.gate;
    const beat = this.next.length > 0 ? this.next.shift()! : BEAT_MS;
    if (this.isAway) throw LOST;
    if (beat instanceof Error) throw beat;
    return { sinceLastMs: beat, databaseMs: 0, partitions: 1 };
  }
  async forgetAll() {
    this.asked.push('forget all');
  }
  async leave(nodeId: string) {
    this.asked.push(`leave ${nodeId}`);
    if (this.isAway) throw LOST;
  }
}

class Scene {
  readonly store = new ScriptedStore();
  readonly said: string[] = [];
  sweeps = 0;
  sweep: () => Promise<void> = () => Promise.resolve();
  readonly nodes: Nodes;

  constructor() {
    const logger: Logger = {
      ...silentLogger,
      info: (_details, message) => this.said.push(`info: ${message}`),
      warn: (_details, message) => this.said.push(`warn: ${message}`),
      error: (_details, message) => this.said.push(`error: ${message}`),
    };
    const sweep = (deadAfterMs: number): Promise<void> => {
      assert.equal(deadAfterMs, TIMES.deadAfterMs);
      this.sweeps++;
      return this.sweep();
    };
    this.nodes = createNodes({
      store: this.store,
      nodeId: 'node_self',
      logger,
      clock: systemClock,
      databaseClock: { read: () => undefined },
      onPartitions: () => undefined,
      sweeps: [sweep],
      ...TIMES,
    });
  }

  /** Returns which of these successive heartbeats are followed by a sweep. */
  async sweptAfter(beats: readonly (number | null | Error)[]): Promise<boolean[]> {
    const swept: boolean[] = [];
    for (const beat of beats) {
      const before = this.sweeps;
      this.store.next = [beat];
      await this.nodes.round();
      swept.push(this.sweeps > before);
    }
    return swept;
  }
}

async function started(t: TestContext): Promise<Scene> {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const scene = new Scene();
  await scene.nodes.start(false);
  return scene;
}

const regular = (count: number): number[] => Array<number>(count).fill(BEAT_MS);
const after = (count: number): boolean[] => [...Array<boolean>(count - 1).fill(false), true];

describe('node', () => {
  it('sweeps once its heartbeats have had no gap for the time after which a node is dead', async (t) => {
    const scene = await started(t);
    assert.deepEqual(await scene.sweptAfter(regular(8)), [...after(5), true, true, true]);
  });

  it('restarts that time after a failed or late heartbeat', async (t) => {
    for (const gap of [LOST, TIMES.deadAfterMs / 2, 3_600_000, null, -1_000]) {
      const scene = await started(t);
      await scene.sweptAfter(regular(6));
      assert.deepEqual(await scene.sweptAfter([gap, ...regular(6)]), [false, ...after(5), true], String(gap));
      t.mock.timers.reset();
    }
  });

  it('does not sweep after an outage of the database until all nodes have had time for a heartbeat', async (t) => {
    const scene = await started(t);
    await scene.sweptAfter(regular(6));
    // The first successful heartbeat measures the whole outage.
    const outage = [LOST, LOST, LOST, 20 * BEAT_MS];
    assert.deepEqual(await scene.sweptAfter([...outage, ...regular(5)]), [false, false, false, false, ...after(5)]);
  });

  it("measures that time by the database's clock, not by the number of heartbeats", async (t) => {
    const scene = await started(t);
    assert.deepEqual(await scene.sweptAfter(Array<number>(30).fill(600)), [
      ...Array<boolean>(24).fill(false),
      ...Array<boolean>(6).fill(true),
    ]);
  });

  it('retries a failed sweep after the next heartbeat, and logs the failure and the recovery', async (t) => {
    const scene = await started(t);
    scene.sweep = () => Promise.reject(LOST);
    assert.deepEqual(await scene.sweptAfter(regular(6)), [...after(5), true]);
    scene.sweep = () => Promise.resolve();
    assert.deepEqual(await scene.sweptAfter(regular(1)), [true]);
    assert.deepEqual(scene.said, [
      'error: recovery of dead nodes failed; retrying',
      'info: recovery of dead nodes works again',
    ]);
  });

  it('continues its heartbeats during a long sweep, and does not start a second one', async (t) => {
    const scene = await started(t);
    const long = Promise.withResolvers<void>();
    scene.sweep = () => long.promise;
    await scene.sweptAfter(regular(4));
    const rounds = [scene.nodes.round()];
    await settled();
    const beats = scene.store.asked.length;
    for (let n = 0; n < 3; n++) {
      rounds.push(scene.nodes.round());
      await settled();
    }
    assert.deepEqual([scene.store.asked.length - beats, scene.sweeps], [3, 1]);
    long.resolve();
    await Promise.all(rounds);
    await scene.nodes.round();
    assert.equal(scene.sweeps, 2);
  });

  it('sends heartbeats by a timer, one at a time', async (t) => {
    const scene = await started(t);
    assert.deepEqual(scene.store.asked, ['beat node_self']);
    const gate = Promise.withResolvers<void>();
    scene.store.gate = gate.promise;
    for (let n = 0; n < 3; n++) t.mock.timers.tick(BEAT_MS);
    assert.equal(scene.store.asked.length, 2);
    scene.store.gate = null;
    gate.resolve();
    await settled();
    t.mock.timers.tick(BEAT_MS);
    assert.equal(scene.store.asked.length, 3);
  });

  it('logs once that its heartbeats fail, and once that they are restored', async (t) => {
    const scene = await started(t);
    await scene.sweptAfter([3_000, LOST, LOST, LOST, 12_000, 3_000]);
    assert.deepEqual(scene.said, ['warn: heartbeats failed', 'info: heartbeats restored']);
  });

  it('does not start if the database is down', async () => {
    const scene = new Scene();
    scene.store.isAway = true;
    await assert.rejects(scene.nodes.start(false), LOST);
    await scene.nodes.stop();
  });

  it('stops after pending work, leaves, and sends no more heartbeats', async (t) => {
    const scene = await started(t);
    await scene.sweptAfter(regular(4));
    const long = Promise.withResolvers<void>();
    scene.sweep = () => long.promise;
    t.mock.timers.tick(BEAT_MS);
    await settled();
    assert.equal(scene.sweeps, 1);
    let isStopped = false;
    const stopped = scene.nodes.stop().then(() => {
      isStopped = true;
    });
    await settled();
    assert.deepEqual([isStopped, scene.store.asked.at(-1)], [false, 'beat node_self']);
    long.resolve();
    await stopped;
    const { length } = scene.store.asked;
    assert.equal(scene.store.asked.at(-1), 'leave node_self');
    t.mock.timers.tick(10 * BEAT_MS);
    assert.equal(scene.store.asked.length, length);
  });

  it('deletes earlier nodes if it is the only node, and only then', async (t) => {
    const scene = await started(t);
    assert.deepEqual(scene.store.asked, ['beat node_self']);
    await scene.nodes.start(true);
    assert.deepEqual(scene.store.asked.slice(1), ['forget all', 'beat node_self']);
  });

  it('does not leave if it was never started', async () => {
    const scene = new Scene();
    await scene.nodes.stop();
    assert.deepEqual(scene.store.asked, []);
  });

  it('stops if it cannot record that it leaves', async (t) => {
    const scene = await started(t);
    scene.store.isAway = true;
    await scene.nodes.stop();
    assert.deepEqual(scene.said, ['warn: failed to deregister this node; other nodes will detect that it has stopped']);
  });
});

/** Resolves when all work that takes a single iteration of the event loop is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
