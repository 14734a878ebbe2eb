import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { readMetrics } from '../support/openmetrics.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type RecordedLogger, recordLogs } from '../support/recorded-logger.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Background work over four partitions: one that fails or does not respond does not delay the others. */

const PARTITIONS = 4;
const DEAD = 1;
const CHAT = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

/** Background jobs of a partition, with their first statement. */
const FIRST_STATEMENTS = [
  'usage.try-lock',
  'notices.find-changes',
  'calls.find-missing-tables',
  'ended-keys.select-readiness',
  'ended-keys.delete-limits',
] as const;

describe(`background work in ${PARTITIONS} partitions`, { timeout: 300_000 }, () => {
  let g: TestGateway;
  let logs: RecordedLogger;
  let receiver: Receiver;
  /** An account of each partition, by partition number. */
  let accounts: TestAccount[];

  before(async () => {
    logs = recordLogs();
    receiver = await startReceiver();
    g = await startGateway({
      partitions: PARTITIONS,
      usageIntervalMs: 5,
      logger: logs.logger,
      noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }',
    });
    accounts = [];
    for (let number = 0; number < PARTITIONS; number++) accounts.push(await g.createAccount());
    assert.equal((await g.admin('POST', '/webhooks', { url: receiver.url })).status, 201);
  });
  afterEach(() => {
    for (const name of FIRST_STATEMENTS) {
      g.partitions[DEAD]!.statement(name).recover();
      g.partitions[DEAD]!.statement(name).release();
    }
    receiver.received.length = 0;
    logs.lines.length = 0;
  });
  after(async () => {
    await g?.stop();
    await receiver?.close();
  });

  const inPartition = <Row>(number: number, text: string, parameters: readonly (string | number)[] = []) =>
    sql<Row>(g.partitions[number]!.database, text, parameters);
  const inDirectory = <Row>(text: string, parameters: readonly (string | number)[] = []) =>
    sql<Row>(g.database, text, parameters);

  async function callsSummed(number: number): Promise<number> {
    const [row] = await inPartition<{ n: number }>(
      number,
      'select coalesce(sum(calls), 0)::int as n from usage_rollups where account_id = $1',
      [accounts[number]!.id],
    );
    return row!.n;
  }
  const chat = async ({ key }: TestAccount): Promise<void> => {
    assert.equal((await call(`${g.url}/v1/chat/completions`, key, CHAT)).status, 200);
  };

  it('sums usage in each, even while one fails', async () => {
    for (const account of accounts) await chat(account);
    const sums = async (): Promise<number[]> => Promise.all(accounts.map((_, number) => callsSummed(number)));
    await until(async () => (await sums()).every((calls) => calls === 1));
    g.partitions[DEAD]!.statement('usage.try-lock').fail('before');
    for (const account of accounts) await chat(account);
    await until(async () => (await sums()).filter((calls) => calls === 2).length === PARTITIONS - 1);
    assert.equal(await callsSummed(DEAD), 1);
    g.partitions[DEAD]!.statement('usage.try-lock').recover();
    await until(async () => (await callsSummed(DEAD)) === 2);
    const said = () => logs.lines.filter(({ message }) => /^summing usage (failed|resumed)/.test(message));
    await until(() => said().length === 2);
    assert.deepEqual(
      said().map(({ level, details }) => [level, details.partition]),
      [
        ['warn', DEAD],
        ['info', DEAD],
      ],
    );
  });

  it('notifies the accounts of each, even while one fails', async () => {
    const settle = (): Promise<unknown> => g.gateway.notices.settle().catch((error: unknown) => error);
    const notified = (): string[] => receiver.received.map(({ body }) => body.data.accountId);
    g.partitions[DEAD]!.statement('notices.find-changes').fail('before');
    for (const { id } of accounts)
      assert.equal((await g.admin('PUT', `/accounts/${id}/low-balance`, { thresholdYuan: '200' })).status, 200);
    const others = accounts.filter((_, number) => number !== DEAD).map(({ id }) => id);
    await until(async () => {
      await settle();
      return notified().length >= others.length;
    });
    assert.deepEqual(notified().sort(), others.sort());
    g.partitions[DEAD]!.statement('notices.find-changes').recover();
    await until(async () => {
      await settle();
      return notified().includes(accounts[DEAD]!.id);
    });
    assert.equal(notified().length, PARTITIONS);
  });

  it('prepares months in each, even while one does not respond', async () => {
    const { name } = (
      await inPartition<{ name: string }>(
        0,
        `select max(relname)::text as name from pg_class where relnamespace = current_schema()::regnamespace and relname ~ '^calls_\\d{4}_\\d\\d$'`,
      )
    )[0]!;
    const isThere = async (number: number): Promise<boolean> =>
      (await inPartition(number, 'select where to_regclass($1::text) is not null', [name])).length > 0;
    const months = g.partitions[DEAD]!.statement('calls.find-missing-tables');
    for (let number = 0; number < PARTITIONS; number++) {
      assert.equal(await isThere(number), true);
      await inPartition(number, `drop table ${name}`);
    }
    months.hold();
    const round = g.gateway.housekeeping.round();
    await until(async () => (await isThere(0)) && (await isThere(2)) && (await isThere(3)));
    assert.equal(await isThere(DEAD), false);
    months.release();
    await round;
    assert.equal(await isThere(DEAD), true);
    await inPartition(DEAD, `drop table ${name}`);
    months.fail('before');
    await g.gateway.housekeeping.round();
    assert.deepEqual(
      logs.lines.filter(({ level }) => level === 'warn').map(({ details }) => details.task),
      [`monthly tables of call records of partition ${DEAD}`],
    );
    months.recover();
    await g.gateway.housekeeping.round();
    assert.equal(await isThere(DEAD), true);
  });

  it('deletes ended keys without calls and their limits in each, except one that fails', async () => {
    const made = new Map<number, string>();
    for (const [number, { id }] of accounts.entries()) {
      const key = await g.admin('POST', `/accounts/${id}/keys`, { name: 'limited' });
      assert.equal(key.status, 201, JSON.stringify(key.body));
      made.set(number, key.body.id);
      await inPartition(number, `insert into key_limits (account_id, key_id, daily_calls_max) values ($1, $2, 5)`, [
        id,
        key.body.id,
      ]);
      // The account's other key has calls, so it stays.
      await inDirectory(`update api_keys set revoked_at = now() - interval '8 days' where account_id = $1`, [id]);
    }
    const keysOf = async (number: number): Promise<number> =>
      (await inDirectory('select from api_keys where account_id = $1', [accounts[number]!.id])).length;
    const limitsOf = async (number: number): Promise<number> =>
      (await inPartition(number, 'select from key_limits where key_id = $1', [made.get(number)!])).length;
    const each = <Result>(work: (number: number) => Promise<Result>): Promise<Result[]> =>
      Promise.all(accounts.map((_, number) => work(number)));
    const tasks = (): unknown[] =>
      logs.lines.filter(({ level }) => level === 'warn').map(({ details }) => details.task);

    for (const failing of ['ended-keys.select-readiness', 'ended-keys.delete-limits']) {
      const statement = g.partitions[DEAD]!.statement(failing);
      const asked = statement.asked;
      statement.fail('before');
      await g.gateway.housekeeping.round();
      assert.equal(statement.asked, asked + 1);
      assert.deepEqual(await each(keysOf), [1, 2, 1, 1]);
      assert.deepEqual(await each(limitsOf), [0, 1, 0, 0]);
      statement.recover();
    }
    // Only the first failure is logged.
    assert.deepEqual(tasks(), ['ended keys']);
    assert.match(String(logs.lines.find(({ level }) => level === 'warn')!.details.err), /partition 1: /);
    await g.gateway.housekeeping.round();
    assert.deepEqual(await each(keysOf), [1, 1, 1, 1]);
    assert.deepEqual(await each(limitsOf), [0, 0, 0, 0]);
  });

  it('is in the metrics, by partition and connection pool', async () => {
    const response = await fetch(`${g.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    const metrics = readMetrics(await response.text());
    assert.equal(metrics.sum('faregate_database_partitions'), PARTITIONS);
    assert.equal(metrics.sum('faregate_database_partitions_unopened'), 0);
    for (let number = 0; number < PARTITIONS; number++)
      assert.equal(metrics.sum('faregate_database_partition_silent', { partition: String(number) }), 0);
    const pool = `housekeeping of partition ${DEAD}`;
    assert.ok(metrics.sum('faregate_database_statements_total', { lane: pool }) > 0);
  });
});
