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
  begin,
  beginAll,
  type CallInFlight,
  createCallers,
  Gates,
  MODEL,
  PLANS,
  recorded,
  recordsOf,
  unfinishedOf,
} from '../settlement/callers.ts';
import { createTestDisk } from '../settlement/disk.ts';
import { type ServingProgram, serve } from '../settlement/programs.ts';
import { createTestDatabase } from '../support/database.ts';
import { assertBrokenOff, assertError, type Family, families, modes, modesOf, requestOf } from '../support/families.ts';
import { assertSpent, startGateway } from '../support/gateway.ts';
import { type Behaviour, responses } from '../support/hostile-provider.ts';
import { temporaryDirectory } from '../support/process.ts';
import { type ScriptedProvider, startProvider } from '../support/provider.ts';
import { openConnection, requestBytes } from '../support/raw.ts';
import { byScope, inFullRunsOnly } from '../support/scope.ts';
import {
  ask,
  assertFailed,
  BROKEN,
  callOf,
  type HostileScene,
  jsonBytes,
  modelOf,
  providerPair,
  setScene,
} from './scene.ts';

/**
 * What happens if a provider refuses, a node is killed, the disk is full, or bad bodies arrive: the client's response, the charge, and the
 * report to the route's breaker. `connections.test.ts` and `test/relay` have the ways in which a response fails.
 */

function eachCase(run: (family: Family, isStream: boolean, name: string) => void): void {
  for (const family of families)
    for (const { kind, isStream } of modesOf(family)) run(family, isStream, `${family.name}, ${kind}`);
}

describe(`what happens when`, () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene((url) => ({
      providers: [
        // Nothing listens on this port.
        providerPair('away', 'http://127.0.0.1:1'),
        providerPair('secure', url.replace('http:', 'https:'), 'timeouts: { connect: 60ms }'),
      ].join(''),
      models: modelOf('away') + modelOf('secure'),
    }));
  });
  after(() => scene?.close());

  describe('the provider refuses connections, it was the last route: 502 upstream_error, retryable, nothing', () => {
    eachCase((family, isStream, name) => {
      test(`${name}, a refused connection`, async () => {
        const ended = await scene.send(callOf(family, isStream, () => undefined, 'away'));
        await assertFailed(ended, family, { ...BROKEN, retry: 'true' });
      });
    });

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

  describe('provider non-2xx: same status, our envelope, safe headers, nothing', () => {
    for (const status of [400, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529]) {
      test(`${status}`, async () => {
        const error = { message: `Said with ${status}.`, type: 'some_error', code: 'some_code', param: null };
        const bytes = jsonBytes(
          status,
          JSON.stringify({ error }),
          'retry-after: 3',
          'x-request-id: req_theirs',
          'server: x',
        );
        for (const [family, isStream] of [
          [families[0]!, false],
          [families[1]!, true],
        ] as const) {
          const { response, account, record, reported } = await scene.send(callOf(family, isStream, responses(bytes)));
          assert.equal(response.status, status);
          assert.equal(response.json.error.message, error.message);
          assert.equal(response.headers['x-error-code'], error.code);
          assert.deepEqual([response.headers['retry-after'], response.headers.server], ['3', undefined]);
          assert.deepEqual(
            [response.headers['x-request-id'], response.headers['request-id']],
            ['req_theirs', 'req_theirs'],
          );
          assert.equal(response.headers['x-should-retry'], status === 502 || status === 504 ? 'false' : undefined);
          assert.deepEqual(
            [record.status, record.httpStatus, record.errorCode, record.usage],
            ['failed', status, error.code, null],
          );
          assert.equal(record.requestId, 'req_theirs');
          assert.equal(reported, status >= 500 ? `failed: status ${status}` : 'it responds');
          await assertSpent(account, 0n);
        }
      });
    }
  });

  describe("provider refuses the operator's credential or account: 502 upstream_error, nothing", () => {
    for (const status of [401, 402]) {
      test(`${status}`, async () => {
        const error = { message: `Said with ${status}.`, type: 'some_error', code: 'some_code', param: null };
        const bytes = jsonBytes(status, JSON.stringify({ error }), 'x-should-retry: true');
        for (const [family, isStream] of [
          [families[0]!, false],
          [families[1]!, true],
        ] as const) {
          const ended = await scene.send(callOf(family, isStream, responses(bytes)));
          await assertFailed(ended, family, { ...BROKEN, reported: `failed: status ${status}` });
        }
      });
    }
  });
});

