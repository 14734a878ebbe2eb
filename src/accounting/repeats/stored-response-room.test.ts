import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../lib/logger.ts';
import { createStoredResponseRoom, ROW_BYTES } from './stored-response-room.ts';

const MINUTE_MS = 60_000;

/** A room of 100 rows an account, and what the database says is in it. A response of no bytes takes a row. */
function setScene() {
  const scene = { nowMs: 0, rows: 0, reads: 0, warnings: 0, isDown: false };
  const room = createStoredResponseRoom({
    async readBytes() {
      scene.reads++;
      if (scene.isDown) throw new Error('the connection was lost');
      return scene.rows * ROW_BYTES;
    },
    bytesMax: () => 100 * ROW_BYTES,
    clock: { nowMs: () => scene.nowMs },
    logger: { ...silentLogger, warn: () => void scene.warnings++ },
  });
  return { scene, take: (rows: number, accountId = 'acct') => room.take(accountId, (rows - 1) * ROW_BYTES) };
}

describe('the room for stored responses', () => {
  it('is what the database has not stored yet, and is read once for many bodies', async () => {
    const { scene, take } = setScene();
    scene.rows = 40;
    assert.deepEqual(await Promise.all([take(30), take(30), take(1)]), [true, true, false]);
    assert.equal(scene.reads, 1);
  });

  it('is each account’s own', async () => {
    const { take } = setScene();
    assert.deepEqual([await take(100), await take(100, 'acct_other'), await take(1)], [true, true, false]);
  });

  it('is there again a minute later if responses have expired, and is reported if they have not', async () => {
    const { scene, take } = setScene();
    await take(100);
    scene.nowMs = MINUTE_MS - 1;
    assert.equal(await take(1), false);
    assert.deepEqual([scene.reads, scene.warnings], [1, 0]);
    scene.nowMs = MINUTE_MS;
    scene.rows = 100;
    assert.equal(await take(1), false);
    assert.deepEqual([scene.reads, scene.warnings], [2, 1]);
    scene.nowMs = 2 * MINUTE_MS;
    scene.rows = 60;
    assert.deepEqual([await take(40), await take(1)], [true, false]);
  });

  it('counts what other nodes have stored after ten minutes at the latest', async () => {
    const { scene, take } = setScene();
    await take(10);
    scene.rows = 95;
    scene.nowMs = 10 * MINUTE_MS - 1;
    assert.equal(await take(10), true);
    scene.nowMs = 10 * MINUTE_MS;
    assert.equal(await take(10), false);
  });

  it('is not known while the database is down, and read again after that', async () => {
    const { scene, take } = setScene();
    scene.isDown = true;
    await assert.rejects(take(1), /the connection was lost/);
    scene.isDown = false;
    assert.equal(await take(1), true);
  });
});
