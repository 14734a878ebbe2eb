import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { parseConfig } from '../../src/config/load.ts';
import type { Database, DatabasePool, Queryable } from '../../src/db/database.ts';
import { formatYuan, parseYuan } from '../../src/lib/yuan.ts';
import { type Address, addresses, askAddress, responseAnything, streamed, works } from '../conformance/addresses.ts';
import { CODING_CHAT, codingBody, createSubscriber, grant, plansText } from '../plans/coding.ts';
import { createTestDisk } from '../settlement/disk.ts';
import { call, failureOf, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { families, modes, requestOf } from '../support/families.ts';
import { costNano, startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatCompletion, chatResponse, json, liveResponse, type Respond, sse } from '../support/provider.ts';
import { until } from '../support/until.ts';

/** The gateway's own headers about a call (docs/calls.md). */

const CALL_ID = 'x-faregate-call-id';
const CHARGE = 'x-faregate-charge-yuan';
const AVAILABLE = 'x-faregate-available-yuan';
const CALLS_LEFT = 'x-faregate-calls-left';
const RESET_AT = 'x-faregate-reset-at';

const callAddresses = addresses.filter(({ context }) => context !== 'free');
const freeAddresses = addresses.filter(({ context }) => context === 'free');
const streams = callAddresses.filter(({ work }) => 'respondStream' in works[work]);
const nameOf = ({ method, path }: Address): string => `${method} ${path}`;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The gateway's own headers of a response. */
function callHeadersOf(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[0].startsWith('x-faregate-')),
  );
}

/** Asserts which of the headers a response has, and returns the id of the call. */
function assertNames(headers: Headers, ...names: readonly string[]): string {
  assert.deepEqual(Object.keys(callHeadersOf(headers)).sort(), [CALL_ID, ...names].sort());
  const id = headers[CALL_ID];
  assert.ok(typeof id === 'string');
  assert.match(id, /^call_/);
  return id;
}

const PLANS = plansText({
  wide: { models: ['test-both', 'test-chat', 'test-messages', 'test-responses', 'test-completions'] },
  weekly: { fiveHourCalls: 9, weeklyCalls: 4 },
  single: { concurrency: 1 },
});

const options = {
  plans: PLANS,
  providers: `
  away: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: away-secret-key-1 }
  slow: { protocol: chat, baseUrl: "SLOW/v1", apiKey: slow-secret-key-1, timeouts: { firstByte: 100ms } }`,
  models: `
  away:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: away, model: x }]
  slow:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: slow, model: x }]
  out-of-service:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: broken }]`,
  routing: '{ breaker: { failures: 5 } }',
};

