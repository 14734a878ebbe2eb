import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import {
  type Admin,
  assertCharged,
  assertDelivered,
  assertFree,
  assertServedAnew,
  assertSound,
  beginAll,
  type CallInFlight,
  createCallers,
  Gates,
  MODEL,
  recorded,
  recordsOf,
} from '../settlement/callers.ts';
import { type ServingProgram, serve } from '../settlement/programs.ts';
import { createTestDatabase } from '../support/database.ts';
import { families } from '../support/families.ts';
import type { Behaviour } from '../support/hostile-provider.ts';
import { temporaryDirectory } from '../support/process.ts';
import { type ScriptedProvider, startProvider } from '../support/provider.ts';
import { inFullRunsOnly } from '../support/scope.ts';
import { assertFailed, BROKEN, callOf, type HostileScene, modelOf, providerPair, setScene } from './scene.ts';

/**
 * What happens if a provider has no TLS or a node is killed: the client's response, the charge, and the report to the route's breaker.
 * `connections.test.ts` and `test/relay` have the ways in which a response fails.
 */

describe(`what happens when`, () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene((url) => ({
      providers: providerPair('secure', url.replace('http:', 'https:'), 'timeouts: { connect: 60ms }'),
      models: modelOf('secure'),
    }));
  });
  after(() => scene?.close());

  describe('the provider refuses connections, it was the last route: 502 upstream_error, retryable, nothing', () => {
    for (const family of families) {
      const noTls: Record<string, Behaviour> = {
        'no TLS behind the port': async (connection) => {
          await connection.send('HTTP/1.1 400 Bad Request\r\n\r\n');
          connection.fin();
        },
        'a handshake that breaks off': (connection) => connection.reset(),
        'a handshake that is never responded': ({ closed }) => closed,
      };
      for (const [what, behaviour] of Object.entries(noTls)) {
        test(`${family.name}, ${what}`, async () => {
          const ended = await scene.send(callOf(family, false, behaviour, 'secure'));
          await assertFailed(ended, family, { ...BROKEN, retry: 'true' });
        });
      }
    }
  });
});

