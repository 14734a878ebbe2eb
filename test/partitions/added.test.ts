import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAccountPartitionStore } from '../../src/accounting/partitions/account-partition-store.ts';
import { createPlacement } from '../../src/accounting/partitions/placement.ts';
import { createNodeStore } from '../../src/db/nodes/nodes-store.ts';
import { addPartition } from '../../src/db/partitions.ts';
import { call } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { until } from '../support/until.ts';

/** Partitions that are added while gateways are running. */

const CHAT = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe('an added partition', { timeout: 120_000 }, () => {
  it('gets no account while a node runs that started before it was added', async () => {
    await using stored = await createPartitioned(2);
    const { databases } = stored;
    const { directory } = databases;
    const nodes = createNodeStore(directory);
    await nodes.beat('node_before');
    assert.equal(await addPartition(databases), 2);
    await nodes.beat('node_behind');
    const store = createAccountPartitionStore(directory);
    assert.deepEqual(await store.listTaking(), [0, 1]);
    let nowMs = 0;
    const place = createPlacement(3, store, { nowMs: () => nowMs });
    assert.deepEqual([await place(), await place(), await place()], [0, 1, 0]);
    await nodes.beat('node_before');
    assert.deepEqual(await store.listTaking(), [0, 1]);
    await nodes.leave('node_before');
    assert.deepEqual(await store.listTaking(), [0, 1, 2]);
    nowMs += 3_600_000;
    assert.deepEqual([await place(), await place(), await place()], [0, 1, 2]);
    // A node without heartbeats for this long is dead.
    await nodes.beat('node_before');
    await directory.script(`update nodes set started_at = now() - interval '1 hour' where id = 'node_before'`);
    assert.deepEqual(await store.listTaking(), [0]);
    await directory.script(`update nodes set seen_at = now() - interval '16 seconds' where id = 'node_before'`);
    assert.deepEqual(await store.listTaking(), [0, 1, 2]);
  });
});

for (const partitions of [1, 2]) {
  describe(`a gateway of ${partitions} partitions`, { timeout: 120_000 }, () => {
    it('serves no account of an added one, and logs once that it must be restarted', async () => {
      const logs = recordLogs();
      await using g = await startGateway({ partitions, logger: logs.logger });
      const [moved, own] = [await g.createAccount(), await g.createAccount()];
      await g.database.script(`insert into partitions (number, schema) values (${partitions}, 'faregate_09')`);
      // As if another gateway had created it while this one had no heartbeat.
      await g.database.script(`update accounts set partition_no = ${partitions} where id = '${moved.id}'`);
      const { key } = (await g.admin('POST', `/accounts/${own.id}/keys`, { name: 'new' })).body;
      for (const [path, type] of [
        ['/v1/chat/completions', undefined],
        ['/v1/messages', 'error'],
      ] as const) {
        const refused = await call(g.url + path, moved.key, { ...CHAT, max_tokens: 5 });
        assert.equal(refused.status, 503, refused.text);
        assert.equal(refused.headers['x-should-retry'], 'true');
        const body = JSON.parse(refused.text);
        assert.equal(body.type, type);
        assert.match(body.error.message, /^This node must be restarted before it can serve this account\./);
      }
      assert.equal((await call(`${g.url}/v1/chat/completions`, key, CHAT)).status, 200);
      const warning = `This node must be restarted: it has opened ${partitions} of ${partitions + 1} partitions.`;
      await until(async () => {
        const ready = await fetch(`${g.url}/readyz`);
        assert.equal(ready.status, 200);
        return ((await ready.json()) as { detail?: string[] }).detail?.includes(warning) ?? false;
      });
      const said = logs.lines.filter(({ message }) => message.startsWith('partitions were added'));
      assert.deepEqual(
        said.map(({ details }) => details),
        [{ opened: partitions, partitions: partitions + 1 }],
      );
      await g.database.script(`update accounts set partition_no = 0 where id = '${moved.id}';
delete from partitions where number = ${partitions}`);
    });
  });
}
