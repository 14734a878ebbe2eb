import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway, watchCalls } from '../support/gateway.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

/** A node learns of revoked keys by notifications. Here they stop arriving without an error. */
describe('a node without notifications', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let proxy: TestProxy;
  let listening: Database;
  let node: TestGateway;
  let other: TestGateway;
  /** The clock by which the node's connection detects silence. */
  let nowMs = 0;
  before(async () => {
    stored = await createTestDatabase();
    proxy = await startProxy(stored.url);
    listening = openPostgres({
      url: proxy.url,
      logger: silentLogger,
      notifications: { beatMs: 5, reconnectMs: 5, connectMaxMs: 60_000, nowMs: () => nowMs },
    });
    const near = stored.openAnother();
    const database: Database = {
      ...near,
      subscribe: listening.subscribe,
      close: async () => void (await Promise.all([near.close(), listening.close()])),
    };
    node = await startGateway({ stored, database });
    other = await startGateway({ stored, database: stored.openAnother() });
  });
  after(async () => {
    await node.stop();
    await other.stop();
    await proxy.close();
    await stored.remove();
  });

  const lookUps = () => node.observed.statement('accounts.select-standings');
  const callNode = ({ key }: TestAccount) => call(`${node.url}/v1/chat/completions`, key, requestOf(false));

  it('refuses a revoked key after four seconds without a heartbeat, and by notification before that', async () => {
    const account = await other.createAccount();
    const [heard, unheard] = [account, await other.createAccount()];
    assert.equal((await callNode(heard)).status, 200);
    assert.equal((await callNode(unheard)).status, 200);
    await other.admin('DELETE', `/keys/${heard.keyId}`);
    await until(async () => (await callNode(heard)).status === 401);

    // New connections are silent too.
    proxy.swallowAll();
    await other.admin('DELETE', `/keys/${unheard.keyId}`);
    nowMs += 4_000;
    const refused = await callNode(unheard);
    assert.equal(refused.status, 401);
    assert.equal(refused.headers['x-error-code'], 'invalid_api_key');
  });

  it('reads keys from the database at every call, with one statement for concurrent calls', async () => {
    const account = await other.createAccount();
    const before = lookUps().asked;
    for (const calls of [1, 2]) {
      assert.equal((await callNode(account)).status, 200);
      assert.equal(lookUps().asked, before + calls);
    }
    const arrived = watchCalls(node);
    lookUps().hold();
    const first = callNode(account);
    await lookUps().reached(before + 3);
    const more = Array.from({ length: 20 }, () => callNode(account));
    await until(() => arrived.length > more.length);
    lookUps().release();
    for (const { status } of await Promise.all([first, ...more])) assert.equal(status, 200);
    assert.ok(lookUps().asked < before + 3 + more.length, `${lookUps().asked - before} statements`);
  });

  it('still follows drained routes, which it reads every second', async () => {
    const account = await other.createAccount();
    const target = { provider: 'chatty' };
    for (const [action, status] of [
      ['drain', 503],
      ['resume', 200],
    ] as const) {
      assert.equal((await other.admin('POST', `/routes/${action}`, target)).status, 200);
      await until(async () => (await callNode(account)).status === status);
    }
  });

  it('uses its cache again when notifications resume', async () => {
    const account = await other.createAccount();
    proxy.allow();
    proxy.cut();
    await until(async () => {
      const before = lookUps().asked;
      assert.equal((await callNode(account)).status, 200);
      return lookUps().asked === before;
    });
  });
});
