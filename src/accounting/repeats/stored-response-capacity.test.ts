import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../lib/logger.ts';
import { createStoredResponseCapacity, ROW_BYTES } from './stored-response-capacity.ts';

const MINUTE_MS = 60_000;

/** Capacity for 100 rows per account, and the rows in the database. A response without bytes takes one row. */
function setScene() {
  const scene = { nowMs: 0, rows: 0, reads: 0, warnings: 0, isDown: false };
  const room = createStoredResponseCapacity({
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

describe('the capacity for stored responses', () => {
  it('is what stored rows leave, and is read once for concurrent bodies', async () => {
    const { scene, take } = setScene();
    scene.rows = 40;
    assert.deepEqual(await Promise.all([take(30), take(30), take(1)]), [true, true, false]);
    assert.equal(scene.reads, 1);
  });

  it('is separate for each account', async () => {
    const { take } = setScene();
    assert.deepEqual([await take(100), await take(100, 'acct_other'), await take(1)], [true, true, false]);
  });

  it('is read again a minute after it is used up, and a warning is logged if no responses have expired', async () => {
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

  it('is unknown while the database is down, and read again afterwards', async () => {
    const { scene, take } = setScene();
    scene.isDown = true;
    await assert.rejects(take(1), /the connection was lost/);
    scene.isDown = false;
    assert.equal(await take(1), true);
  });
});
