import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { openDatabases } from '../../src/db/databases.ts';
import { readRecord } from '../../src/db/local/cluster.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/seeded-random.ts';
import { formatYuan } from '../../src/lib/yuan.ts';
import { plansText } from '../plans/coding.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { serverPid } from '../support/local-servers.ts';
import { temporaryDirectory } from '../support/process.ts';
import { startProvider } from '../support/provider.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { until } from '../support/until.ts';
import { assertSound, journalEntries } from './callers.ts';
import { assertCrashBooks, leftHeld } from './crash-books.ts';
import { type Attempt, CRASH_PLAN, CrashLoad, CrashProvider, costOf, createPurses, type Purse } from './crash-load.ts';
import { type ServingProgram, serve } from './programs.ts';

/**
 * The real program under load, killed at random moments, again and again. `CRASH_ROUNDS` sets the rounds of each test (a hundred take a
 * quarter of an hour), `CRASH_SEED` the moments; the diagnostics say what a run did. Twenty rounds of each kind on a local server:
 * `CRASH_ROUNDS=60 npm test -- --test-name-pattern=local test/settlement/crashes.test.ts`.
 */
const ROUNDS = process.env.CRASH_ROUNDS === undefined ? null : Number(process.env.CRASH_ROUNDS);
const SEED = Number(process.env.CRASH_SEED ?? 1);

const PLANS = plansText({ coder: CRASH_PLAN });

/** A node's place: what remains when its process dies. */
interface Place {
  readonly dataDir: string;
  /** Between the node and PostgreSQL. */
  readonly proxy: TestProxy | null;
  /** Older connections were cut off, or belong to a process that died. */
  lostBefore: Date | null;
}

/** What happens to the database in a round, besides the kill of a node: to one node's network, or to one account's row. */
type Fault = 'outage' | 'black hole' | 'locked row';
const FAULTS: readonly Fault[] = ['outage', 'black hole', 'locked row'];

/** What the rounds on a local server kill, in rotation. */
const KILLED = ['gateway', 'server', 'both'] as const;

class Scene {
  readonly #context: TestContext;
  readonly #randomSource: () => number;
  readonly #provider: CrashProvider;
  readonly #providerUrl: string;
  readonly #stored: TestDatabase | null;
  readonly #places: readonly Place[];
  #nodes: ServingProgram[] = [];
  #purses!: Purse[];
  #load!: CrashLoad;
  readonly #deliveredAround = { gateway: 0, server: 0, both: 0 };

  private constructor(
    context: TestContext,
    providerUrl: string,
    provider: CrashProvider,
    stored: TestDatabase | null,
    places: readonly Place[],
  ) {
    this.#context = context;
    this.#randomSource = seededRandom(SEED);
    this.#providerUrl = providerUrl;
    this.#provider = provider;
    this.#stored = stored;
    this.#places = places;
  }

  static async set(
    context: TestContext,
    { nodeCount, isLocal }: { nodeCount: number; isLocal: boolean },
  ): Promise<Scene> {
    const directory = temporaryDirectory();
    context.after(() => directory.remove());
    const crashProvider = new CrashProvider(SEED);
    const provider = await startProvider();
    context.after(() => provider.close());
    provider.respond = crashProvider.respond;
    const stored = isLocal ? null : await createTestDatabase(partitionsOfFile);
    if (stored !== null) context.after(() => stored.remove());
    const places: Place[] = [];
    for (let i = 0; i < nodeCount; i++) {
      const proxy = stored === null ? null : await startProxy(stored.url);
      if (proxy !== null) context.after(() => proxy.close());
      places.push({ dataDir: join(directory.path, `node-${i}`), proxy, lostBefore: null });
    }
    const scene = new Scene(context, provider.url, crashProvider, stored, places);
    for (let i = 0; i < nodeCount; i++) await scene.#start(i);
    scene.#purses = await createPurses(scene.#nodes[0]!.admin);
    scene.#load = new CrashLoad(scene.#purses, SEED);
    return scene;
  }

