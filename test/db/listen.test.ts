import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { NOTIFICATION_TIMING } from '../../src/db/notifications.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Nodes are notified of revoked keys through LISTEN. A dead connection looks like an idle one, so its loss must be detected, logged and repaired. */

const CHANNEL = 'test_channel';
const RECONNECTED = '(reconnected)';
const notify = 'select pg_notify($1, $2)';

/** Terminates every listening connection, as an operator or a restart would; returns their number. */
async function killListeners(database: Database): Promise<number> {
  const rows = await sql(
    database,
    `select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and query ilike 'listen %'`,
  );
  return rows.length;
}

/** A subscription that records what it receives. */
async function watch(database: Database) {
  const heard: string[] = [];
  let change = Promise.withResolvers<void>();
  const note = (text: string): void => {
    heard.push(text);
    change.resolve();
    change = Promise.withResolvers();
  };
  const subscription = await database.subscribe(CHANNEL, note, () => note(RECONNECTED));
  return {
    subscription,
    lost: () => until(() => !subscription.isConnected),
    async hears(expected: readonly string[]): Promise<void> {
      while (heard.length < expected.length) await change.promise;
      assert.deepEqual(heard, expected);
    },
  };
}

/** Resolves when a heartbeat of that instant was received; no further one is sent before. */
async function heartbeatBack(database: Database, sentAtMs: number): Promise<void> {
  const seen = new Set<string>();
  await until(async () => {
    const rows = await sql<{ began: string }>(
      database,
      `select query_start::text as began from pg_stat_activity
where datname = current_database() and query like 'notify %' and query like '%' || $1`,
      [`'${sentAtMs}'`],
    );
    for (const { began } of rows) seen.add(began);
    return seen.size > 1;
  });
}

async function withDatabase(work: (stored: TestDatabase) => Promise<void>): Promise<void> {
  await using stored = await createTestDatabase();
  await work(stored);
}

describe('the connection that listens', { timeout: 60_000 }, () => {
  test('reconnects after the server closed it, logs that, and receives later notifications', () =>
    withDatabase(async ({ database }) => {
      const channel = await watch(database);
      await sql(database, notify, [CHANNEL, 'before']);
      await channel.hears(['before']);

      assert.equal(await killListeners(database), 1);
      await channel.hears(['before', RECONNECTED]);
      assert.equal(channel.subscription.isConnected, true);
      await sql(database, notify, [CHANNEL, 'after']);
      await channel.hears(['before', RECONNECTED, 'after']);

      assert.equal(await killListeners(database), 1);
      await channel.hears(['before', RECONNECTED, 'after', RECONNECTED]);
      await channel.subscription.close();
      assert.equal(channel.subscription.isConnected, false);
    }));

  test('keeps reconnecting while the server is unreachable, and reports that it is not connected', () =>
    withDatabase(async ({ database, url }) => {
      const proxy = await startProxy(url);
      const far = openPostgres({ url: proxy.url, logger: silentLogger });
      try {
        const channel = await watch(far);
        proxy.refuse();
        proxy.cut();
        await proxy.refused();
        assert.equal(channel.subscription.isConnected, false);
        await sql(database, notify, [CHANNEL, 'missed']);
        await proxy.refused();
        assert.equal(channel.subscription.isConnected, false);

        proxy.allow();
        await channel.hears([RECONNECTED]);
        assert.equal(channel.subscription.isConnected, true);
        await sql(database, notify, [CHANNEL, 'heard']);
        await channel.hears([RECONNECTED, 'heard']);
        await channel.subscription.close();
      } finally {
        await far.close();
        await proxy.close();
      }
    }));

  test('does not reconnect after it was closed, while another one does', () =>
    withDatabase(async ({ url }) => {
      const proxy = await startProxy(url);
      const far = openPostgres({ url: proxy.url, logger: silentLogger });
      try {
        const closed = await watch(far);
        const open = await watch(far);
        assert.equal(proxy.connections, 2);
        proxy.cut();
        await closed.lost();
        await open.lost();
        await closed.subscription.close();
        // Both would reconnect after the same delay, the closed one first.
        await open.hears([RECONNECTED]);
        assert.equal(proxy.connections, 1);
        assert.equal(closed.subscription.isConnected, false);
        await open.subscription.close();
      } finally {
        await far.close();
        await proxy.close();
      }
    }));

  // A network failure does not close the connection: notifications just stop.
  test('counts as down at most four seconds after its last heartbeat, even if nothing closed it', () =>
    withDatabase(async ({ database, url }) => {
      const proxy = await startProxy(url);
      const logs = recordLogs();
      let nowMs = 0;
      const far = openPostgres({
        url: proxy.url,
        logger: logs.logger,
        notifications: { beatMs: 5, reconnectMs: 5, nowMs: () => nowMs },
      });
      try {
        const channel = await watch(far);
        for (let i = 0; i < 3; i++) {
          nowMs += 3_000;
          await heartbeatBack(database, nowMs);
          assert.equal(channel.subscription.isConnected, true);
        }
        proxy.swallow();
        const cutAtMs = nowMs;
        await sql(database, notify, [CHANNEL, 'lost']);
        nowMs = cutAtMs + 4_000;
        assert.equal(channel.subscription.isConnected, false);

        // It is closed and replaced.
        await channel.hears([RECONNECTED]);
        assert.equal(proxy.connections, 1);
        assert.equal(channel.subscription.isConnected, true);
        await sql(database, notify, [CHANNEL, 'heard']);
        await channel.hears([RECONNECTED, 'heard']);
        assert.deepEqual(
          logs.lines.map(({ level, message }) => [level, message]),
          [
            ['warn', 'notifications are interrupted; affected data is read from the database'],
            ['info', 'notifications restored'],
          ],
        );
        await channel.subscription.close();
      } finally {
        await far.close();
        await proxy.close();
      }
    }));

  test('is retried if the server is silent while connecting', () =>
    withDatabase(async ({ url }) => {
      const proxy = await startProxy(url);
      const far = openPostgres({
        url: proxy.url,
        logger: silentLogger,
        notifications: { beatMs: 5, reconnectMs: 5, connectMaxMs: 200 },
      });
      try {
        const channel = await watch(far);
        proxy.swallowNext();
        proxy.cut();
        await channel.hears([RECONNECTED]);
        assert.equal(channel.subscription.isConnected, true);
        await channel.subscription.close();
      } finally {
        await far.close();
        await proxy.close();
      }
    }));

  test('detects silence early enough to refuse revoked keys within five seconds', () => {
    const { beatMs, silenceMaxMs } = NOTIFICATION_TIMING;
    assert.ok(silenceMaxMs < 5_000);
    // A slightly late heartbeat must not count as silence.
    assert.ok(silenceMaxMs >= 2 * beatMs);
  });

  test('that cannot be opened at all is an error', () =>
    withDatabase(async ({ url }) => {
      const proxy = await startProxy(url);
      proxy.refuse();
      const far = openPostgres({ url: proxy.url, logger: silentLogger });
      try {
        await assert.rejects(watch(far));
      } finally {
        await far.close();
        await proxy.close();
      }
    }));
});
