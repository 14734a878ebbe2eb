import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parseConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';
import { sql } from '../support/sql.ts';

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const BODY = { model: 'test-chat', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
const CHEAP_NANO = costNano({ input: 1_000, output: 100 });
/** Ten times the price of input. */
const DEAR_NANO = CHEAP_NANO + 1_000n * 27_000n;
/** The least number of calls of a load. */
const CALLS = 200;
/** Long enough for calls before a switch on a busy machine. */
const AHEAD_MS = 5_000;
const MINUTE_MS = 60_000;
/** Calls follow each other without a pause so long before and after the instant of a switch. */
const AROUND_MS = 1_000;
const PAUSE_MS = 20;

const ahead = (ms: number): Clock => ({ nowMs: () => Date.now() + ms });

describe('nodes that switch prices under load', { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let nodes: TestGateway[];
  let account: TestAccount;

  before(async () => {
    stored = await createTestDatabase();
    nodes = [];
    for (const aheadMs of [0, MINUTE_MS, -MINUTE_MS]) {
      const options = { stored, database: stored.openAnother(), clock: ahead(aheadMs), isDatabaseClockReal: true };
      nodes.push(await startGateway(options));
    }
    for (const { provider } of nodes) provider.respond = json(200, chatCompletion(USAGE));
    account = await nodes[0]!.createAccount({ balanceYuan: '1000000' });
    // The instant of each admission, by the clock of the batch, outlives the reservation.
    await sql(stored.database, 'create table admitted_at (call_id text primary key, at timestamptz not null)');
    await sql(
      stored.database,
      `create function note_admission() returns trigger language plpgsql as $$
       begin insert into admitted_at values (new.call_id, new.reserved_at); return new; end $$`,
    );
    await sql(
      stored.database,
      'create trigger noted after insert on reservations for each row execute function note_admission()',
    );
    // First calls are slow. On a busy machine, few calls would end before the instant.
    await load(0);
  });
  after(async () => {
    await sql(stored.database, 'drop trigger noted on reservations');
    await sql(stored.database, 'drop table admitted_at');
    for (const node of nodes.toReversed()) await node.stop();
    await stored.remove();
  });

  const configOf = ({ provider }: TestGateway, price: string): Config =>
    parseConfig(testConfigText(provider.url).replace(PRICE, price), 'test.yaml', {});

  /** Sends calls to all nodes until enough have ended and the instant has passed for a while, most of them around the instant. */
  async function load(instantMs: number): Promise<void> {
    const untilMs = instantMs + 1_500;
    let sent = 0;
    const send = async (worker: number): Promise<void> => {
      while (sent < CALLS || Date.now() < untilMs) {
        sent++;
        const { status } = await call(`${nodes[worker % nodes.length]!.url}/v1/chat/completions`, account.key, BODY);
        assert.equal(status, 200);
        if (Math.abs(Date.now() - instantMs) > AROUND_MS) await delay(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, worker) => send(worker)));
  }

  /** The numbers of calls since `AHEAD_MS` before a switch: charged at each price, and at another price than the one in force at their admission. */
  async function charged(fromMs: number, [before, after]: readonly [bigint, bigint]): Promise<Charged> {
    const [counts] = await sql<Record<keyof Charged, string>>(
      stored.database,
      `select count(*) filter (where charge_nano = $2::bigint) as before, count(*) filter (where charge_nano = $3::bigint) as after,
         count(*) filter (where charge_nano is distinct from case when at < $1 then $2::bigint else $3::bigint end) as wrong
       from calls join admitted_at on call_id = calls.id where at > $4`,
      [new Date(fromMs), before, after, new Date(fromMs - AHEAD_MS)],
    );
    return { before: Number(counts!.before), after: Number(counts!.after), wrong: Number(counts!.wrong) };
  }

  function assertExact({ before, after, wrong }: Charged): void {
    assert.equal(wrong, 0);
    assert.ok(before > 20 && after > 20, `${before} calls at the first price, ${after} at the second`);
  }

  it('charge every call at the price in force at its admission, if the price has a later one', async () => {
    const fromMs = Date.now() + AHEAD_MS;
    const later = `${PRICE.slice(0, -1)}, later: [{ from: "${new Date(fromMs).toISOString()}", input: "30", output: "13" }] }`;
    for (const node of nodes) node.gateway.reload(configOf(node, later));
    await load(fromMs);
    assertExact(await charged(fromMs, [CHEAP_NANO, DEAR_NANO]));
  });

  it('charge every call at the price in force at its admission, whenever each node applies the revision', async () => {
    const fromMs = Date.now() + AHEAD_MS;
    const [right, early, late] = nodes as [TestGateway, TestGateway, TestGateway];
    for (const node of nodes) node.gateway.schedule([{ config: configOf(node, PRICE), fromMs }]);
    const apply = async (node: TestGateway, atMs: number): Promise<void> => {
      await delay(atMs - Date.now());
      node.gateway.reload(configOf(node, PRICE), fromMs);
      node.gateway.schedule([]);
    };
    const applied = Promise.all([apply(early, fromMs - 700), apply(right, fromMs), apply(late, fromMs + 900)]);
    await load(fromMs);
    await applied;
    assertExact(await charged(fromMs, [DEAR_NANO, CHEAP_NANO]));
  });
});

interface Charged {
  readonly before: number;
  readonly after: number;
  readonly wrong: number;
}