describe('what happens when a node is killed: connection reset, reservation released within 30 s, call unresolved', {
  concurrency: true,
  timeout: 180_000,
}, () => {
  test('on the local server: the next start resolves all kinds of calls before it serves', async (context) => {
    const { provider, gates, directory } = await setStage(context);
    const dataDir = join(directory, 'only');
    const node = await serve({ providerUrl: provider.url, dataDir });
    const killed = await killInFlight(node, provider);

    const next = await serve({ providerUrl: provider.url, dataDir });
    context.after(() => next.kill());
    for (const each of killed.calls) {
      await assertUnresolved(next.admin, each, killed);
      await assertFree(next.admin, next.url, each.caller);
    }
    await assertSound(next.admin);
    for (const { caller } of killed.calls) await assertServedAnew(next.admin, next.url, caller, gates);
    await assertSound(next.admin);
  });

  // `test/settlement/killed.test.ts` also covers another node that resolves calls of a killed one.
  test('another node resolves them without effect on its own calls; without another node the next start does', {
    skip: inFullRunsOnly,
  }, async (context) => {
    const { provider, gates, directory, databaseUrl } = await setStage(context);
    const [node, other] = await Promise.all(
      ['one', 'other'].map((name) => serve({ providerUrl: provider.url, dataDir: join(directory, name), databaseUrl })),
    );
    const living = await beginAll(other!.url, provider, await createCallers(other!.admin), 'living');
    const killed = await killInFlight(node!, provider);

    for (const each of killed.calls) {
      await recorded(other!.admin, each.caller, 'unresolved');
      await assertUnresolved(other!.admin, each, killed);
      await assertFree(other!.admin, other!.url, each.caller);
    }
    await assertSound(other!.admin);
    gates.open('living');
    for (const each of living) {
      await assertDelivered(each);
      await assertCharged(other!.admin, other!.url, each.caller);
    }
    await assertLimitsGivenBack(other!, killed.calls, gates);

    const last = await killInFlight(other!, provider);
    const next = await serve({ providerUrl: provider.url, dataDir: join(directory, 'other'), databaseUrl });
    context.after(() => next.kill());
    for (const each of last.calls) {
      await recorded(next.admin, each.caller, 'unresolved');
      await assertUnresolved(next.admin, each, last);
      await assertFree(next.admin, next.url, each.caller);
    }
    await assertLimitsGivenBack(next, last.calls, gates);
  });

  /** A provider, and a parent for the nodes' data directories. */
  async function setStage(context: TestContext) {
    const directory = temporaryDirectory();
    context.after(() => directory.remove());
    const gates = new Gates();
    const provider = await startProvider();
    context.after(() => provider.close());
    provider.respond = gates.respond;
    const stored = await createTestDatabase();
    context.after(() => stored.remove());
    return { provider, gates, directory: directory.path, databaseUrl: stored.url };
  }

  interface Killed {
    readonly calls: readonly CallInFlight[];
    /** The holds of the calls' accounts, by account id. */
    readonly heldYuan: ReadonlyMap<string, string>;
    /** The calls began between these times. */
    readonly fromMs: number;
    readonly toMs: number;
    readonly killedAtMs: number;
  }

  /** Kills a node with calls of all kinds in flight, and waits until their connections break. */
  async function killInFlight(node: ServingProgram, provider: ScriptedProvider): Promise<Killed> {
    const callers = await createCallers(node.admin);
    const fromMs = Date.now();
    const calls = await beginAll(node.url, provider, callers, 'killed');
    const toMs = Date.now();
    const heldYuan = new Map<string, string>();
    for (const { id } of callers) heldYuan.set(id, (await node.admin('GET', `/accounts/${id}`)).heldYuan);
    const broken = calls.map(async ({ caller, response }) => {
      if (caller.kind.isStream) assert.equal(await (await response).ended(), false);
      else await assert.rejects(response, { code: 'ECONNRESET' });
    });
    const killedAtMs = await node.kill();
    await Promise.all(broken);
    return { calls, heldYuan, fromMs, toMs, killedAtMs };
  }

  /** Asserts that the record of a call has everything that was known at its admission. */
  async function assertUnresolved(admin: Admin, { caller, begun }: CallInFlight, killed: Killed): Promise<void> {
    const { kind, id, keyId } = caller;
    const records = await recordsOf(admin, caller);
    assert.equal(records.length, 1);
    const { startedAt, endedAt, requestId, gatewayRequestId, heldYuan, heldTokens, durationMs, ...record } = records[0];
    assert.match(gatewayRequestId, /^req_/);
    assert.equal(heldTokens !== null, kind.isCoding === true);
    assert.match(record.id, /^call_/);
    assert.deepEqual(record, {
      id: record.id,
      accountId: id,
      accountName: kind.name,
      keyId,
      keyName: kind.name,
      groupId: null,
      context: kind.isCoding ? 'coding' : 'balance',
      operation: kind.family.name,
      model: MODEL,
      route: { provider: kind.family.name === 'chat' ? 'chatty' : 'messy', model: MODEL },
      session: null,
      translation: null,
      fallback: null,
      failedRoutes: [],
      attempts: [],
      isStream: kind.isStream,
      status: 'unresolved',
      httpStatus: null,
      errorCode: 'call_unresolved',
      usage: null,
      excessUsage: null,
      doubtedUsage: [],
      innerModels: [],
      price: { rule: 'base' },
      pricedBy: null,
      unpriced: [],
      clientRequestId: null,
      clientAddress: null,
      program: null,
      endUser: null,
      tags: [],
      priceFactorBasisPoints: null,
      chargeYuan: null,
      refundedYuan: null,
      refunds: [],
      costYuan: null,
      reservedYuan: null,
      resolution: null,
      firstByteMs: null,
    });
    if (begun === null) assert.match(requestId, /^req_/);
    else assert.equal(requestId, begun.headers['x-request-id']);
    const held = killed.heldYuan.get(id)!;
    assert.equal(heldYuan, kind.isCoding ? null : held);
    assert.equal(held === '0', kind.isCoding === true);
    const startedAtMs = Date.parse(startedAt);
    assert.ok(killed.fromMs <= startedAtMs && startedAtMs <= killed.toMs, startedAt);
    // The only time limit that is the rule itself.
    const afterMs = Date.parse(endedAt) - killed.killedAtMs;
    assert.ok(afterMs >= 0 && afterMs < 30_000, `resolved after ${afterMs} ms`);
  }

  /** Asserts that plan and key are free again. On PostgreSQL an Idempotency-Key is free once its claim has expired. */
  async function assertLimitsGivenBack(
    { admin, url }: ServingProgram,
    calls: readonly CallInFlight[],
    gates: Gates,
  ): Promise<void> {
    for (const { caller } of calls) {
      if (caller.kind.idempotencyKey === undefined) await assertServedAnew(admin, url, caller, gates);
    }
    await assertSound(admin);
  }
});
