import assert from 'node:assert/strict';
import { appendFile, glob } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { type ScriptedProvider, startProvider } from '../support/provider.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { pauseBetweenLooks } from '../support/until.ts';
import {
  assertCharged,
  assertDelivered,
  assertFree,
  assertKeyUsedUp,
  assertLedger,
  assertSound,
  begin,
  beginAll,
  type Caller,
  createCaller,
  createCallers,
  Gates,
  journalEntries,
  type Kind,
  kinds,
  recorded,
  recordsOf,
  successOf,
} from './callers.ts';
import { type ServingProgram, serve } from './programs.ts';

/**
 * A node that is killed while its database is down, when only its journal has the successes that it has delivered: the next start on the
 * same data charges them, once, whatever other nodes have done about them meanwhile.
 */

interface Stage {
  readonly provider: ScriptedProvider;
  readonly gates: Gates;
  readonly stored: TestDatabase;
  /** Between the node that is killed and the database. */
  readonly proxy: TestProxy;
  readonly directory: string;
  clear(): Promise<void>;
}

async function setStage(): Promise<Stage> {
  const directory = temporaryDirectory();
  const gates = new Gates();
  const provider = await startProvider();
  provider.respond = gates.respond;
  const stored = await createTestDatabase(partitionsOfFile);
  const proxy = await startProxy(stored.url);
  return {
    provider,
    gates,
    stored,
    proxy,
    directory: directory.path,
    async clear() {
      await proxy.close();
      await stored.remove();
      await provider.close();
      directory.remove();
    },
  };
}

/** The node that is killed, and every later start of it. */
function serveOnProxy({ provider, proxy, directory }: Stage): Promise<ServingProgram> {
  return serve({ providerUrl: provider.url, dataDir: join(directory, 'killed'), databaseUrl: proxy.url });
}

/** Lets the node deliver successes with its database down, and kills it; the database has none of them then. */
async function killWithFullJournal(stage: Stage, node: ServingProgram, callers: readonly Caller[]): Promise<void> {
  const { provider, proxy, gates, stored, directory } = stage;
  const calls = await beginAll(node.url, provider, callers, 'away');
  proxy.refuse();
  proxy.cut();
  gates.open('away');
  for (const each of calls) await assertDelivered(each);
  await node.kill();
  assert.equal((await journalEntries(join(directory, 'killed'))).length, callers.length);
  const [counts] = await stored.database.query<object>({
    name: 'test.count-ends',
    text: `select (select count(*)::int from calls) as calls,
      (select count(*)::int from ledger_entries where kind = 'charge') as charges,
      (select count(*)::int from reservations) as reservations`,
  });
  assert.deepEqual(counts, { calls: 0, charges: 0, reservations: callers.length });
}

/** Simulates a process that died while it wrote another entry. */
async function tearLastLine(stage: Stage): Promise<void> {
  const dataDir = join(stage.directory, 'killed');
  const [line] = await journalEntries(dataDir);
  for await (const file of glob(join(dataDir, 'journal', '*', '*.journal'))) {
    await appendFile(file, `\n${line!.slice(0, line!.length / 2)}`);
  }
}

describe('killed in the middle of an entry while its database is down, and started again', { timeout: 300_000 }, () => {
  test('every success is charged once before the node serves, and none is unresolved, with the database down for the first start', async (context) => {
    const stage = await setStage();
    context.after(() => stage.clear());
    const node = await serveOnProxy(stage);
    const callers = await createCallers(node.admin);
    await killWithFullJournal(stage, node, callers);
    await tearLastLine(stage);

    await assert.rejects(serveOnProxy(stage), /the program ended without printing/);
    stage.proxy.allow();
    const next = await serveOnProxy(stage);
    context.after(() => next.kill());
    for (const caller of callers) {
      await assertCharged(next.admin, next.url, caller);
      assert.equal((await recordsOf(next.admin, caller)).length, 1);
      if (caller.kind.isLimited) await assertKeyUsedUp(next.url, caller);
    }
    await assertRepeated(stage, next, callers.find(({ kind }) => kind.idempotencyKey !== undefined)!);
    await assertSound(next.admin);
    // Nothing is left for a later start to charge again.
    while ((await journalEntries(join(stage.directory, 'killed'))).length > 0) await pauseBetweenLooks();
    assert.equal((await next.stop()).code, 0);
  });
});

