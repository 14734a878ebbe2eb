import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { FAILURE_ROWS, type FailureRow, REFUSALS } from '../../scripts/failure-table.ts';
import { CODING_CHAT, createSubscriber, plansText } from '../plans/coding.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { type Family, families, requestOf } from '../support/families.ts';
import {
  assertSpent,
  clientLeaves,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  json,
  type ReceivedRequest,
  type Respond,
  type ScriptedProvider,
  sse,
  startProvider,
} from '../support/provider.ts';
import { responsesResponse } from '../support/responses.ts';

/** What follows from each failure with `keepAlive`, `retry` and `fallbacks`: the table of `docs/routing.md`, and what it does not show. */

const COMMENT = ': keep-alive\n\n';
const SILENCE = 'firstByte: 60ms, on: [silence]';
const RETRY = 'on: [500, 502, 503, 504, 529, timeout, reset]';
const FALLBACKS = 'fallbacks: [other], fallbackOn: [unavailable, context, filter]';
/** Ten times the price of the requested models. */
const OTHER_PRICE = '{ input: "30", output: "130" }';
const COST = '{ input: "1", output: "2" }';

const forBoth = (provider: string, more: string): string =>
  ['chat', 'messages'].map((protocol) => `{ provider: ${provider}-${protocol}, ${more} }`).join(', ');

function model(name: string, provider: string, settings = '', next = ''): string {
  const routes =
    forBoth(provider, `model: ${name}, cost: ${COST}`) +
    (next === '' ? '' : `, ${forBoth(next, `model: ${name}, priority: 1`)}`);
  return `
  ${name}: { operations: [chat, messages], maxOutputTokens: "100", price: ${PRICE}, routes: [${routes}], ${settings} }`;
}

/** The models of a provider: one for each combination of settings. */
const modelsOf = (provider: string): string =>
  [
    model(`${provider}-none`, provider),
    model(`${provider}-route`, provider, '', 'backup'),
    model(`${provider}-retry`, provider, `retry: { ${RETRY} }`),
    model(`${provider}-fallbacks`, provider, FALLBACKS),
    model(`${provider}-both`, provider, `retry: { ${RETRY} }, ${FALLBACKS}`),
    model(`${provider}-alive`, provider, 'keepAlive: { before: 20ms }'),
  ].join('');

const MODELS = [
  ...['faulty', 'late', 'away'].map(modelsOf),
  model('silence-retry', 'faulty', `retry: { ${SILENCE} }`),
  model('silence-both', 'faulty', `retry: { ${SILENCE} }, ${FALLBACKS}`),
  model('asked-price', 'faulty', 'fallbacks: [other], fallbackCharge: asked'),
  model('in-turn', 'faulty', 'fallbacks: [small, other]'),
  model('alive-route', 'faulty', 'keepAlive: { before: 20ms }', 'backup'),
  model('alive-fallbacks', 'faulty', `keepAlive: { before: 20ms }, ${FALLBACKS}`),
  `
  other: { operations: [chat, messages, responses], maxOutputTokens: "100", price: ${OTHER_PRICE}, routes: [${forBoth('backup', 'model: other')}] }
  small: { operations: [embeddings, chat], maxOutputTokens: "100", price: ${PRICE}, routes: [{ provider: away-chat, model: small }] }
  stateful: { operations: [responses], maxOutputTokens: "100", price: ${PRICE}, routes: [{ provider: faulty-chat, model: stateful }], ${FALLBACKS} }
  alone: { operations: [chat, messages], maxOutputTokens: "100", price: ${PRICE}, routes: [${forBoth('faulty', 'model: alone')}], fallbacks: [] }
  patient: { operations: [responses], maxOutputTokens: "100", price: ${PRICE}, routes: [{ provider: faulty-chat, model: patient }], keepAlive: { before: 1h } }
  painter: { operations: [images.generate], price: { perImage: "0.000037" }, routes: [{ provider: faulty-chat, model: painter }], retry: { on: [500] } }
  painter-again: { operations: [images.generate], price: { perImage: "0.000037" }, routes: [{ provider: faulty-chat, model: painter }], retry: { on: [500], images: true } }`,
].join('');

const [chat, messages] = families as readonly [Family, Family];
const FORMS = [
  { name: 'chat', family: chat, isStream: false },
  { name: 'messages, as a stream', family: messages, isStream: true },
] as const;

