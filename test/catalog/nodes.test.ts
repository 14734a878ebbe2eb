import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { splitConfig } from '../../src/config/catalog-text.ts';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { type AdminClient, adminClient } from '../support/admin-client.ts';
import { call } from '../support/client.ts';
import { costNano, testConfigText } from '../support/gateway.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { type RunningProgram, startProgram, temporaryDirectory } from '../support/process.ts';
import { chatCompletion, json, type Respond, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { byScope } from '../support/scope.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { CREDENTIALS, catalogText } from './catalog-texts.ts';

/** Gateways in processes of their own, on a PostgreSQL server that a test can stop, switch prices while calls run. */

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const BODY = { model: 'test-chat', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
const ADMIN_TOKEN = 'an-admin-token-of-a-test';
const BALANCE_YUAN = '1000000';
/** Charges of a call, by the price of input in yuan per million tokens. */
const CHARGES_NANO = { 3: costNano({ input: 1_000, output: 100 }), 30: 1_000n * 30_000n + 100n * 13_000n } as const;
type InputYuan = keyof typeof CHARGES_NANO;

const CALLS = byScope({ full: 2_000, quick: 200 });
const WORKERS = 12;
/** Calls follow each other without a pause so long before and after the instant of a switch. */
const AROUND_MS = 700;
const PAUSE_MS = 20;
/** Far more than nodes need to read a revision. */
const AHEAD_MS = 4_000;
/** A node is killed so long before or after the instant of a switch. */
const KILLED_AT_MS = byScope({ full: [-20, 0, 20], quick: [0] });

const answer: Respond = json(200, chatCompletion(USAGE));

interface Node {
  readonly url: string;
  readonly admin: AdminClient;
  readonly program: RunningProgram;
}

describe('nodes in processes of their own', { timeout: 900_000 }, () => {
  const directory = temporaryDirectory();
  let server: PostgresServer;
  let database: Database;
  let provider: ScriptedProvider;
  const nodes: Node[] = [];
  let key: string;
  let accountId: string;
  /** The instants of all switches. */
  const switches: number[] = [];
  /** The price of input by the number of the revision. */
  const prices = new Map<number, InputYuan>();
  /** Successful calls so far. */
  let succeeded = 0;

  before(async () => {
    server = await startPostgresServer(directory.path, { fsync: 'off' });
    database = openPostgres({ url: `${server.url}/postgres`, logger: silentLogger });
    provider = await startProvider();
    provider.respond = answer;
    for (const name of ['one', 'two']) nodes.push(await startNode(name));
    prices.set(1, 3);
    const { admin } = nodes[0]!;
    const account = { name: 'busy', verified: true, balanceYuan: BALANCE_YUAN };
    ({ id: accountId } = await admin('POST', '/accounts', account));
    ({ key } = await admin('POST', `/accounts/${accountId}/keys`, { name: 'busy' }));
    // The instant of each admission, by the clock of the batch, outlives the reservation.
    await sql(database, 'create table admitted_at (call_id text primary key, at timestamptz not null)');
    await sql(
      database,
      `create function note_admission() returns trigger language plpgsql as $$
       begin insert into admitted_at values (new.call_id, new.reserved_at); return new; end $$`,
    );
    await sql(
      database,
      'create trigger noted after insert on reservations for each row execute function note_admission()',
    );
  });
  after(async () => {
    for (const { program } of nodes) {
      program.child.kill('SIGINT');
      await program.finished;
    }
    await provider?.close();
    await database?.close();
    await server?.stop();
    directory.remove();
  });

  async function startNode(name: string): Promise<Node> {
    const home = join(directory.path, name);
    mkdirSync(home, { recursive: true });
    const file = join(home, 'faregate.yaml');
    const settings = splitConfig(testConfigText(provider.url, { dataDir: join(home, 'data') })).node;
    writeFileSync(file, `${settings}\ncatalog: database\ninitialCatalog: catalog.yaml\n`);
    writeFileSync(join(home, 'catalog.yaml'), catalogText(provider.url));
    const program = startProgram(['serve', '--config', file], {
      environment: {
        ...CREDENTIALS,
        DATABASE_URL: `${server.url}/postgres`,
        FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
        LOG_LEVEL: 'error',
      },
    });
    const [, url] = /^listening on (\S+)$/m.exec(await program.printed(/^listening on \S+$/m))!;
    return { url: url!, admin: adminClient(url!, ADMIN_TOKEN), program };
  }

  const textWith = (input: InputYuan): string => catalogText(provider.url).replace('input: "3"', `input: "${input}"`);

  /** Schedules a revision with another price of the model. Returns its number. */
  async function schedule(input: InputYuan, atMs: number): Promise<number> {
    const { admin } = nodes[0]!;
    const { base } = await admin('GET', '/catalog');
    const revision = { base, text: textWith(input), inForceAt: new Date(atMs).toISOString() };
    const { number } = await admin('POST', '/catalog/revisions', revision);
    prices.set(number, input);
    switches.push(atMs);
    return number;
  }

  const isAroundSwitch = (): boolean => switches.some((atMs) => Math.abs(Date.now() - atMs) < AROUND_MS);

  /**
   * Sends calls to all nodes until `count` have ended and the instant has passed, most of them around switches. `mayFail`: calls may fail
   * on this node.
   */
  async function load(count: number, untilMs: number, mayFail: number | null = null): Promise<void> {
    let sent = 0;
    const send = async (worker: number): Promise<void> => {
      for (; sent < count || Date.now() < untilMs; worker++) {
        sent++;
        const index = worker % nodes.length;
        const path = `${nodes[index]!.url}/v1/chat/completions`;
        const status = await call(path, key, BODY).then(
          (response) => response.status,
          () => null,
        );
        if (status === 200) succeeded++;
        else assert.equal(index, mayFail, `status ${status} of a call to node ${index}`);
        if (Date.now() < untilMs && !isAroundSwitch()) await delay(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => send(worker)));
  }

  /** Number of the revision that a node applies. */
  async function inForceOn({ url }: Node): Promise<number> {
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    return Number(/^faregate_catalog_revision\{state="in_force"\} (\d+)/m.exec(await response.text())?.[1]);
  }

  /**
   * Every successful call is charged once, at the price of the revision that was in force at its admission.
   *
   * @param least the smallest number of calls that each of these revisions must have
   */
  async function assertExact(least: number, ...revisions: readonly number[]): Promise<void> {
    await until(async () => (await countSucceeded()) >= succeeded);
    const groups = await sql<{ revision: number; charge: string; calls: number }>(
      database,
      `select r.revision::int, charge_nano::text as charge, count(*)::int as calls from calls join admitted_at on call_id = calls.id
       cross join lateral (select max(number) as revision from catalog_revisions where canceled_at is null and in_force_at <= at) r
       where status = 'succeeded' group by 1, 2`,
    );
    for (const { revision, charge } of groups) assert.equal(BigInt(charge), CHARGES_NANO[prices.get(revision)!]);
    for (const revision of revisions) {
      const calls = groups.find((group) => group.revision === revision)?.calls ?? 0;
      assert.ok(calls >= least, `${calls} calls under revision ${revision}`);
    }
    const charged = groups.reduce((sum, { charge, calls }) => sum + BigInt(charge) * BigInt(calls), 0n);
    const { balanceYuan } = await nodes[0]!.admin('GET', `/accounts/${accountId}`);
    assert.equal(parseYuan(BALANCE_YUAN)! - parseYuan(balanceYuan)!, charged);
  }

  async function countSucceeded(): Promise<number> {
    const [row] = await sql<{ calls: number }>(
      database,
      `select count(*)::int as calls from calls where status = 'succeeded'`,
    );
    return row!.calls;
  }

  it('begin with one first revision', async () => {
    const { data } = await nodes[1]!.admin('GET', '/catalog/revisions');
    assert.deepEqual(
      data.map(({ number, reason }: { number: number; reason: string }) => [number, reason]),
      [[1, 'the content of catalog.yaml']],
    );
    assert.deepEqual(await Promise.all(nodes.map(inForceOn)), [1, 1]);
  });

  it('charge every call at the price in force at its admission, across a switch and a rollback', async () => {
    // First calls are slow. On a busy machine, few calls would end before the instant.
    await load(50, 0);
    const switchMs = Date.now() + AHEAD_MS;
    const rollbackMs = switchMs + 2_000;
    assert.equal(await schedule(30, switchMs), 2);
    const inForceAt = new Date(rollbackMs).toISOString();
    const { number } = await nodes[1]!.admin('POST', '/catalog/revisions/1/rollback', { inForceAt });
    prices.set(number, 3);
    switches.push(rollbackMs);
    await load(CALLS, rollbackMs + 1_000);
    await assertExact(20, 1, 2, 3);
  });

  for (const offsetMs of KILLED_AT_MS) {
    it(`charge exactly if one is killed ${offsetMs} ms from the instant, and it has the revision after its start`, async () => {
      const fromMs = Date.now() + AHEAD_MS;
      const earlier = (await nodes[0]!.admin('GET', '/catalog')).base as number;
      const number = await schedule(prices.get(earlier) === 3 ? 30 : 3, fromMs);
      const loaded = load(1, fromMs + 1_500, 1);
      await delay(fromMs + offsetMs - Date.now());
      nodes[1]!.program.child.kill('SIGKILL');
      await loaded;
      nodes[1] = await startNode('two');
      assert.deepEqual(await Promise.all(nodes.map(inForceOn)), [number, number]);
      await load(50, 0);
      await assertExact(20, earlier, number);
    });
  }

  it('switch although the database is down at the instant, and charge exactly before and after', async () => {
    const fromMs = Date.now() + 3 * AHEAD_MS;
    const earlier = (await nodes[0]!.admin('GET', '/catalog')).base as number;
    const number = await schedule(prices.get(earlier) === 3 ? 30 : 3, fromMs);
    await load(50, 0);
    // A call that is admitted before the switch, and ends after it, while the database is down.
    const release = Promise.withResolvers<void>();
    const received = provider.received(provider.requests.length + 1);
    provider.respond = async (...exchange) => {
      await release.promise;
      await answer(...exchange);
    };
    const held = call(`${nodes[1]!.url}/v1/chat/completions`, key, BODY);
    await received;
    provider.respond = answer;
    await delay(fromMs - 1_500 - Date.now());
    await server.stop();
    assert.ok(Date.now() < fromMs, 'the database was stopped too late');
    await until(async () => (await Promise.all(nodes.map(inForceOn))).every((each) => each === number));
    assert.ok(Date.now() >= fromMs);
    for (const { url } of nodes) assert.equal((await call(`${url}/v1/chat/completions`, key, BODY)).status, 500);
    release.resolve();
    assert.equal((await held).status, 200);
    succeeded++;
    await server.restart();
    for (const { url } of nodes) {
      await until(async () => (await call(`${url}/v1/chat/completions`, key, BODY)).status === 200);
      succeeded++;
    }
    await load(50, 0);
    await assertExact(50, earlier, number);
    assert.deepEqual(await Promise.all(nodes.map(inForceOn)), [number, number]);
  });
});
