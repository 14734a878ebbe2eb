import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertFree, type Family, families, requestOf } from '../support/families.ts';
import {
  assertSpent,
  clientLeaves,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { json, liveResponse, type Respond, type ScriptedProvider, sse, startProvider } from '../support/provider.ts';

/** Routes are taken out of service when they fail, and return to service. */

const PRICE = '{ input: "3", output: "13" }';

/** Routes of a model in both protocol families to these providers, in order. */
function inTurn(...names: readonly string[]): string {
  const routes = names.flatMap((name, priority) =>
    ['chat', 'messages'].map((protocol) => `{ provider: ${name}-${protocol}, model: x, priority: ${priority} }`),
  );
  return `{ operations: [chat, messages], price: ${PRICE}, routes: [${routes.join(', ')}] }`;
}

function provider(name: string, url: string, fields = ''): string {
  return `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKey: ${name}-secret-key-1, ${fields} }
  ${name}-messages: { protocol: messages, baseUrl: "${url}", apiKey: ${name}-secret-key-2, ${fields} }`;
}

/** Breakers are separate for each model, so each test has its own. */
const MODELS_MAX = 80;
const models = Array.from({ length: MODELS_MAX }, (_, i) => [
  `pair-${i}: ${inTurn('first', 'second')}`,
  `single-${i}: ${inTurn('first')}`,
  `away-${i}: ${inTurn('away')}`,
]).flat();

const [chat] = families as readonly [Family, Family];
const refusal: Respond = json(500, { error: { message: 'Oops.', code: 'oops' } });
const success =
  (family: Family): Respond =>
  (request, response) =>
    json(200, family.whole())(request, response);

describe('breakers', () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let gateway: TestGateway;
  let first: ScriptedProvider;
  let second: ScriptedProvider;
  let account: TestAccount;
  let tests = 0;
  let pair: string;
  let single: string;

  const options = (rest: { routing?: string; models?: string } = {}) => ({
    clock,
    randomSource: () => 0,
    routing: rest.routing ?? '{}',
    providers: [
      provider('first', first.url),
      provider('second', second.url),
      // Nothing listens on this port.
      provider('away', 'http://127.0.0.1:1'),
    ].join(''),
    models: `
  ${rest.models ?? models.join('\n  ')}
  switched-off:
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: first-chat, model: y, weight: 0 }, { provider: second-chat, model: z, priority: 3, weight: 7 }]`,
  });
  const reload = (rest: { routing?: string; models?: string } = {}): void =>
    gateway.gateway.reload(parseConfig(testConfigText(gateway.provider.url, options(rest)), 'test.yaml', {}));

  before(async () => {
    first = await startProvider();
    second = await startProvider();
    gateway = await startGateway(options());
  });
  after(async () => {
    try {
      await gateway?.stop();
    } finally {
      await first?.close();
      await second?.close();
    }
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
    first.requests.length = 0;
    second.requests.length = 0;
    first.respond = refusal;
    second.respond = success(chat);
    pair = `pair-${tests}`;
    single = `single-${tests}`;
    tests++;
    assert.ok(tests < MODELS_MAX, 'there are more tests than models');
  });

  const send = (model: string, family = chat, isStream = false): Promise<ClientResponse> =>
    call(gateway.url + family.path, account.key, requestOf(isStream, model));

  /** Starts a stream over the single route and disconnects before it begins. */
  async function leaveEarly(): Promise<void> {
    const live = liveResponse();
    first.respond = live.respond;
    const left = clientLeaves(gateway);
    const started = startCall(gateway.url + chat.path, account.key, requestOf(true, single));
    await live.opened;
    started.drop();
    await left;
    live.reset();
  }

  /** Sends calls in sequence and returns their statuses. */
  async function sendSome(count: number, model: string, family = chat, isStream = false): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) statuses.push((await send(model, family, isStream)).status);
    return statuses;
  }

  /** Fails often enough to open the breaker of the first provider by default. */
  async function open(model: string, family = chat): Promise<void> {
    first.respond = refusal;
    assert.deepEqual(await sendSome(5, model, family), [500, 500, 500, 500, 500]);
    first.requests.length = 0;
  }

  /** The routes of a model in the admin API. */
  /** Without the time of the last call, which most tests do not set. */
  async function shown(model: string) {
    const { status, body } = await gateway.admin('GET', '/routes');
    assert.equal(status, 200);
    for (const { credentials } of body.data) for (const credential of credentials) delete credential.lastUsedAt;
    return body.data.filter((route: { model: string }) => route.model === model);
  }
  const stateOf = async (model: string, provider = 'first-chat'): Promise<string> =>
    (await shown(model)).find((route: { provider: string }) => route.provider === provider).state;

  function assertNoRoute(response: ClientResponse, retryAfter: string, family = chat): void {
    assert.equal(response.status, 503, response.text);
    const code = 'MODEL_ROUTING_NO_HEALTHY_ROUTE';
    const { error } = response.json;
    if (family.name === 'chat')
      assert.deepEqual({ ...error, message: '' }, { message: '', type: 'api_error', param: 'model', code });
    else assert.equal(error.details.error_code, code);
    assert.equal(response.headers['x-error-code'], code);
    assert.equal(response.headers['retry-after'], retryAfter);
    assert.equal(response.headers['x-should-retry'], 'true');
  }

  for (const family of families) {
    describe(family.name, () => {
      beforeEach(() => {
        second.respond = success(family);
      });

      test('four failures leave a route in service; the fifth takes it out, and calls use the other one', async () => {
        assert.deepEqual(await sendSome(4, pair, family), [500, 500, 500, 500]);
        assert.equal(await stateOf(pair, `first-${family.name}`), 'closed');
        assert.deepEqual(await sendSome(1, pair, family), [500]);
        assert.equal(await stateOf(pair, `first-${family.name}`), 'open');
        assert.equal(second.requests.length, 0);
        // Makes the earlier calls older.
        clock.advance(1);
        assert.deepEqual(await sendSome(3, pair, family), [200, 200, 200]);
        assert.deepEqual([first.requests.length, second.requests.length], [5, 3]);
        assert.equal((await account.lastCall()).route.provider, `second-${family.name}`);
        await assertSpent(account, 3n * family.cost);
      });

      test('a route is taken out of service even if failover finds another one', async () => {
        first.respond = json(503, {});
        assert.deepEqual(await sendSome(7, pair, family), [200, 200, 200, 200, 200, 200, 200]);
        assert.deepEqual([first.requests.length, second.requests.length], [5, 7]);
        await assertSpent(account, 7n * family.cost);
      });

      test('if every route is out of service, calls are refused at once, reserve nothing and cost nothing', async () => {
        await open(single, family);
        const admission = gateway.observed.statement('reservations.admit');
        const admitted = admission.asked;
        assertNoRoute(await send(single, family), '10', family);
        clock.advance(4_200);
        assertNoRoute(await send(single, family, true), '6', family);
        assert.equal(first.requests.length, 0);
        assert.equal(admission.asked, admitted);
        await assertSpent(account, 0n);
      });

      test('after ten seconds one call is let through, and its success returns the route to service', async () => {
        await open(single, family);
        first.respond = success(family);
        clock.advance(9_999);
        assertNoRoute(await send(single, family), '1', family);
        assert.equal(first.requests.length, 0);
        clock.advance(1);
        assert.deepEqual(await sendSome(2, single, family), [200, 200]);
        assert.equal(first.requests.length, 2);
        assert.equal(await stateOf(single, `first-${family.name}`), 'closed');
        await assertSpent(account, 2n * family.cost);
      });
    });
  }

  describe('several accounts', () => {
    let poisoner: TestAccount;
    let third: TestAccount;
    beforeEach(async () => {
      poisoner = await gateway.createAccount();
      third = await gateway.createAccount();
      // Some servers do this with text that they cannot decode.
      first.respond = (request, response) =>
        (request.body.includes('poison') ? refusal : success(chat))(request, response);
    });

    const sendAs = (from: TestAccount, model: string, name = 'harmless', isStream = false): Promise<ClientResponse> =>
      call(gateway.url + chat.path, from.key, { ...requestOf(isStream, model), user: name });
    async function statusesOf(count: number, from: TestAccount, model: string, name?: string): Promise<number[]> {
      const statuses: number[] = [];
      for (let i = 0; i < count; i++) statuses.push((await sendAs(from, model, name)).status);
      return statuses;
    }

    test('failing calls of one account block that account only', async () => {
      assert.deepEqual(await statusesOf(1, account, single), [200]);
      assert.deepEqual(await statusesOf(5, poisoner, single, 'poison'), [500, 500, 500, 500, 500]);
      const refused = await sendAs(poisoner, single);
      assertNoRoute(refused, '10');
      assert.match(refused.json.error.message, /^Calls of this account have failed/);
      assert.deepEqual(await statusesOf(3, account, single), [200, 200, 200]);
      assert.deepEqual(await statusesOf(1, third, single), [200]);
      const [route] = await shown(single);
      assert.equal(route.state, 'closed');
      assert.deepEqual(route.accountBreakers, [
        {
          accountId: poisoner.id,
          state: 'open',
          failuresInARow: 5,
          triedAgainAt: new Date(clock.nowMs() + 10_000).toISOString(),
        },
      ]);
      clock.advance(10_000);
      assert.deepEqual(await statusesOf(2, poisoner, single), [200, 200]);
      assert.deepEqual((await shown(single))[0].accountBreakers, []);
    });

    test("refusals of the operator's account take the route out of service for all once they affect a second account", async () => {
      for (const refusedBy of [json(401, {}), json(402, {}), json(429, { error: { type: 'insufficient_quota' } })]) {
        const model = `single-${tests++}`;
        first.respond = success(chat);
        assert.deepEqual(await statusesOf(1, third, model), [200]);
        first.respond = refusedBy;
        assert.deepEqual(await statusesOf(4, account, model), [502, 502, 502, 502]);
        assert.deepEqual(await statusesOf(1, poisoner, model), [502]);
        for (const from of [third, account, poisoner]) assertNoRoute(await sendAs(from, model), '10');
        const [route] = await shown(model);
        assert.deepEqual([route.state, route.accountBreakers], ['open', []]);
      }
    });
  });

  describe('a probe', () => {
    test('is a single call; others use another route while it is in flight', async () => {
      await open(pair);
      clock.advance(10_000);
      const live = liveResponse({ 'content-type': 'application/json' });
      first.respond = live.respond;
      const probe = startCall(gateway.url + chat.path, account.key, requestOf(false, pair));
      await live.opened;
      assert.equal(await stateOf(pair), 'probing');
      assert.deepEqual(await sendSome(3, pair), [200, 200, 200]);
      assert.deepEqual([first.requests.length, second.requests.length], [1, 3]);
      await live.write(JSON.stringify(chat.whole()));
      live.end();
      assert.equal((await probe.response).status, 200);
      first.respond = success(chat);
      assert.deepEqual(await sendSome(1, pair), [200]);
      assert.deepEqual([first.requests.length, second.requests.length], [2, 3]);
    });

    test('that is a stream returns the route to service with its first event', async () => {
      await open(single);
      clock.advance(10_000);
      const live = liveResponse();
      first.respond = live.respond;
      const probe = startCall(gateway.url + chat.path, account.key, requestOf(true, single));
      await live.opened;
      assert.equal(await stateOf(single), 'probing');
      const events = chat.stream(['Hello']);
      await live.write(events.slice(0, 2).join(''));
      const response = await probe.response;
      await response.until('Hello');
      assert.equal(await stateOf(single), 'closed');
      first.respond = success(chat);
      assert.deepEqual(await sendSome(1, single), [200]);
      for (const event of events.slice(2)) await live.write(event);
      live.end();
      assert.equal(await response.ended(), true);
    });

    test('that is a stream does not if it begins with an error', async () => {
      await open(single);
      clock.advance(10_000);
      first.respond = sse([chat.errorEvent]);
      assert.equal((await send(single, chat, true)).text, chat.errorEvent);
      assertNoRoute(await send(single), '10');
    });

    test('has no effect if its client disconnects, and the next call is the probe', async () => {
      await open(single);
      clock.advance(10_000);
      await leaveEarly();
      await account.endedCall(6);
      assert.equal(await stateOf(single), 'open');
      first.respond = success(chat);
      assert.deepEqual(await sendSome(2, single), [200, 200]);
      assert.equal(await stateOf(single), 'closed');
    });
  });

  describe('a route that goes out of service while a call is admitted', () => {
    /** Triggers the fifth failure between the route check and the sending of another call. */
    async function failDuringAdmission(model: string): Promise<ClientResponse> {
      assert.deepEqual(await sendSome(4, model), [500, 500, 500, 500]);
      let refuse = (): void => assert.fail('nothing was asked yet');
      first.respond = (request, response) => {
        refuse = () => void refusal(request, response);
      };
      const failing = startCall(gateway.url + chat.path, account.key, requestOf(false, model));
      await first.received(5);
      const admission = gateway.observed.statement('reservations.admit');
      const before = admission.asked;
      admission.hold();
      // Makes the earlier call the older one.
      clock.advance(1);
      try {
        const waiting = startCall(gateway.url + chat.path, account.key, requestOf(false, model));
        await admission.reached(before + 1);
        refuse();
        assert.equal((await failing.response).status, 500);
        admission.release();
        const response = await waiting.response;
        assert.equal(await response.ended(), true);
        return response;
      } finally {
        admission.release();
      }
    }

    test('is not used: the call uses the other route', async () => {
      const response = await failDuringAdmission(pair);
      assert.equal(response.status, 200, response.text);
      assert.deepEqual([first.requests.length, second.requests.length], [5, 1]);
      await assertSpent(account, chat.cost);
    });

    test('is not used: if it was the last one, the call is refused and its reservation is released', async () => {
      assertNoRoute(await failDuringAdmission(single), '10');
      assert.equal(first.requests.length, 5);
      await account.endedCall(6);
      await assertFree(account, { httpStatus: 503, errorCode: 'MODEL_ROUTING_NO_HEALTHY_ROUTE' });
    });
  });

  describe('GET /admin/v1/routes', () => {
    const closed = {
      state: 'closed',
      drained: null,
      failuresInARow: 0,
      lastError: null,
      lastErrorAt: null,
      triedAgainAt: null,
      accountBreakers: [],
      credentials: [
        {
          name: 'apiKey',
          file: null,
          command: null,
          expiresAt: null,
          state: 'active',
          status: null,
          triedAgainAt: null,
          vendorLimits: [],
        },
      ],
    };
    const at = (ms: number): string => new Date(ms).toISOString();

    test('lists the routes of every model, with their configuration and last failure', async () => {
      await open(pair);
      const failedAt = clock.nowMs();
      const route = (provider: string, priority: number) => ({
        model: pair,
        provider,
        providerModel: 'x',
        priority,
        weight: 1,
        translates: [],
        ...closed,
      });
      assert.deepEqual(await shown(pair), [
        {
          ...route('first-chat', 0),
          state: 'open',
          failuresInARow: 5,
          lastError: 'status 500',
          lastErrorAt: at(failedAt),
          triedAgainAt: at(failedAt + 10_000),
          accountBreakers: [
            { accountId: account.id, state: 'open', failuresInARow: 5, triedAgainAt: at(failedAt + 10_000) },
          ],
        },
        route('second-chat', 1),
        route('first-messages', 0),
        route('second-messages', 1),
      ]);
    });

    test('shows that a probe is in flight, and keeps the last error of a route that is back in service', async () => {
      await open(single);
      const failedAt = clock.nowMs();
      clock.advance(10_000);
      const live = liveResponse({ 'content-type': 'application/json' });
      first.respond = live.respond;
      const probe = startCall(gateway.url + chat.path, account.key, requestOf(false, single));
      await live.opened;
      const error = { lastError: 'status 500', lastErrorAt: at(failedAt), triedAgainAt: null };
      const { credentials, drained } = closed;
      const base = {
        model: single,
        provider: 'first-chat',
        providerModel: 'x',
        priority: 0,
        weight: 1,
        translates: [],
        credentials,
        drained,
      };
      assert.deepEqual((await shown(single))[0], {
        ...base,
        state: 'probing',
        failuresInARow: 5,
        ...error,
        accountBreakers: [{ accountId: account.id, state: 'probing', failuresInARow: 5, triedAgainAt: null }],
      });
      await live.write(JSON.stringify(chat.whole()));
      live.end();
      await (await probe.response).ended();
      const none = { accountBreakers: [] };
      assert.deepEqual((await shown(single))[0], { ...base, state: 'closed', failuresInARow: 0, ...error, ...none });
    });

    test('shows which routes the configuration disables', async () => {
      assert.deepEqual(await shown('switched-off'), [
        {
          model: 'switched-off',
          provider: 'first-chat',
          providerModel: 'y',
          priority: 0,
          weight: 0,
          translates: [],
          ...closed,
          state: 'off',
        },
        {
          model: 'switched-off',
          provider: 'second-chat',
          providerModel: 'z',
          priority: 3,
          weight: 7,
          translates: [],
          ...closed,
        },
      ]);
    });

    test('reveals no key, host or message of a provider', async () => {
      first.respond = json(500, {
        error: { message: `See ${first.url}: first-secret-key-1 is wrong`, code: 'first-secret-key-1' },
      });
      await sendSome(1, single);
      await sendSome(1, `away-${tests}`);
      const text = JSON.stringify((await gateway.admin('GET', '/routes')).body);
      assert.match(text, /"lastError":"status 500"/);
      assert.match(text, /"lastError":"upstream_error"/);
      assert.doesNotMatch(text, /secret|127\.0\.0\.1|http|wrong/);
    });
  });

  describe('a reload', () => {
    test('keeps the health of unchanged routes, and forgets removed ones', async () => {
      const gone = `single-${tests++}`;
      await open(single);
      await open(gone);
      reload({ models: models.filter((model) => !model.startsWith(`${gone}:`)).join('\n  ') });
      assertNoRoute(await send(single), '10');
      assert.deepEqual(await shown(gone), []);
      reload();
      assertNoRoute(await send(single), '10');
      assert.equal(first.requests.length, 0);
      first.respond = success(chat);
      assert.deepEqual(await sendSome(1, gone), [200]);
      clock.advance(10_000);
      assert.deepEqual(await sendSome(1, single), [200]);
    });

    test('applies new breaker settings', async () => {
      reload({ routing: '{ breaker: { failures: 2, probeAfter: 3s } }' });
      try {
        assert.deepEqual(await sendSome(2, single), [500, 500]);
        assertNoRoute(await send(single), '3');
        clock.advance(3_000);
        first.respond = success(chat);
        assert.deepEqual(await sendSome(1, single), [200]);
      } finally {
        reload();
      }
    });
  });
});