const clock = createTestClock('2026-11-20T04:00:00Z');
/** Longer than cooldowns after a 429, and than the rest of refused credentials. */
const REST_MS = 11 * 60_000;

type Form = (typeof FORMS)[number];

describe('failures and settings', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let faulty: ScriptedProvider;
  let backup: ScriptedProvider;
  let account: TestAccount;
  /** Responses that the provider never sends. */
  const silent: ServerResponse[] = [];

  before(async () => {
    [faulty, backup] = [await startProvider(), await startProvider()];
    const provider = (name: string, url: string, fields = ''): string => `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKey: ${name}-secret-key-1, ${fields} }
  ${name}-messages: { protocol: messages, baseUrl: "${url}", apiKey: ${name}-secret-key-2, ${fields} }`;
    gateway = await startGateway({
      clock,
      providers: [
        provider('faulty', faulty.url),
        provider('late', faulty.url, 'timeouts: { firstByte: 250ms }'),
        provider('away', 'http://127.0.0.1:1'),
        provider('backup', backup.url),
      ].join(''),
      models: MODELS,
      groups: `groups:
  narrow: { name: Narrow, models: [faulty-fallbacks] }
  ours: { name: Ours, fallbacks: [painter, faulty-none, other], fallbackOn: [unavailable, context], fallbackCharge: asked }`,
      server: 'keepAlive: { responses: { before: 20ms } }',
      plans: plansText({ narrow: { models: ['faulty-fallbacks'] }, wide: { models: ['faulty-fallbacks', 'other'] } }),
    });
  });
  after(async () => {
    for (const response of silent) response.destroy();
    await gateway?.stop();
    await faulty?.close();
    await backup?.close();
  });
  beforeEach(async () => {
    clock.advance(REST_MS);
    account = await gateway.createAccount();
    faulty.requests.length = 0;
    backup.requests.length = 0;
    backup.respond = succeed;
  });

  const succeed: Respond = (request, response) => {
    const family = request.path.endsWith('/messages') ? messages : chat;
    const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean };
    return (stream ? sse(family.stream(['Hello'])) : json(200, family.whole()))(request, response);
  };

  const never: Respond = (_request, response) => void silent.push(response);

  const FAILED: Readonly<Record<string, Respond>> = {
    timeout: never,
    silence: never,
    reset: (_request, response) => void response.socket!.resetAndDestroy(),
    unusable: (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  };

  /** How the provider fails for a row of the table. */
  function failureOf(name: string): Respond {
    const refusal = REFUSALS[name];
    return refusal === undefined ? FAILED[name]! : json(refusal[0], { error: refusal[1] });
  }

  /** Fails this often, then succeeds. Waits before each failure. */
  function failing(
    name: string,
    times = Number.POSITIVE_INFINITY,
    wait: () => Promise<void> = async () => undefined,
  ): Respond {
    let left = times;
    return async (request: ReceivedRequest, response: ServerResponse) => {
      if (left-- <= 0) return succeed(request, response);
      await wait();
      return failureOf(name)(request, response);
    };
  }

  const providerOf = ({ name }: FailureRow): string =>
    name === 'no-connection' || name === 'closed' ? 'away' : name === 'timeout' ? 'late' : 'faulty';

  const send = ({ family, isStream }: Form, name: string, key = account.key): Promise<ClientResponse> =>
    call(gateway.url + family.path, key, requestOf(isStream, name));

  /** Asserts which model served the call, or that it failed with the status of its row. Returns the charge. */
  async function servedBy(
    form: Form,
    name: string,
    row: FailureRow,
    served: 'itself' | 'other' | null,
  ): Promise<bigint> {
    const response = await send(form, name);
    const at = `${row.name}, ${form.name}, ${name}: ${response.text}`;
    assert.equal(response.status, served === null ? row.status : 200, at);
    assert.equal(response.headers['x-faregate-model'] === 'other', served === 'other', at);
    // A call that no route takes from the beginning is not admitted.
    if (row.name !== 'closed' || served !== null) {
      const record = await account.lastCall();
      assert.equal(record.status, served === null ? 'failed' : 'succeeded', at);
      assert.equal(record.model, served === 'other' ? 'other' : name, at);
    }
    return chargeOf(served);
  }

  const chargeOf = (served: 'itself' | 'other' | null): bigint => {
    const cost = costNano({ input: 11, output: 7 });
    return served === null ? 0n : served === 'other' ? 10n * cost : cost;
  };

  const assertCharged = (served: 'itself' | 'other'): Promise<void> => assertSpent(account, chargeOf(served));

  /** Takes the routes to a provider out of service. */
  async function drain(provider: string, action: 'drain' | 'resume' = 'drain'): Promise<void> {
    for (const { name } of families) {
      const { status, body } = await gateway.admin('POST', `/routes/${action}`, { provider: `${provider}-${name}` });
      assert.equal(status, 200, JSON.stringify(body));
    }
  }

  for (const form of FORMS) {
    for (const row of FAILURE_ROWS) {
      it(`${row.text}: ${form.name}`, async () => {
        const { isTriedElsewhere, retried, reason } = row;
        const provider = providerOf(row);
        let spentNano = 0n;
        if (row.name === 'closed') await drain('away');
        const walk = async (settings: string, times: number, served: 'itself' | 'other' | null, requests: number) => {
          faulty.requests.length = 0;
          // The newest record is the one that began last.
          clock.advance(1_000);
          if (provider !== 'away') faulty.respond = failing(row.name, times);
          const name = `${row.name === 'silence' && settings !== 'alive' ? 'silence' : provider}-${settings}`;
          spentNano += await servedBy(form, name, row, served);
          if (provider !== 'away') assert.equal(faulty.requests.length, requests, `${row.name} ${settings}`);
        };
        const always = Number.POSITIVE_INFINITY;
        if (row.name !== 'silence') {
          await walk('none', always, null, 1);
          await walk('both', always, reason === null ? null : 'other', retried === null ? 1 : 2);
        }
        // The choice of the next attempt does not depend on the form of the response.
        if (!form.isStream && row.name !== 'silence') {
          if (row.name !== 'closed') await walk('route', always, isTriedElsewhere ? 'itself' : null, 1);
          await walk('fallbacks', always, reason === null ? null : 'other', 1);
        }
        // The last attempt may wait as long as the provider allows.
        if (!form.isStream || row.name === 'silence')
          await walk('retry', 1, retried === null ? null : 'itself', retried === null ? 1 : 2);
        if (row.name === 'silence') await walk('both', 1, 'itself', 2);
        if (form.isStream && provider === 'faulty' && row.name !== 'silence')
          await assertOpensEarly(form, row, spentNano);
        await assertSpent(account, spentNano);
        if (row.name === 'closed') await drain('away', 'resume');
      });
    }
  }

  /** A provider that fails after its stream was opened: the failure is an event, with its status in its words. */
  async function assertOpensEarly(form: Form, row: FailureRow, spentNano: bigint): Promise<void> {
    const opened = Promise.withResolvers<void>();
    clock.advance(1_000);
    faulty.respond = failing(row.name, 1, () => opened.promise);
    const response = await startCall(gateway.url + form.family.path, account.key, requestOf(true, 'faulty-alive'))
      .response;
    await response.until(COMMENT);
    opened.resolve();
    assert.equal(await response.ended(), true);
    const rest = response.text.replaceAll(COMMENT, '');
    const [, data] = /^event: error\ndata: (.*)\n\n$/.exec(rest) ?? [];
    assert.ok(data !== undefined, response.text);
    assert.match(JSON.parse(data).error.message, new RegExp(`\\(status ${row.status}\\)$`));
    assert.equal(JSON.parse(data).request_id, response.headers['x-request-id']);
    const { id, status, httpStatus } = await account.lastCall();
    assert.deepEqual([response.status, status, httpStatus], [200, 'failed', 200]);
    assert.equal(id, response.headers['x-faregate-call-id']);
    await assertSpent(account, spentNano);
  }

  describe('keepAlive', () => {
    for (const { family, name } of FORMS.map((form) => ({ ...form, isStream: true }))) {
      for (const [settings, model] of [
        ['another route', 'alive-route'],
        ['a fallback', 'alive-fallbacks'],
      ] as const) {
        it(`comments do not prevent ${settings}, whose stream arrives completely: ${name}`, async () => {
          const opened = Promise.withResolvers<void>();
          faulty.respond = failing('overloaded', 1, () => opened.promise);
          const response = await startCall(gateway.url + family.path, account.key, requestOf(true, model)).response;
          await response.until(COMMENT);
          opened.resolve();
          assert.equal(await response.ended(), true);
          const text = response.text.replaceAll(COMMENT, '');
          // The client did not ask for the chunk with the usage.
          const events = family.stream(['Hello']).filter((event) => !/"choices":\[\],"usage"/.test(event));
          assert.equal(text, events.join(''));
          assert.match(response.headers['content-type']!, /^text\/event-stream/);
          assert.equal(response.headers['x-faregate-model'], undefined);
          const record = await account.endedCall();
          assert.equal(record.id, response.headers['x-faregate-call-id']);
          assert.equal(record.attempts.length, 2);
          const isOther = model === 'alive-fallbacks';
          assert.deepEqual(record.fallback, isOther ? { asked: model, reason: 'unavailable' } : null);
          await assertCharged(isOther ? 'other' : 'itself');
        });
      }
    }

    it('refusals of the gateway and whole responses have their status', async () => {
      faulty.respond = failing('overloaded');
      const { status } = await send(FORMS[0], 'faulty-alive');
      assert.equal(status, 503);
      const unknown = await call(gateway.url + messages.path, account.key, requestOf(true, 'unknown'));
      assert.equal(unknown.status, 404);
    });

    it('of an operation applies to its streams, for models that say nothing', async () => {
      const opened = Promise.withResolvers<void>();
      faulty.respond = async (request, response) => {
        await opened.promise;
        return (request.path.endsWith('/responses') ? responsesResponse() : succeed)(request, response);
      };
      const ask = (path: string, body: object) => startCall(gateway.url + path, account.key, body).response;
      const of = (model: string) => ask('/v1/responses', { model, input: 'Hello', stream: true });
      const [patient, plain] = [of('patient'), ask(messages.path, requestOf(true, 'faulty-none'))];
      await faulty.received(2);
      const response = await of('stateful');
      await response.until(COMMENT + COMMENT);
      opened.resolve();
      assert.equal(await response.ended(), true);
      assert.match(response.text, /response\.completed/);
      for (const other of [await patient, await plain]) {
        assert.equal(await other.ended(), true);
        assert.doesNotMatch(other.text, /keep-alive/);
      }
      await account.endedCall(3);
    });

    it('a stream of whose provider nothing is heard is charged as usual', async () => {
      const opened = Promise.withResolvers<void>();
      faulty.respond = async (request, response) => {
        await opened.promise;
        return succeed(request, response);
      };
      const response = await startCall(gateway.url + messages.path, account.key, requestOf(true, 'faulty-alive'))
        .response;
      await response.until(COMMENT + COMMENT);
      opened.resolve();
      assert.equal(await response.ended(), true);
      assert.equal(response.text.replaceAll(COMMENT, ''), messages.stream(['Hello']).join(''));
      await account.endedCall();
      await assertCharged('itself');
    });

    it('a client that leaves an opened stream is charged nothing if the provider then fails', async () => {
      const opened = Promise.withResolvers<void>();
      faulty.respond = failing('overloaded', 1, () => opened.promise);
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + messages.path, account.key, requestOf(true, 'faulty-alive'));
      await (await started.response).until(COMMENT);
      started.drop();
      await left;
      opened.resolve();
      const { status } = await account.endedCall();
      assert.equal(status, 'failed');
      await assertSpent(account, 0n);
    });
  });

  describe('retry', () => {
    it('records both attempts, and what the lost one can have cost; the account is charged once', async () => {
      faulty.respond = failing('fault', 1);
      assert.equal((await send(FORMS[0], 'faulty-retry')).status, 200);
      const { attempts, costYuan, chargeYuan, failedRoutes } = await account.lastCall();
      assert.deepEqual(
        attempts.map(({ failure, httpStatus, isLost }: Attempt) => [failure, httpStatus, isLost]),
        [
          ['refused', 500, true],
          [null, null, false],
        ],
      );
      // The cost of a call is that of the attempt that succeeded: 11 tokens of input, 7 of output.
      assert.equal(costYuan, '0.000025');
      assert.equal(chargeYuan, '0.000124');
      const [lost, served] = attempts as [Attempt, Attempt];
      // At most 50 tokens of output.
      assert.ok(Number(lost.costAtMostYuan) > 0.0001 && Number(lost.costAtMostYuan) < 0.0002, lost.costAtMostYuan!);
      assert.equal(served.costAtMostYuan, null);
      assert.equal(failedRoutes.length, 1);
      await assertCharged('itself');
    });

    it('a call whose attempts all failed has the failure of the last one, also when it is repeated', async () => {
      faulty.respond = (request, response) =>
        failureOf(faulty.requests.length === 1 ? 'fault' : 'rate')(request, response);
      const headers = { 'idempotency-key': 'lost-then-refused' };
      const ask = () => call(gateway.url + chat.path, account.key, requestOf(false, 'faulty-retry'), { headers });
      assert.equal((await ask()).status, 429);
      // The first attempt might have run, so a repeat does not run again.
      const repeated = await ask();
      assert.deepEqual([repeated.status, repeated.headers['x-faregate-repeated']], [429, 'true']);
      assert.equal(faulty.requests.length, 2);
      await assertSpent(account, 0n);
    });

    it('an error event before any output counts as its status; after output, nothing is tried again', async () => {
      const fault = 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Internal."}}\n\n';
      const begun = messages.stream(['Hello']).slice(0, 4);
      faulty.respond = (request, response) =>
        faulty.requests.length === 1 ? sse([fault])(request, response) : succeed(request, response);
      const first = await send(FORMS[1], 'faulty-retry');
      assert.equal(first.text, messages.stream(['Hello']).join(''));
      faulty.requests.length = 0;
      faulty.respond = sse([...begun, fault]);
      const second = await send(FORMS[1], 'faulty-retry');
      assert.ok(second.text.endsWith(fault), second.text);
      assert.equal(faulty.requests.length, 1);
    });

    it('images are attempted again only if the model says so', async () => {
      const image = { created: 1, data: [{ b64_json: 'AAAA' }] };
      const paint = (model: string) =>
        call(`${gateway.url}/v1/images/generations`, account.key, { model, prompt: 'A gate' });
      for (const [model, status] of [
        ['painter', 500],
        ['painter-again', 200],
      ] as const) {
        faulty.requests.length = 0;
        faulty.respond = (request, response) =>
          (faulty.requests.length === 1 ? failureOf('fault') : json(200, image))(request, response);
        assert.equal((await paint(model)).status, status);
      }
      await assertSpent(account, 37_000n);
    });
  });

  describe('fallbacks', () => {
    const spentAs = (model: string): Promise<ClientResponse> => send(FORMS[0], model);

    it('are charged at the price of the requested model if it says so, and tried in order', async () => {
      faulty.respond = failing('overloaded');
      const asked = await spentAs('asked-price');
      assert.deepEqual([asked.status, asked.headers['x-faregate-model']], [200, 'other']);
      await assertCharged('itself');
      account = await gateway.createAccount();
      assert.equal((await spentAs('in-turn')).headers['x-faregate-model'], 'other');
      const { attempts, failedRoutes, fallback, model } = await account.lastCall();
      assert.deepEqual(
        attempts.map(({ provider }: Attempt) => provider),
        ['faulty-chat', 'away-chat', 'backup-chat'],
      );
      assert.deepEqual(
        [failedRoutes.length, fallback, model],
        [2, { asked: 'in-turn', reason: 'unavailable' }, 'other'],
      );
      await assertCharged('other');
    });

    it('if all of them fail too, the client gets the failure of the requested model', async () => {
      faulty.respond = failing('rate');
      backup.respond = failureOf('invalid');
      const response = await spentAs('faulty-fallbacks');
      assert.equal(response.status, 429, response.text);
      assert.equal(response.headers['x-faregate-model'], undefined);
      await assertSpent(account, 0n);
    });

    it('the reservation covers the most expensive one', async () => {
      faulty.respond = failing('overloaded');
      const opened = Promise.withResolvers<void>();
      backup.respond = async (request, response) => {
        await opened.promise;
        return succeed(request, response);
      };
      const response = spentAs('faulty-fallbacks');
      await backup.received(1);
      const { heldNano } = await account.money();
      assert.ok(heldNano > 50n * 130_000n, String(heldNano));
      opened.resolve();
      assert.equal((await response).status, 200);
      await assertCharged('other');
    });

    it('serve no call that continues state', async () => {
      faulty.respond = responsesResponse();
      const ask = (body: object) =>
        call(`${gateway.url}/v1/responses`, account.key, { model: 'stateful', input: 'Hello', ...body });
      const first = await ask({});
      assert.equal(first.status, 200, first.text);
      faulty.respond = failing('overloaded');
      assert.equal((await ask({ previous_response_id: first.json.id })).status, 503);
      backup.respond = responsesResponse();
      assert.equal((await ask({})).headers['x-faregate-model'], 'other');
      // A signed thinking block.
      const thought = {
        type: 'thinking',
        thinking: 'Hm.',
        signature: Buffer.from('of another provider'.repeat(6)).toString('base64'),
      };
      const body = {
        ...requestOf(false, 'faulty-fallbacks'),
        messages: [
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: [thought, { type: 'text', text: 'Hi' }] },
          { role: 'user', content: 'Again' },
        ],
      };
      assert.equal((await call(gateway.url + messages.path, account.key, body)).status, 503);
    });

    it('the allow-lists of account, group and key hold for them, and budgets for single models', async () => {
      faulty.respond = failing('overloaded');
      const only = { allowedModels: ['faulty-fallbacks'] };
      for (const [path, limited, open] of [
        [`/accounts/${account.id}`, only, { allowedModels: null }],
        [`/accounts/${account.id}`, { groupId: 'narrow' }, { groupId: null }],
        [`/keys/${account.keyId}`, only, { allowedModels: null }],
      ] as const) {
        assert.equal((await gateway.admin('PATCH', path, limited)).status, 200);
        assert.equal((await spentAs('faulty-fallbacks')).status, 503, JSON.stringify(limited));
        assert.equal((await gateway.admin('PATCH', path, open)).status, 200);
      }
      const budget = { modelBudgets: { other: { dailySpendCapYuan: '100' } } };
      assert.equal((await gateway.admin('PATCH', `/keys/${account.keyId}`, budget)).status, 200);
      assert.equal((await spentAs('faulty-fallbacks')).status, 503, 'a budget of its own');
      await assertSpent(account, 0n);
    });

    it('of a group serve its accounts if the requested model says nothing about fallbacks', async () => {
      faulty.respond = failing('overloaded');
      assert.equal((await spentAs('faulty-none')).status, 503, 'an account without a group');
      const joined = await gateway.admin('PATCH', `/accounts/${account.id}`, { groupId: 'ours' });
      assert.equal(joined.status, 200);
      clock.advance(1_000);
      const served = await spentAs('faulty-none');
      assert.deepEqual([served.status, served.headers['x-faregate-model']], [200, 'other'], served.text);
      const { fallback, model } = await account.lastCall();
      assert.deepEqual([fallback, model], [{ asked: 'faulty-none', reason: 'unavailable' }, 'other']);
      // The price of the requested model, as the group says.
      await assertCharged('itself');
      // The reasons are those of the group, too.
      faulty.respond = failing('filter');
      assert.equal((await spentAs('faulty-none')).status, 400);
      faulty.respond = failing('overloaded');
      assert.equal((await spentAs('alone')).status, 503);
      const only = { allowedModels: ['faulty-none'] };
      assert.equal((await gateway.admin('PATCH', `/keys/${account.keyId}`, only)).status, 200);
      assert.equal((await spentAs('faulty-none')).status, 503, 'the allow-list of the key');
      assert.equal((await gateway.admin('PATCH', `/keys/${account.keyId}`, { allowedModels: null })).status, 200);
      // Fallbacks of a model replace those of the group, with their prices.
      account = await gateway.createAccount();
      await gateway.admin('PATCH', `/accounts/${account.id}`, { groupId: 'ours' });
      assert.equal((await spentAs('faulty-fallbacks')).status, 200);
      await assertCharged('other');
      const { data } = (await gateway.admin('GET', '/groups')).body;
      const shown = Object.fromEntries(
        data.map((each: { id: string; fallbacks: string[] }) => [each.id, each.fallbacks]),
      );
      assert.deepEqual(shown, { narrow: [], ours: ['painter', 'faulty-none', 'other'] });
    });

    it('a plan pays for them only if it includes them', async () => {
      for (const [plan, isServed] of [
        ['narrow', false],
        ['wide', true],
      ] as const) {
        const subscriber = await createSubscriber(gateway, plan);
        const ask = () => call(gateway.url + CODING_CHAT, subscriber.key, requestOf(false, 'faulty-fallbacks'));
        faulty.respond = failing('overloaded');
        const failed = await ask();
        assert.equal(failed.status, isServed ? 200 : 503, failed.text);
        // If the model's routes are closed before the call is admitted, the same holds.
        await drain('faulty');
        const closed = await ask();
        assert.equal(closed.status, isServed ? 200 : 503, closed.text);
        await drain('faulty', 'resume');
        assert.equal((await subscriber.used()).inFlight, 0);
      }
    });
  });
});

interface Attempt {
  readonly provider: string;
  readonly failure: string | null;
  readonly httpStatus: number | null;
  readonly isLost: boolean;
  readonly costAtMostYuan: string | null;
}