describe("what happens when every route's breaker is open: 503 MODEL_ROUTING_NO_HEALTHY_ROUTE, when a route is tried again, nothing", () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene({ routing: '{ breaker: { failures: 1, probeAfter: 1h } }' });
  });
  after(() => scene?.close());

  for (const family of families) {
    test(family.name, async () => {
      const { gateway, hostile } = scene;
      const account = await gateway.createAccount();
      const send = (isStream: boolean) => ask(gateway.url, family.path, account.key, requestOf(isStream, 'hostile'));
      hostile.behave = responses(jsonBytes(500, '{}'));
      assert.equal((await send(false)).status, 500);
      const asked = hostile.requests.length;
      for (const { isStream } of modes) {
        const response = await send(isStream);
        assert.equal(response.status, 503);
        const { error } = response.json;
        const code = family.name === 'chat' ? error.code : error.details.error_code;
        assert.equal(code, 'MODEL_ROUTING_NO_HEALTHY_ROUTE');
        // An hour is too long for a header that some clients obey silently.
        assert.equal(response.headers['retry-after'], undefined);
        assert.match(error.message, /A route is tried again at .*, in 1 h\.$/);
        assert.equal(response.headers['x-should-retry'], 'true');
      }
      assert.equal(hostile.requests.length, asked);
      await assertSpent(account, 0n);
    });
  }
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
    const { startedAt, endedAt, requestId, heldYuan, heldTokens, durationMs, ...record } = records[0];
    assert.equal(heldTokens !== null, kind.isCoding === true);
    assert.match(record.id, /^call_/);
    assert.deepEqual(record, {
      id: record.id,
      accountId: id,
      accountName: kind.name,
      keyId,
      context: kind.isCoding ? 'coding' : 'balance',
      operation: kind.family.name,
      model: MODEL,
      route: { provider: kind.family.name === 'chat' ? 'chatty' : 'messy', model: MODEL },
      session: null,
      failedRoutes: [],
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

describe('what happens when the disk is full, the journal unwritable: new calls refused, those in flight end with an error event', () => {
  test(`nothing is lost that was promised`, async () => {
    const disk = createTestDisk();
    const gateway = await startGateway({ plans: PLANS, disk, timing: { retryDelayMs: 1 } });
    try {
      const gates = new Gates();
      gateway.provider.respond = gates.respond;
      const admin: Admin = async (method, path, body) => (await gateway.admin(method, path, body)).body;
      const { url, provider, observed } = gateway;
      const [kept, lost] = [await createCallers(admin), await createCallers(admin)];
      const promised = await beginAll(url, provider, kept, 'promised');
      const inFlight = await beginAll(url, provider, lost, 'in flight');
      const ends = ['settlement.end', 'idempotency.keep-response'].map((name) => observed.statement(name));
      for (const statement of ends) statement.fail('before');
      gates.open('promised');
      for (const each of promised) await assertDelivered(each);

      disk.fill();
      gates.open('in flight');
      for (const { caller, response } of inFlight) {
        const { kind } = caller;
        const got = await response;
        assert.equal(await got.ended(), !kind.isStream || kind.family.name !== 'chat');
        if (kind.isStream) assertBrokenOff(got, kind.family, unfinishedOf(kind), 'internal_error');
        else assertError(got, kind.family, { status: 500, code: 'internal_error', retry: 'false' });
      }
      for (const statement of ends) statement.recover();
      const asked = provider.requests.length;
      for (const caller of await createCallers(admin)) {
        const refused = await begin(url, caller, 'never').response;
        await refused.ended();
        assertError(refused, caller.kind.family, { status: 500, code: 'internal_error', retry: 'true' });
        await assertFree(admin, url, caller);
      }
      assert.equal(provider.requests.length, asked);
      for (const { caller } of promised) {
        await recorded(admin, caller, 'succeeded');
        await assertCharged(admin, url, caller);
      }
      for (const { caller } of inFlight) {
        await recorded(admin, caller, 'failed');
        await assertFree(admin, url, caller);
      }
    } finally {
      disk.free();
      await gateway.stop();
    }
  });
});

describe("what happens when 10,000 bad bodies come: 400, 413 or 415 each, in the protocol's envelope, nothing", () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene({ server: 'bodyLimit: 1KiB' });
  });
  after(() => scene?.close());

  const [chat, messages] = families as readonly [Family, Family];
  const json = 'application/json';
  /** A quick run sends a tenth of them. */
  const SHARE = byScope({ full: 1, quick: 10 });
  const bad = [
    { family: chat, status: 400, code: 'invalid_request_error', type: json, body: '{"model":', times: 4_950 / SHARE },
    { family: messages, status: 400, code: 'invalid_request_error', type: json, body: '\u0000', times: 2_450 / SHARE },
    { family: chat, status: 415, code: 'unsupported_media_type', type: 'text/plain', body: '{}', times: 2_500 / SHARE },
    {
      family: messages,
      status: 413,
      code: 'request_too_large',
      type: json,
      body: 'x'.repeat(2000),
      times: 100 / SHARE,
    },
  ];

  for (const { family, status, code, type, body, times } of bad) {
    test(`${family.name}: ${times} times ${status}`, async () => {
      const { gateway, hostile } = scene;
      const account = await gateway.createAccount();
      const { connections } = hostile;
      const headers = [
        ['authorization', `Bearer ${account.key}`],
        ['content-type', type],
      ] as const;
      const bytes = requestBytes({ path: family.path, headers, body });
      let responded = 0;
      while (responded < times) {
        const connection = await openConnection(gateway.url);
        let isOpen = true;
        // A few at a time on one connection, until the gateway closes it.
        while (isOpen && responded < times) {
          const batch = Math.min(50, times - responded);
          connection.write(Buffer.concat(Array.from({ length: batch }, () => bytes)));
          for (let i = 0; i < batch && isOpen; i++) {
            const response = await connection.response();
            assert.equal(response.status, status);
            const { error } = JSON.parse(response.body.toString());
            assert.equal(family.name === 'chat' ? error.code : error.details.error_code, code);
            responded++;
            isOpen = response.headers.connection !== 'close';
          }
        }
        connection.destroy();
      }
      assert.equal(hostile.connections, connections);
      await assertSpent(account, 0n);
    });
  }
});
