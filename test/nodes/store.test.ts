import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createNodeStore, type NodeStore } from '../../src/db/nodes/nodes-store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sql } from '../support/sql.ts';

const HOUR_MS = 3_600_000;

describe('heartbeats of nodes', () => {
  let stored: TestDatabase;
  let store: NodeStore;
  before(async () => {
    stored = await createTestDatabase();
    store = createNodeStore(stored.database);
  });
  after(() => stored.remove());

  /** Moves the last heartbeat of a node into the past; negative: into the future. */
  const age = (nodeId: string, interval: string): Promise<void> =>
    stored.database.script(`update nodes set seen_at = seen_at - interval '${interval}' where id = '${nodeId}'`);

  async function known(): Promise<string[]> {
    return (await sql<{ id: string }>(stored.database, 'select id from nodes order by id')).map(({ id }) => id);
  }

  it("return the age of the last one by the database's clock", async () => {
    assert.equal((await store.beat('node_a')).sinceLastMs, null);
    const { sinceLastMs: first } = await store.beat('node_a');
    assert.ok(first !== null && first >= 0 && first < HOUR_MS, String(first));
    await age('node_a', '2 hours');
    const { sinceLastMs: second } = await store.beat('node_a');
    assert.ok(second !== null && second >= 2 * HOUR_MS && second < 3 * HOUR_MS, String(second));
    await age('node_a', '-2 hours');
    const { sinceLastMs: third } = await store.beat('node_a');
    assert.ok(third !== null && third < 0, String(third));
  });

  it('are separate for each node, and start again for one that has left', async () => {
    await store.beat('node_b');
    assert.equal((await store.beat('node_c')).sinceLastMs, null);
    await store.leave('node_b');
    await store.leave('node_b');
    assert.ok(!(await known()).includes('node_b'));
    assert.equal((await store.beat('node_b')).sinceLastMs, null);
  });

  it('are deleted after an hour, and the next one adds the node again', async () => {
    for (const id of ['node_old', 'node_young']) await store.beat(id);
    await age('node_old', '61 minutes');
    await age('node_young', '59 minutes');
    await store.forget();
    const left = await known();
    assert.deepEqual([left.includes('node_old'), left.includes('node_young')], [false, true]);
    assert.equal((await store.beat('node_old')).sinceLastMs, null);
  });

  it('keep the start time of the node', async () => {
    await store.beat('node_d');
    await stored.database.script(`update nodes set started_at = '2026-01-01' where id = 'node_d'`);
    await store.beat('node_d');
    const started = `select started_at from nodes where id = 'node_d'`;
    const [row] = await sql<{ started_at: Date }>(stored.database, started);
    assert.equal(row!.started_at.getUTCMonth(), 0);
  });
});