describe('killed while its database is down, with another node that lives', { timeout: 180_000 }, () => {
  const keyed: Kind = kinds.find(({ idempotencyKey }) => idempotencyKey !== undefined)!;
  let stage: Stage;
  let other: ServingProgram;
  let next: ServingProgram;
  let callers: Caller[];
  /** A call that is repeated on the other node while the first one's end is in the journal. */
  let repeated: Caller;
  before(async () => {
    stage = await setStage();
    const { provider, stored, directory } = stage;
    other = await serve({ providerUrl: provider.url, dataDir: join(directory, 'other'), databaseUrl: stored.url });
    const node = await serveOnProxy(stage);
    callers = await createCallers(node.admin);
    repeated = await createCaller(node.admin, keyed);
    await killWithFullJournal(stage, node, [...callers, repeated]);
  });
  after(async () => {
    await next?.kill();
    await other?.kill();
    await stage?.clear();
  });

  test('the other node records the calls as unresolved, releases what they reserved, and charges nothing', async () => {
    for (const caller of [...callers, repeated]) {
      await recorded(other.admin, caller, 'unresolved');
      await assertFree(other.admin, other.url, caller);
    }
    await assertSound(other.admin);
  });

  test('a repeat on the other node, once the claim of the first has expired, runs and is charged', async () => {
    // Simulates the minute in which the dead node might have renewed it.
    await stage.stored.database.query(
      {
        name: 'test.end-claim',
        text: `update stored_responses set claimed_until = now() - interval '1 second' where account_id = $1::text`,
      },
      [repeated.id],
    );
    const { length } = stage.provider.requests;
    const response = await begin(other.url, repeated, 'away').response;
    await response.ended();
    assert.deepEqual([response.status, response.text], [200, successOf(keyed)]);
    assert.equal(stage.provider.requests.length, length + 1);
    await assertCharged(other.admin, other.url, repeated);
  });

  test('the next start of the first replaces the records and charges each success once; what was released of a plan stays so', async () => {
    stage.proxy.allow();
    next = await serveOnProxy(stage);
    for (const node of [next, other]) {
      for (const caller of callers) {
        await assertCharged(node.admin, node.url, caller, { takesSlot: false });
        assert.equal((await recordsOf(node.admin, caller)).length, 1);
      }
      await assertSound(node.admin);
    }
  });

  test('the call whose repeat has been paid for is on record as delivered, and not charged', async () => {
    const records = await recordsOf(next.admin, repeated);
    assert.deepEqual(
      records.map(({ status, chargeYuan, heldYuan }) => [status, chargeYuan === null, heldYuan]),
      [
        ['succeeded', false, null],
        ['succeeded', true, null],
      ],
    );
    await assertLedger(next.admin, repeated.id, [records[0].id], keyed.family.cost);
  });

  test('a repeat on either node gets the response that was paid for, and costs nothing', async () => {
    const first = callers.find(({ kind }) => kind === keyed)!;
    for (const node of [other, next]) {
      for (const caller of [first, repeated]) await assertRepeated(stage, node, caller);
      await assertCharged(node.admin, node.url, first);
      const records = await recordsOf(node.admin, repeated);
      await assertLedger(node.admin, repeated.id, [records[0].id], keyed.family.cost);
    }
  });
});

/** Asserts that a repeat of a call with an Idempotency-Key gets its response, and does not run again. */
async function assertRepeated({ provider }: Stage, node: ServingProgram, caller: Caller): Promise<void> {
  const { length } = provider.requests;
  const response = await begin(node.url, caller, 'away').response;
  await response.ended();
  assert.deepEqual(
    [response.status, response.text, response.headers['x-faregate-repeated']],
    [200, successOf(caller.kind), 'true'],
  );
  assert.equal(provider.requests.length, length);
}