  get #urls(): string[] {
    return this.#nodes.map(({ url }) => url);
  }

  async #start(index: number): Promise<void> {
    const { dataDir, proxy } = this.#places[index]!;
    const databaseUrl = proxy === null ? '' : `${proxy.url}?application_name=node-${index}`;
    const node = await serve({ providerUrl: this.#providerUrl, dataDir, databaseUrl, plans: PLANS });
    this.#nodes[index] = node;
    this.#context.after(() => node.kill());
  }

  /** One round on a local server: calls, the kill of the gateway, of its server or of both, and a restart of what was killed. */
  async localRound(number: number): Promise<void> {
    const { length } = this.#load.attempts;
    const [{ dataDir }, node] = [this.#places[0]!, this.#nodes[0]!];
    const killed = KILLED[number % KILLED.length]!;
    let isOver = false;
    const calling = this.#load.run(this.#urls, () => isOver);
    await this.#letPass(10, 60);
    if (killed !== 'gateway') {
      process.kill(serverPid(join(readRecord(dataDir)!.home ?? join(dataDir, 'postgres'), 'cluster')), 'SIGKILL');
    }
    // Calls in flight end while the server is down.
    if (killed === 'server') await this.#letPass(10, 60);
    isOver = true;
    if (killed !== 'server') await node.kill();
    await calling;
    if (killed !== 'server') await this.#start(0);
    await this.#emptyJournals();
    const delivered = this.#load.attempts.slice(length).filter(({ belief }) => belief === 'success');
    this.#deliveredAround[killed] += delivered.length;
    await this.#assertCharged(0, delivered);
  }

  /**
   * One round on PostgreSQL: calls, a fault of the database for a part of them, a kill at some moment, and a restart. The first rounds have
   * every fault, the others any or none. The first one kills all nodes.
   */
  async round(number: number): Promise<void> {
    const { length } = this.#load.attempts;
    const dying = this.#choosePlaces(number);
    const fault = number < FAULTS.length ? FAULTS[number]! : this.#chooseFault();
    const cut = fault === 'outage' || fault === 'black hole' ? this.#places[this.#chooseIndex()]! : null;
    const isWarned = this.#randomSource() < 0.15;
    let isOver = false;
    const calling = this.#load.run(this.#urls, () => isOver);
    await this.#letPass(10, 40);
    if (cut !== null) {
      if (fault === 'black hole') cut.proxy?.swallowAll();
      else {
        cut.proxy?.refuse();
        cut.proxy?.cut();
      }
      cut.lostBefore = new Date();
    }
    const unlock = fault === 'locked row' ? this.#lockRow() : null;
    await this.#letPass(5, 40);
    if (this.#randomSource() < 0.5) cut?.proxy?.allow();
    await this.#letPass(1, 20);
    // Clients that repeat a call on another node at once would wait for a minute until its claim expires.
    isOver = true;
    await Promise.all(dying.map((index) => (isWarned ? this.#nodes[index]!.stop() : this.#nodes[index]!.kill())));
    for (const index of dying) this.#places[index]!.lostBefore = new Date();
    await unlock?.();
    await this.#noticeLost();
    // A live node responds to waiting calls, whether its database is up or down.
    await calling;
    cut?.proxy?.allow();
    await this.#endClaims();
    for (const index of dying) await this.#start(index);
    const delivered = this.#load.attempts.slice(length).filter(({ belief }) => belief === 'success');
    for (const index of dying) {
      await this.#assertCharged(index, delivered.filter(({ nodeIndex }) => nodeIndex === index).slice(-30));
    }
  }

  /** Every success that a node delivered before it died is in the database by the time its next process serves. */
  async #assertCharged(index: number, delivered: readonly Attempt[]): Promise<void> {
    const { admin } = this.#nodes[index]!;
    for (const { callId, callKind, number, isRepeated } of delivered) {
      const { status, chargeYuan, errorCode } = await admin('GET', `/calls/${callId}`);
      const charge = callKind.purse === 'plan' ? null : formatYuan(costOf(number));
      assert.deepEqual([status, chargeYuan, errorCode], ['succeeded', charge, null], `call ${number} ${isRepeated}`);
    }
    await assertSound(admin);
  }

  /** Lets every repeated call end and every dead node be noticed, and compares everything. */
  async finish(): Promise<void> {
    await this.#load.finish(this.#urls);
    await this.#emptyJournals();
    if (this.#stored !== null) {
      const { database } = this.#stored;
      const isNothingHeld = async () => Object.values(await leftHeld(database)).every((left) => left === 0);
      await until(isNothingHeld, 'something is held for calls of nodes that were killed');
    }
    await this.#load.assertRepeated(this.#urls, this.#provider);
    for (const node of this.#nodes) assert.equal((await node.stop()).code, 0);
    const database: Database =
      this.#stored?.database ??
      (await openDatabases({ url: '', dataDir: this.#places[0]!.dataDir }, silentLogger)).directory;
    try {
      const { attempts } = this.#load;
      const isAlone = this.#places.length === 1;
      const counts = await assertCrashBooks(database, attempts, this.#purses, this.#provider, { isAlone });
      const around = isAlone ? { deliveredAroundTheEndOf: this.#deliveredAround } : {};
      this.#context.diagnostic(JSON.stringify({ ...counts, ...around }));
    } finally {
      if (this.#stored === null) await database.close();
    }
  }

  async #emptyJournals(): Promise<void> {
    for (const { dataDir } of this.#places) {
      await until(
        async () => (await journalEntries(dataDir)).length === 0,
        'a journal has entries that are not applied',
      );
    }
  }

  /** Simulates the minute in which a dead node might have renewed its claims. No call waits for a claim by now. */
  async #endClaims(): Promise<void> {
    const { accountId } = this.#purses.find(({ name }) => name === 'idempotency key')!;
    await this.#stored?.database.query(
      {
        name: 'test.end-claims',
        text: `update stored_responses set claimed_until = now() - interval '1 second' where account_id = $1::text`,
      },
      [accountId],
    );
  }

  /**
   * Simulates the time after which the server notices that nodes which died or were cut off are gone: ends their transactions and closes
   * their connections, which would otherwise still be active in the next round.
   */
  async #noticeLost(): Promise<void> {
    const lost = this.#places.flatMap(({ lostBefore }, index) =>
      lostBefore === null ? [] : [{ name: `node-${index}`, before: lostBefore }],
    );
    for (const { name, before } of lost) {
      await this.#stored?.database.query(
        {
          name: 'test.notice-lost',
          text: `select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name = $1::text and backend_start < $2::timestamptz
  and state like 'idle%'`,
        },
        [name, before],
      );
    }
  }

  /** Waits until some attempts have ended, and then a moment more. */
  async #letPass(least: number, most: number): Promise<void> {
    await this.#load.ended(least + Math.floor(this.#randomSource() * (most - least)));
    await new Promise((resolve) => setTimeout(resolve, this.#randomSource() * 50));
  }

  /** Locks the row of the account that most calls are made with, like a transaction that was left open. */
  #lockRow(): () => Promise<void> {
    const { accountId } = this.#purses.find(({ name }) => name === 'balance')!;
    const gate = Promise.withResolvers<void>();
    const held = this.#stored?.database
      .transaction(async (transaction) => {
        const text = 'select from balances where account_id = $1::text for update';
        await transaction.query({ name: 'test.lock-row', text }, [accountId]);
        await gate.promise;
      })
      // The server ends a transaction that is idle for too long.
      .catch(() => undefined);
    return async () => {
      gate.resolve();
      await held;
    };
  }

  #chooseFault(): Fault | null {
    return FAULTS[Math.floor(this.#randomSource() * (FAULTS.length + 1))] ?? null;
  }

  #chooseIndex(): number {
    return Math.floor(this.#randomSource() * this.#places.length);
  }

  #choosePlaces(round: number): number[] {
    const isEvery = this.#randomSource() < 0.3 || round === 0;
    if (this.#places.length > 1 && isEvery) return this.#places.map((_place, index) => index);
    return [this.#chooseIndex()];
  }
}

describe('killed at random moments under load, every success is charged once, and nothing else is', {
  concurrency: true,
  timeout: ROUNDS === null ? 300_000 : 7_200_000,
}, () => {
  test('on the local server: the gateway, its server, or both at once', async (context) => {
    const scene = await Scene.set(context, { isLocal: true, nodeCount: 1 });
    for (let round = 0; round < (ROUNDS ?? KILLED.length); round++) await scene.localRound(round);
    await scene.finish();
  });

  test('on two nodes and a PostgreSQL, which is down, silent or locked at times', async (context) => {
    const scene = await Scene.set(context, { isLocal: false, nodeCount: 2 });
    for (let round = 0; round < (ROUNDS ?? FAULTS.length); round++) await scene.round(round);
    await scene.finish();
  });
});
