import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { createItems, one } from '../support/items.ts';
import { locksAwaited } from '../support/locks.ts';

/** The effect on other connections when one is destroyed because its statement was abandoned. */

const pid = { name: 'test.pid', text: 'select pg_backend_pid() as pid' };
const lockItem = { name: 'test.lock-item', text: 'select id from items for update' };

describe('when a connection is destroyed', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let node: Database;
  before(async () => {
    stored = await createItems();
    node = stored.openAnother();
  });
  after(async () => {
    await node.close();
    await stored.remove();
  });

  /** Runs work while another connection holds the row that `lockItem` wants. */
  function whileHeld(work: () => Promise<void>): Promise<void> {
    return stored.database.transaction(async (transaction) => {
      await transaction.query(lockItem);
      await work();
    });
  }

  /** Aborts the waiting statement. */
  async function aborted(ask: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const aborts = new AbortController();
    const late = assert.rejects(ask(aborts.signal), /nobody waits/);
    await locksAwaited(stored.database, 1);
    aborts.abort(new Error('nobody waits any more'));
    await late;
  }

  it('idle ones are destroyed too, and are not used again even before they are closed', () =>
    whileHeld(async () => {
      await Promise.all([node.query(one), node.query(one)]);
      await aborted((signal) => node.query(lockItem, [], signal));
      assert.deepEqual(await node.query(one), [{ one: 1 }]);
    }));

  it('the others stay if it was waiting for a lock', () =>
    whileHeld(async () => {
      const before = await node.query(pid);
      const reads = [{ statement: lockItem, parameters: [] }];
      const decide = () => ({ writes: [], result: undefined });
      await aborted((signal) =>
        node.readThenWrite({ name: 'test.wait-for-lock', waitsForLocks: true, reads, decide }, signal),
      );
      assert.deepEqual(await node.query(pid), before);
    }));
});
