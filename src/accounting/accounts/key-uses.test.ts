import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KeyUse } from './key-use-store.ts';
import { createKeyUses } from './key-uses.ts';

const GATHER_MS = 1_000;
const MINUTE_MS = 60_000;

function setScene(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  const scene = { written: [] as KeyUse[][], isDown: false };
  const uses = createKeyUses({
    clock: { nowMs: () => nowMs },
    store: {
      async record(batch) {
        if (scene.isDown) throw new Error('down');
        scene.written.push([...batch]);
      },
    },
  });
  /** Advances the clock and waits for the writes that become due. */
  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    t.mock.timers.tick(ms);
    await new Promise(setImmediate);
  }
  return { uses, scene, pass };
}

const use = (keyId: string, usedAtMs: number): KeyUse => ({ accountId: 'acct_1', keyId, usedAtMs });

describe('the last uses of keys', () => {
  it('are written in batches, each key once a minute', async (t) => {
    const { uses, scene, pass } = setScene(t);
    for (const keyId of ['key_1', 'key_2', 'key_1']) uses.note('acct_1', keyId);
    assert.deepEqual(scene.written, []);
    await pass(GATHER_MS);
    assert.deepEqual(scene.written, [[use('key_1', 0), use('key_2', 0)]]);
    await pass(MINUTE_MS - GATHER_MS - 1);
    uses.note('acct_1', 'key_1');
    await pass(1);
    uses.note('acct_1', 'key_1');
    await pass(GATHER_MS);
    assert.deepEqual(scene.written.slice(1), [[use('key_1', MINUTE_MS)]]);
  });

  it('are dropped if a write fails; the next one is written a minute later', async (t) => {
    const { uses, scene, pass } = setScene(t);
    scene.isDown = true;
    uses.note('acct_1', 'key_1');
    await pass(MINUTE_MS);
    scene.isDown = false;
    uses.note('acct_1', 'key_1');
    await pass(GATHER_MS);
    assert.deepEqual(scene.written, [[use('key_1', MINUTE_MS)]]);
  });

  it('are buffered for at most 1,000 keys; others are recorded at their next use', async (t) => {
    const { uses, scene, pass } = setScene(t);
    for (let n = 0; n < 1_500; n++) uses.note('acct_1', `key_${n}`);
    await pass(GATHER_MS);
    for (let n = 0; n < 1_500; n++) uses.note('acct_1', `key_${n}`);
    await pass(GATHER_MS);
    assert.deepEqual(
      scene.written.map((batch) => batch.length),
      [1_000, 500],
    );
  });

  it('are not written after the stop', async (t) => {
    const { uses, scene, pass } = setScene(t);
    uses.note('acct_1', 'key_1');
    await uses.stop();
    uses.note('acct_1', 'key_2');
    await pass(MINUTE_MS);
    assert.deepEqual(scene.written, []);
  });
});