describe('headers of calls', () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  const disk = createTestDisk();
  let stored: TestDatabase;
  let statements: string[] = [];
  let gateway: TestGateway;
  let account: TestAccount;

  before(async () => {
    stored = await createTestDatabase();
    gateway = await startGateway({
      ...options,
      providers: '',
      models: '',
      stored,
      database: counting(stored.database, (name) => statements.push(name)),
      clock,
      disk,
    });
    reload();
  });
  after(async () => {
    await gateway?.stop();
    await stored?.remove();
  });
  beforeEach(async () => {
    statements = [];
    clock.advance(1);
    gateway.provider.respond = responseAnything;
    account = await gateway.createAccount();
  });
  afterEach(() => {
    const ends = gateway.observed.statement('settlement.end');
    ends.recover();
    ends.release();
  });

  /** The models of these tests, with other settings of the server. */
  function reload(server = ''): void {
    const { url } = gateway.provider;
    const text = testConfigText(url, { ...options, providers: options.providers.replace('SLOW', url), server });
    gateway.gateway.reload(parseConfig(text, 'test.yaml', {}));
  }

  /** The record of a call and its ledger entries. */
  async function onRecord(callId: string) {
    const { status, body } = await gateway.admin('GET', `/calls/${callId}`);
    assert.equal(status, 200, JSON.stringify(body));
    const ledger = await gateway.admin('GET', `/accounts/${body.accountId}/ledger`);
    const charges = ledger.body.data.filter((entry: { callId: string | null }) => entry.callId === callId);
    return { call: body, charges };
  }

  /** The balance less everything that is reserved. */
  async function available(): Promise<string> {
    const { balanceNano, heldNano } = await account.money();
    return formatYuan(balanceNano - heldNano);
  }

  describe('on the balance', () => {
    const balance = callAddresses.filter(({ context }) => context === 'balance');

    for (const address of balance) {
      test(`${nameOf(address)}: a non-streaming response reports the charge and what is left, in agreement with the database`, async () => {
        const response = await askAddress(gateway.url, address, account.key);
        assert.equal(response.status, 200, response.text);
        const callId = assertNames(response.headers, CHARGE, AVAILABLE);
        const { call, charges } = await onRecord(callId);
        const { costNano: cost } = works[address.work] as { costNano: bigint };
        assert.equal(response.headers[CHARGE], formatYuan(cost));
        assert.equal(call.chargeYuan, response.headers[CHARGE]);
        assert.equal(call.requestId, response.headers['request-id']);
        assert.deepEqual(
          charges.map(({ kind, amountYuan }: { kind: string; amountYuan: string }) => [kind, amountYuan]),
          [['charge', `-${response.headers[CHARGE]}`]],
        );
        assert.equal(response.headers[AVAILABLE], formatYuan(100_000_000_000n - cost));
        assert.equal(response.headers[AVAILABLE], charges[0].balanceAfterYuan);
      });
    }

    for (const address of streams.filter(({ context }) => context === 'balance')) {
      test(`${nameOf(address)}: a stream reports what is left less its own reservation, and no charge`, async () => {
        let leftMeanwhile = '';
        gateway.provider.respond = async (request, response) => {
          leftMeanwhile = await available();
          await responseAnything(request, response);
        };
        const response = await askAddress(gateway.url, address, account.key, { body: streamed(address) });
        assert.equal(response.status, 200, response.text);
        const callId = assertNames(response.headers, AVAILABLE);
        assert.equal(response.headers[AVAILABLE], leftMeanwhile);
        assert.ok(parseYuan(leftMeanwhile)! < 100_000_000_000n, 'nothing was reserved');
        const { call } = await onRecord(callId);
        assert.deepEqual([call.isStream, call.status], [true, 'succeeded']);
      });
    }

    test('what other calls have reserved is not available', async () => {
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const long = startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true));
      await live.opened;
      const { heldNano } = await account.money();
      assert.ok(heldNano > 0n);
      gateway.provider.respond = chatResponse();
      const response = await call(`${gateway.url}/v1/chat/completions`, account.key, requestOf(false));
      const cost = costNano({ input: 11, output: 7 });
      assert.equal(response.headers[CHARGE], formatYuan(cost));
      assert.equal(response.headers[AVAILABLE], formatYuan(100_000_000_000n - cost - heldNano));
      live.reset();
      await (await long.response).ended();
    });

    test('a balance that its last call overdraws is reported as negative', async () => {
      account = await gateway.createAccount({ balanceYuan: '0.000001' });
      for (const isStream of [true, false]) {
        gateway.provider.respond = isStream ? sse(['data: {"error":{"message":"No."}}\n\n']) : chatResponse();
        const response = await call(`${gateway.url}/v1/chat/completions`, account.key, requestOf(isStream));
        assert.equal(response.status, 200, response.text);
        assert.match(String(response.headers[AVAILABLE]), /^-0\.000\d+$/);
        if (!isStream) assert.equal(response.headers[AVAILABLE], '-0.000123');
      }
    });

    test('a call that costs nothing is charged 0', async () => {
      const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
      gateway.provider.respond = json(200, chatCompletion(usage, ''));
      const response = await call(`${gateway.url}/v1/chat/completions`, account.key, requestOf(false));
      assert.equal(response.headers[CHARGE], '0');
      const { call: record, charges } = await onRecord(assertNames(response.headers, CHARGE, AVAILABLE));
      assert.deepEqual([record.chargeYuan, charges.length], ['0', 1]);
    });

    test('a response that begins before the call is settled has the headers of a stream', async () => {
      const live = liveResponse({ 'content-type': 'application/json' });
      gateway.provider.respond = live.respond;
      const url = `${gateway.url}/v1/embeddings`;
      const started = startCall(url, account.key, { model: 'test-embeddings', input: 'Hello' });
      await live.opened;
      const left = await available();
      await live.write('{"object":"list","data":[');
      for (let mib = 0; mib < 33; mib++) await live.write(Buffer.alloc(2 ** 20, ' '));
      const response = await started.response;
      const callId = assertNames(response.headers, AVAILABLE);
      assert.equal(response.headers[AVAILABLE], left);
      await live.write('],"usage":{"prompt_tokens":5,"total_tokens":5}}');
      live.end();
      assert.equal(await response.ended(), true);
      assert.equal((await onRecord(callId)).call.chargeYuan, formatYuan(costNano({ input: 5 })));
    });
  });

  describe('failures after admission', () => {
    const failures: Record<string, { model?: string; respond: Respond; status: number }> = {
      'the provider refuses it': { respond: json(400, { error: { message: 'No.', code: 'no_way' } }), status: 400 },
      'the provider is busy': { respond: json(429, {}, { 'retry-after': '9' }), status: 429 },
      'the provider fails': { respond: json(500, {}), status: 500 },
      'the connection breaks': {
        respond: (_request, response) => void response.socket!.resetAndDestroy(),
        status: 502,
      },
      'the response cannot be read': { respond: json(200, '<html>'), status: 502 },
      'nothing listens': { model: 'away', respond: responseAnything, status: 502 },
      'no response comes in time': { model: 'slow', respond: () => undefined, status: 504 },
    };
    for (const [what, { model, respond, status }] of Object.entries(failures)) {
      for (const family of model === undefined ? families : families.slice(0, 1)) {
        test(`${what}; ${family.name}: it costs nothing, and it is recorded under its id`, async () => {
          for (const { isStream } of modes) {
            gateway.provider.respond = respond;
            clock.advance(60_000);
            const response = await call(gateway.url + family.path, account.key, requestOf(isStream, model));
            assert.equal(response.status, status, response.text);
            const callId = assertNames(response.headers, CHARGE, AVAILABLE);
            assert.deepEqual([response.headers[CHARGE], response.headers[AVAILABLE]], ['0', '100']);
            const { call: record, charges } = await onRecord(callId);
            assert.deepEqual(
              [record.status, record.httpStatus, record.requestId, record.chargeYuan, charges],
              ['failed', status, response.headers['request-id'], null, []],
            );
          }
        });
      }
    }

    test('a call whose end waits in the journal has an id and its charge; what is left is that of the admission', async () => {
      const ends = gateway.observed.statement('settlement.end');
      ends.fail('before');
      const response = await startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(false)).response;
      await response.ended();
      ends.recover();
      assert.equal(response.status, 200);
      assertNames(response.headers, CHARGE, AVAILABLE);
    });

    test('a call that could not be settled has an id, and its charge is not reported', async () => {
      const ends = gateway.observed.statement('settlement.end');
      disk.fill();
      ends.fail('before');
      const response = await startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(false)).response;
      await response.ended();
      ends.recover();
      disk.free();
      assert.equal(response.status, 500);
      assertNames(response.headers, AVAILABLE);
      await until(async () => (await fetch(`${gateway.url}/readyz`)).ok);
    });
  });

  describe('on a Coding Plan', () => {
    const coding = callAddresses.filter(({ context }) => context === 'coding');

    for (const address of coding) {
      test(`${nameOf(address)}: every response reports how many calls are left`, async () => {
        const subscriber = await createSubscriber(gateway, 'wide');
        const bodies = streams.includes(address) ? [undefined, streamed(address)] : [undefined];
        for (const body of bodies) {
          clock.advance(1);
          const response = await askAddress(gateway.url, address, subscriber.key, body === undefined ? {} : { body });
          assert.equal(response.status, 200, response.text);
          const callId = assertNames(response.headers, CALLS_LEFT);
          assert.equal(response.headers[CALLS_LEFT], String((await subscriber.snapshot()).remaining));
          assert.equal((await onRecord(callId)).call.context, 'coding');
        }
        assert.equal((await subscriber.snapshot()).remaining, 1_000 - bodies.length);
      });
    }

    test('the window with fewer calls left is reported, down to none; the refusal says when calls are available again', async () => {
      const subscriber = await createSubscriber(gateway, 'weekly');
      for (const left of ['3', '2', '1', '0']) {
        const response = await subscriber.call();
        assert.equal(response.status, 200, response.text);
        assert.equal(response.headers[CALLS_LEFT], left);
      }
      const refused = await subscriber.call();
      assert.equal(refused.status, 429);
      assert.deepEqual(Object.keys(callHeadersOf(refused.headers)), [RESET_AT]);
    });

    test('a call that the provider refuses releases its slot, which its response reports; one whose success cannot be used does not', async () => {
      const subscriber = await createSubscriber(gateway, 'weekly');
      let left = 4;
      for (const [what, { respond, status, slots }] of Object.entries({
        refused: { respond: json(400, {}), status: 400, slots: 0 },
        broken: { respond: json(200, '<html>'), status: 502, slots: 1 },
      })) {
        for (const { isStream } of modes) {
          gateway.provider.respond = respond;
          const response = await call(gateway.url + CODING_CHAT, subscriber.key, requestOf(isStream));
          assert.equal(response.status, status, what);
          assertNames(response.headers, CALLS_LEFT);
          left -= slots;
          assert.equal(response.headers[CALLS_LEFT], String(left), what);
          assert.equal((await subscriber.snapshot()).remaining, left);
        }
      }
    });

    test('concurrent calls get different numbers, and a window that has moved far is not estimated', async () => {
      const subscriber = await createSubscriber(gateway, 'wide');
      const sideBySide = async (count: number): Promise<(string | undefined)[]> => {
        const responses = await Promise.all(Array.from({ length: count }, () => subscriber.call()));
        return responses.map(({ headers }) => headers[CALLS_LEFT] as string | undefined);
      };
      const left = await sideBySide(65);
      assert.deepEqual(
        left.map(Number).sort((a, b) => b - a),
        Array.from({ length: 65 }, (_, i) => 999 - i),
      );
      clock.advance(5 * 3_600_000);
      // One more has expired than a single call looks at.
      assert.deepEqual(await sideBySide(1), [undefined]);
      // The week still counts the earlier calls.
      assert.deepEqual(await sideBySide(1), [String(1_000 - 67)]);
    });

    test('calls in flight count, and a call refused at the concurrency limit gets no number', async () => {
      const subscriber = await createSubscriber(gateway, 'single');
      const live = liveResponse({ 'content-type': 'application/json' });
      gateway.provider.respond = live.respond;
      const first = startCall(gateway.url + CODING_CHAT, subscriber.key, codingBody);
      await live.opened;
      const limited = await subscriber.call();
      assert.equal(limited.status, 429);
      assert.deepEqual(callHeadersOf(limited.headers), {});
      await live.write(JSON.stringify(chatCompletion()));
      live.end();
      assert.equal((await first.response).headers[CALLS_LEFT], '999');
    });

    test("neither kind of address reports the other's funds", async () => {
      await grant(gateway, account.id, 'wide');
      const both = families[0]!;
      const onBalance = await call(gateway.url + both.path, account.key, requestOf(false));
      assertNames(onBalance.headers, CHARGE, AVAILABLE);
      const onPlan = await call(gateway.url + CODING_CHAT, account.key, codingBody);
      assertNames(onPlan.headers, CALLS_LEFT);
    });
  });

  describe('without an admitted call', () => {
    test('refused admissions have none of them but the time of the reset', async () => {
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      const capped = await gateway.createAccount({ dailySpendCapYuan: '0' });
      const chat = `${gateway.url}/v1/chat/completions`;
      const statuses: number[] = [];
      for (const [key, body] of [
        ['nobody', requestOf(false)],
        [account.key, requestOf(false, 'unknown-model')],
        [account.key, '{'],
        [account.key, { ...requestOf(false), max_tokens: -1 }],
        [poor.key, requestOf(false)],
        [poor.key, requestOf(true)],
        [capped.key, requestOf(false)],
      ] as const) {
        const response = await call(chat, key, body);
        statuses.push(response.status);
        assert.deepEqual(
          Object.keys(callHeadersOf(response.headers)),
          key === capped.key ? [RESET_AT] : [],
          response.text,
        );
      }
      assert.deepEqual(statuses.slice(0, 3), [401, 404, 400]);
      assert.deepEqual(statuses.slice(4), [402, 402, 429]);
      const unplanned = await call(gateway.url + CODING_CHAT, account.key, codingBody);
      assert.equal(unplanned.status, 402);
      assert.deepEqual(callHeadersOf(unplanned.headers), {});
    });

    test('a call without a healthy route has none of them', async () => {
      gateway.provider.respond = json(500, {});
      const chat = `${gateway.url}/v1/chat/completions`;
      for (let i = 0; i < 5; i++) await call(chat, account.key, requestOf(false, 'out-of-service'));
      const response = await call(chat, account.key, requestOf(false, 'out-of-service'));
      assert.equal(response.status, 503, response.text);
      assert.deepEqual(callHeadersOf(response.headers), {});
    });

    test('queries, estimates and HEAD have none of them', async () => {
      for (const address of freeAddresses) {
        for (const method of address.method === 'GET' ? ['GET', 'HEAD'] : ['POST']) {
          const response = await askAddress(gateway.url, address, account.key, { method });
          assert.deepEqual(callHeadersOf(response.headers), {}, `${method} ${address.path}`);
        }
      }
      for (const address of callAddresses) {
        const response = await askAddress(gateway.url, address, account.key, { method: 'HEAD' });
        assert.deepEqual(callHeadersOf(response.headers), {}, `HEAD ${address.path}`);
      }
    });
  });

  test('headers of these names are forwarded neither from providers nor from clients', async () => {
    const smuggled = { [CALL_ID]: 'call_of_the_provider', [CHARGE]: '7', [CALLS_LEFT]: '7', 'x-faregate-more': '1' };
    for (const { isStream } of modes) {
      const { respond, respondStream } = works.chat;
      for (const status of [200, 400]) {
        gateway.provider.respond = (request, response) => {
          for (const [name, value] of Object.entries(smuggled)) response.setHeader(name, value);
          return (status !== 200 ? json(status, {}) : isStream ? respondStream : respond)(request, response);
        };
        const { headers } = await call(`${gateway.url}/v1/chat/completions`, account.key, requestOf(isStream), {
          headers: smuggled,
        });
        const callId = assertNames(headers, AVAILABLE, ...(isStream && status === 200 ? [] : [CHARGE]));
        assert.notEqual(callId, smuggled[CALL_ID]);
        assert.notEqual(headers[CHARGE], '7');
      }
    }
    for (const { headers } of gateway.provider.requests) assert.deepEqual(callHeadersOf(headers), {});
  });

  test('the official SDKs expose them', async () => {
    const openai = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const chat = await openai.chat.completions
      .create({ model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] })
      .withResponse();
    assert.equal(chat.response.headers.get(CHARGE), formatYuan(works.chat.costNano));
    const anthropic = new Anthropic({ apiKey: account.key, baseURL: gateway.url, maxRetries: 0 });
    const messages = await anthropic.messages
      .create({ model: 'test-messages', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] })
      .withResponse();
    assert.equal(messages.response.headers.get(CHARGE), formatYuan(works.messages.costNano));
    gateway.provider.respond = json(400, { error: { message: 'No.' } });
    const failure = await failureOf(
      OpenAI.BadRequestError,
      openai.chat.completions.create({ model: 'test-chat', messages: [] }),
    );
    assert.equal(failure.headers?.get(CHARGE), '0');
  });

  describe('switched off', () => {
    before(() => reload('callHeaders: false'));
    after(() => reload());

    test('no response has any of them', async () => {
      const subscriber = await createSubscriber(gateway, 'wide', { balanceYuan: '100' });
      for (const address of callAddresses) {
        for (const body of streams.includes(address) ? [undefined, streamed(address)] : [undefined]) {
          clock.advance(1);
          const response = await askAddress(gateway.url, address, subscriber.key, body === undefined ? {} : { body });
          assert.equal(response.status, 200, response.text);
          assert.deepEqual(callHeadersOf(response.headers), {}, nameOf(address));
        }
      }
      gateway.provider.respond = json(500, {});
      const failed = await subscriber.call();
      assert.equal(failed.status, 500);
      assert.deepEqual(callHeadersOf(failed.headers), {});
    });
  });

  test('they cost no statement', async () => {
    const subscriber = await createSubscriber(gateway, 'wide', { balanceYuan: '100' });
    const counted = async (): Promise<string[]> => {
      clock.advance(1);
      statements = [];
      for (const path of ['/v1/chat/completions', CODING_CHAT]) {
        for (const { isStream } of modes) {
          assert.equal((await call(gateway.url + path, subscriber.key, requestOf(isStream))).status, 200);
        }
      }
      // Others run in the background, such as sums of usage and the search for dead nodes.
      return statements.filter((name) => /^(accounts|reservations|settlement)\.(?!list-)/.test(name));
    };
    // The key is looked up once.
    await counted();
    const withHeaders = await counted();
    reload('callHeaders: false');
    const without = await counted();
    reload();
    assert.deepEqual(withHeaders, without);
    // One transaction that admits a call, and one that ends it, also on a plan.
    assert.deepEqual(withHeaders, Array(4).fill(['reservations.admit', 'settlement.end']).flat());
  });
});

/** The same database; the name of every statement is recorded. */
function counting(real: Database, note: (name: string) => void): Database {
  const noted = ({ query }: { query: Queryable['query'] }): Queryable => ({
    query(statement, parameters) {
      note(statement.name);
      return query(statement, parameters);
    },
  });
  const pool = (target: DatabasePool): DatabasePool => ({
    ...noted({ query: (statement, parameters) => target.query(statement, parameters) }),
    transaction: (work) => target.transaction((transaction) => work(noted(transaction))),
    transactionWithDirectory: (work) => target.transactionWithDirectory((transaction) => work(noted(transaction))),
  });
  return {
    ...pool(real),
    pool: (name) => pool(real.pool(name)),
    readThenWrite(transaction) {
      note(transaction.name);
      return real.readThenWrite(transaction);
    },
    openTables: () => real.openTables(),
    audit: (work) => real.audit(work),
    openSnapshots: () => real.openSnapshots(),
    longTransaction: (work) => real.longTransaction(work),
    script: (sql) => real.script(sql),
    subscribe: (channel, onPayload, onReconnect) => real.subscribe(channel, onPayload, onReconnect),
    figures: () => real.figures(),
    close: () => real.close(),
  };
}
