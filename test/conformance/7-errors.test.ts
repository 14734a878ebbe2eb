import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertFree } from '../support/families.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, liveResponse } from '../support/provider.ts';
import { type RawResponse, sendRaw } from '../support/raw.ts';
import { assertWait } from '../support/waits.ts';
import {
  assertError,
  assertUntouched,
  balanceAddresses,
  type CallAddress,
  callAddresses,
  codingAddresses,
  type DeadEnds,
  deadEnds,
  type ExpectedError,
  limitedType,
  providerError,
  requestTo,
  responseWell,
  send,
  startDeadEnds,
} from './calls.ts';
import { codingErrorPlans, codingErrorRules } from './coding-errors.ts';
import { NOON } from './general-errors.ts';
import { assertPlanUse, createSubscriber, plansText } from './plans.ts';

const BODY_BYTES_MAX = 64 * 1024;
const EDIT_BYTES_MAX = 128 * 1024;

const chatCalls = callAddresses.filter(({ family }) => family === 'chat');
const messagesCalls = callAddresses.filter(({ family }) => family === 'messages');

describe('7 errors', () => {
  const clock = createTestClock(NOON);
  let dead: DeadEnds;
  let gateway: TestGateway;
  let account: TestAccount;

  before(async () => {
    dead = await startDeadEnds();
    gateway = await startGateway({
      clock,
      server: `bodyLimit: ${BODY_BYTES_MAX / 1024}KiB, editBodyLimit: ${EDIT_BYTES_MAX / 1024}KiB`,
      providers: dead.options.providers,
      models: `${dead.options.models}
  test-by-the-clock:
    operations: [chat]
    price:
      input: "1"
      output: "1"
      timeOfDay: { id: day, timezone: UTC, peak: { hours: ["09:00-21:00"], input: "2", output: "2" }, offPeak: { input: "1", output: "1" } }
    routes: [{ provider: chatty, model: x }]`,
      plans: plansText({
        ...codingErrorPlans,
        nothing: {
          periodDays: 1,
          models: ['test-chat'],
          inputByteLimit: '1KiB',
          outputTokenLimit: 10,
          fiveHourCalls: 0,
          weeklyCalls: 0,
          quotaTokens: 0,
        },
        'no-week': { weeklyCalls: 0, quotaTokens: 0 },
        'no-tokens': { quotaTokens: 0 },
        once: { fiveHourCalls: 1, concurrency: 1 },
      }),
    });
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
  });
  after(async () => {
    await gateway?.stop();
    await dead?.silent.close();
  });

  /** Asserts that all these addresses refuse the request in the same way, without effects. */
  async function allRefuse(
    addresses: readonly CallAddress[],
    expected: ExpectedError,
    fields: (address: CallAddress) => Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await assertUntouched(gateway, account, async () => {
      for (const address of addresses) {
        assertError(await send(gateway, account, address, fields(address)), address.family, expected);
      }
    });
  }

  /** An account that may call the address, with a balance or a plan. */
  const payerAt = ({ context }: CallAddress): Promise<TestAccount> =>
    context === 'coding' ? createSubscriber(gateway, 'roomy') : gateway.createAccount();

  /** Asserts that a failed call has a record, is free, and counts against no plan. */
  async function assertGivenBack(
    { context }: CallAddress,
    payer: TestAccount,
    record: { httpStatus: number; errorCode: string },
    calls = 0,
  ): Promise<void> {
    await assertFree(payer, record);
    if (context === 'coding') await assertPlanUse(gateway, payer, { calls, tokens: 0 });
  }

  /** Like `allRefuse`, for requests that no client library sends. */
  async function allRefuseRaw(
    addresses: readonly { readonly path: string; readonly family: CallAddress['family'] | 'usage' }[],
    expected: ExpectedError,
    ask: (path: string) => Promise<RawResponse>,
  ): Promise<void> {
    await assertUntouched(gateway, account, async () => {
      for (const { path, family } of addresses) assertError(await ask(path), family, expected);
    });
  }

  const key = () => ['authorization', `Bearer ${account.key}`] as const;
  const jsonType = ['content-type', 'application/json'] as const;
  const body = '{}';

  describe('envelopes', () => {
    const malformed = {
      status: 400,
      code: 'invalid_request_error',
      type: 'invalid_request_error',
      retry: 'false',
    } as const;

    it('7 the chat-style envelope is {error: {code, message, param, type}}, with a param of null if the error concerns no field', async () => {
      await assertUntouched(gateway, account, async () => {
        for (const { path } of chatCalls)
          assertError(await call(gateway.url + path, account.key, '[]'), 'chat', malformed);
      });
      await allRefuse(chatCalls, { ...malformed, param: 'model' }, () => ({ model: 7 }));
    });

    it('7 the messages-style envelope is {error: {message, type}, request_id, type: "error"}, with the code in error.details', async () => {
      await assertUntouched(gateway, account, async () => {
        for (const { path } of messagesCalls) {
          assertError(await call(gateway.url + path, account.key, '[]'), 'messages', malformed);
        }
      });
    });

    it('7 the request_id of the messages-style envelope equals the header request-id, which the provider may have given', async () => {
      const other = await gateway.createAccount();
      for (const [given, expected] of [
        [{ 'request-id': 'req_011CSHoEeqs5C35K2UUqR7Fy' }, 'req_011CSHoEeqs5C35K2UUqR7Fy'],
        [{ 'x-request-id': 'chat-1234' }, 'chat-1234'],
      ] as const) {
        gateway.provider.respond = json(500, {}, given);
        const response = await send(gateway, other, messagesCalls[0]!);
        assert.equal(response.json.request_id, expected);
        assert.equal(response.headers['request-id'], expected);
        assert.equal(response.headers['x-request-id'], expected);
      }
      await assertSpent(other, 0n);
    });

    it('7 the catalog envelope is {code, message, success: false, timestamp}', async () => {
      const response = await sendRaw(gateway.url, { method: 'DELETE', path: '/v1/public/models' });
      assertError(response, 'catalog', { status: 405, code: 'COMMON_004', retry: 'false' });
      assert.equal(JSON.parse(response.body.toString()).timestamp, '2026-11-20T04:00:00.000Z');
    });

    it('7 the 401 of the usage endpoints is {error: {code, message, type: "authentication_error"}}', async () => {
      const expected = { status: 401, code: 'invalid_api_key', type: 'authentication_error', retry: 'false' } as const;
      const paths = ['/v1/user/balance', '/v1/coding/user/balance', '/user/balance', '/altproto/user/balance'];
      const addresses = paths.map((path) => ({ path, family: 'usage' as const }));
      await allRefuseRaw(addresses, expected, (path) => sendRaw(gateway.url, { method: 'GET', path }));
    });

    it('7 every error carries its code in the header x-error-code and its id in x-request-id and request-id', async () => {
      await assertUntouched(gateway, account, async () => {
        for (const path of [
          '/',
          '/v1/none',
          '/altproto/none',
          '/v1/user/balance',
          '/v1/models/none',
          '/v1/public/models',
        ]) {
          const response = await sendRaw(gateway.url, { method: 'PUT', path, headers: [key()] });
          assert.ok(response.status === 404 || response.status === 405, `${path}: ${response.status}`);
          assert.match(response.headers['x-error-code'] ?? '', /^(not_found|method_not_allowed)$/, path);
          assert.match(response.headers['request-id'] ?? '', /^req_/);
          assert.equal(response.headers['x-request-id'], response.headers['request-id']);
        }
      });
    });
  });

  describe('chat-style codes', () => {
    it('7 401 invalid_api_key: the Bearer key is missing, malformed or unknown', async () => {
      const expected = { status: 401, code: 'invalid_api_key', type: 'authentication_error', retry: 'false' } as const;
      const addresses = [...chatCalls, { path: '/v1/images/edits', family: 'chat' as const }];
      for (const headers of [
        [],
        [['authorization', account.key]],
        [['authorization', 'Bearer']],
        [['authorization', `Basic ${account.key}`]],
        [['authorization', `Bearer ${account.key} x`]],
        [['authorization', 'Bearer no-such-key']],
        [['x-api-key', account.key]],
      ] as const) {
        const all = [...headers, jsonType];
        await allRefuseRaw(addresses, expected, (path) => sendRaw(gateway.url, { path, headers: all, body }));
      }
    });

    it('7 401 invalid_api_key: the key is revoked, its account suspended or not verified', async () => {
      const revoked = await gateway.createAccount();
      assert.equal((await gateway.admin('DELETE', `/keys/${revoked.keyId}`)).status, 204);
      const suspended = await gateway.createAccount();
      await gateway.admin('PATCH', `/accounts/${suspended.id}`, { status: 'suspended' });
      const unverified = await gateway.createAccount({ verified: false });
      await assertUntouched(gateway, account, async () => {
        for (const address of chatCalls) {
          for (const unusable of [revoked, suspended, unverified]) {
            assertError(await send(gateway, unusable, address), 'chat', {
              status: 401,
              code: 'invalid_api_key',
              type: 'authentication_error',
              retry: 'false',
            });
          }
        }
      });
      for (const unusable of [revoked, suspended, unverified]) await assertSpent(unusable, 0n);
    });

    it('7 400 model_not_found: the model exists but does not support the operation', async () => {
      const cannot = (address: CallAddress) => (address.model === 'test-chat' ? 'test-embeddings' : 'test-chat');
      await allRefuse(
        chatCalls,
        { status: 400, code: 'model_not_found', type: 'invalid_request_error', param: 'model', retry: 'false' },
        (address) => ({ model: cannot(address) }),
      );
    });

    for (const [what, model] of [
      ['is absent', deadEnds.absent],
      ['is not listed', deadEnds.unlisted],
    ] as const) {
      it(`7 404 model_not_found: the model ${what}`, async () => {
        await allRefuse(
          chatCalls,
          { status: 404, code: 'model_not_found', type: 'invalid_request_error', param: 'model', retry: 'false' },
          () => ({ model }),
        );
      });
    }

    it('7 404 MODEL_ROUTING_PROTOCOL_UNSUPPORTED: the model is not open on this protocol', async () => {
      const expected = {
        status: 404,
        code: 'MODEL_ROUTING_PROTOCOL_UNSUPPORTED',
        param: 'model',
        retry: 'false',
      } as const;
      const model = deadEnds.otherProtocol;
      await allRefuse(chatCalls, { ...expected, type: 'invalid_request_error' }, () => ({ model: model.chat }));
      await allRefuse(messagesCalls, { ...expected, type: 'not_found_error' }, () => ({ model: model.messages }));
    });

    it('7 503 MODEL_ROUTING_NOT_CONFIGURED: no provider of this protocol is configured for the model', async () => {
      await allRefuse(
        callAddresses,
        { status: 503, code: 'MODEL_ROUTING_NOT_CONFIGURED', type: 'api_error', param: 'model' },
        ({ family }) => ({ model: deadEnds.unrouted[family] }),
      );
    });

    it('7 503 MODEL_ROUTING_POLICY_INVALID: every route of the model has a weight of 0', async () => {
      await allRefuse(
        callAddresses,
        { status: 503, code: 'MODEL_ROUTING_POLICY_INVALID', type: 'api_error', param: 'model' },
        () => ({ model: deadEnds.switchedOff }),
      );
    });

    it('7 503 MODEL_ROUTING_NO_HEALTHY_ROUTE: no route is healthy, with when to come back, and no provider is called', async () => {
      const fragile = await startGateway({ clock, routing: '{ breaker: { failures: 1 } }' });
      try {
        const payer = await fragile.createAccount();
        fragile.provider.respond = json(500, {});
        for (const address of balanceAddresses) await send(fragile, payer, address);
        const calls = fragile.provider.requests.length;
        for (const address of balanceAddresses) {
          const response = await send(fragile, payer, address);
          assertError(response, address.family, {
            status: 503,
            code: 'MODEL_ROUTING_NO_HEALTHY_ROUTE',
            type: 'api_error',
            param: 'model',
            retry: 'true',
          });
          assert.equal(response.headers['retry-after'], '10');
        }
        assert.equal(fragile.provider.requests.length, calls);
        await assertSpent(payer, 0n);
      } finally {
        await fragile.stop();
      }
    });

    it('7 insufficient_balance, not to be retried: 429 at compact and images, 402 at the others', async () => {
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      const calls = gateway.provider.requests.length;
      for (const address of balanceAddresses) {
        assertError(await send(gateway, poor, address), address.family, {
          status: address.moneyStatus,
          code: 'insufficient_balance',
          type: address.family === 'chat' ? 'insufficient_quota' : 'billing_error',
          retry: 'false',
        });
      }
      assert.equal(gateway.provider.requests.length, calls);
      assert.deepEqual(await poor.money(), { balanceNano: 0n, heldNano: 0n });
    });

    it('7 429 balance_daily_limit_exceeded, not to be retried, with the time until the next day: the cap of the day is reached', async () => {
      for (const address of balanceAddresses) {
        const capped = await gateway.createAccount({ dailySpendCapYuan: '0.000001' });
        responseWell(gateway, address);
        assert.equal((await send(gateway, capped, address)).status, 200);
        const calls = gateway.provider.requests.length;
        const response = await send(gateway, capped, address);
        assertError(response, address.family, {
          status: 429,
          code: 'balance_daily_limit_exceeded',
          type: limitedType(address),
          retry: 'false',
        });
        assertWait(response, 12 * 3_600);
        assert.equal(gateway.provider.requests.length, calls);
        await assertSpent(capped, address.costNano);
      }
    });

    it('7 413 request_too_large: the body is larger than the limit, whether its length is announced or not', async () => {
      const large = Buffer.alloc(BODY_BYTES_MAX + 1, 0x20);
      for (const chunkBytes of [undefined, 16 * 1024]) {
        const chunks = chunkBytes === undefined ? {} : { chunkBytes };
        const ask = (path: string) =>
          sendRaw(gateway.url, { path, headers: [key(), jsonType], body: large, ...chunks });
        const expected = { status: 413, code: 'request_too_large', retry: 'false' } as const;
        await allRefuseRaw(chatCalls, { ...expected, type: 'invalid_request_error' }, ask);
        await allRefuseRaw(messagesCalls, { ...expected, type: 'request_too_large' }, ask);
      }
    });

    it('7 413 request_too_large: an upload is larger than the limit of image edits', async () => {
      const large = Buffer.concat([
        Buffer.from('--cut\r\ncontent-disposition: form-data; name="prompt"\r\n\r\na gate\r\n'),
        Buffer.from('--cut\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n'),
        Buffer.alloc(EDIT_BYTES_MAX),
      ]);
      for (const chunkBytes of [undefined, 16 * 1024]) {
        const chunks = chunkBytes === undefined ? {} : { chunkBytes };
        const headers = [key(), ['content-type', 'multipart/form-data; boundary=cut']] as const;
        await allRefuseRaw(
          [{ path: '/v1/images/edits', family: 'chat' }],
          { status: 413, code: 'request_too_large', type: 'invalid_request_error', retry: 'false' },
          (path) => sendRaw(gateway.url, { path, headers, body: large, ...chunks }),
        );
      }
    });

    it('7 400 invalid_request_error: a field is missing, malformed or unsupported', async () => {
      const expected = {
        status: 400,
        code: 'invalid_request_error',
        type: 'invalid_request_error',
        retry: 'false',
      } as const;
      for (const address of callAddresses) {
        const { requiredField: param } = address;
        await allRefuse([address], { ...expected, param }, () => ({ [param]: undefined }));
        await allRefuse([address], { ...expected, param }, () => ({ [param]: 7 }));
      }
      const responses = callAddresses.filter(({ upstreamPath }) => upstreamPath === '/v1/responses');
      await allRefuse(responses, { ...expected, param: 'background' }, () => ({ background: true }));
    });

    it('7 502 upstream_error: the provider’s connection fails; to be retried only if the call was surely not sent', async () => {
      for (const address of callAddresses) {
        const expected = { status: 502, code: 'upstream_error', type: 'api_error' } as const;
        const other = await payerAt(address);
        const unreached = await send(gateway, other, address, { model: deadEnds.away });
        assertError(unreached, address.family, { ...expected, retry: 'true' });

        const calls = gateway.provider.requests.length;
        gateway.provider.respond = (_request, response) => void response.socket!.resetAndDestroy();
        const broken = await send(gateway, other, address);
        assertError(broken, address.family, { ...expected, retry: 'false' });
        assert.equal(gateway.provider.requests.length, calls + 1, 'the call was replayed');
        await assertGivenBack(address, other, { httpStatus: 502, errorCode: 'upstream_error' });
      }
    });

    it('7 502 upstream_error: the provider’s reply is abnormal', async () => {
      for (const address of callAddresses) {
        for (const reply of ['', '<html>', '{"usage":', 'null', '{}']) {
          const other = await payerAt(address);
          gateway.provider.respond = json(200, reply);
          assertError(await send(gateway, other, address), address.family, {
            status: 502,
            code: 'upstream_error',
            type: 'api_error',
            retry: 'false',
          });
          // An unusable success is free, but keeps its slot in the windows of a plan.
          await assertGivenBack(address, other, { httpStatus: 502, errorCode: 'upstream_error' }, 1);
        }
      }
    });

    it('7 504 upstream_timeout: the provider does not finish in time; not to be retried, since its result is unknown', async () => {
      const calls = dead.silent.requests.length;
      await Promise.all(
        callAddresses.map(async (address) => {
          const other = await payerAt(address);
          assertError(await send(gateway, other, address, { model: deadEnds.silent }), address.family, {
            status: 504,
            code: 'upstream_timeout',
            type: address.family === 'chat' ? 'api_error' : 'timeout_error',
            retry: 'false',
          });
          await assertGivenBack(address, other, { httpStatus: 504, errorCode: 'upstream_timeout' });
        }),
      );
      assert.equal(dead.silent.requests.length, calls + callAddresses.length, 'a call was replayed');
    });

    it('7 500 internal_error: the platform itself fails', async () => {
      const admissions = gateway.observed.statement('reservations.admit');
      admissions.fail('before');
      try {
        const expected = { status: 500, code: 'internal_error', type: 'api_error', retry: 'true' } as const;
        await allRefuse(balanceAddresses, expected, () => ({}));
      } finally {
        admissions.recover();
      }
    });

    it('7 500 internal_error: the platform fails to admit a call on a plan, which is then not sent or counted', async () => {
      const rule = codingErrorRules.find(({ code }) => code === 'internal_error')!;
      for (const address of codingAddresses) await rule.show({ gateway, clock, silent: dead.silent }, address);
    });

    it('7 405 method_not_allowed, with the methods that are allowed: the method is not for the address', async () => {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        await allRefuseRaw(
          callAddresses,
          { status: 405, code: 'method_not_allowed', type: 'invalid_request_error', retry: 'false' },
          async (path) => {
            const response = await sendRaw(gateway.url, { method, path, headers: [key()] });
            assert.equal(response.headers.allow, 'POST');
            return response;
          },
        );
      }
      await allRefuseRaw(
        [{ path: '/v1/user/balance', family: 'usage' }],
        { status: 405, code: 'method_not_allowed', type: 'invalid_request_error', retry: 'false' },
        (path) => sendRaw(gateway.url, { method: 'POST', path, headers: [key(), jsonType], body }),
      );
    });

    it('7 415 unsupported_media_type: the address does not accept the Content-Type', async () => {
      const expected = {
        status: 415,
        code: 'unsupported_media_type',
        type: 'invalid_request_error',
        retry: 'false',
      } as const;
      const ask = (types: readonly string[]) => (path: string) =>
        sendRaw(gateway.url, {
          path,
          headers: [key(), ...types.map((type) => ['content-type', type] as const)],
          body,
        });
      for (const types of [
        [],
        ['text/plain'],
        ['multipart/form-data; boundary=x'],
        ['application/json; charset=latin1'],
      ]) {
        await allRefuseRaw(callAddresses, expected, ask(types));
      }
      for (const types of [[], ['application/json'], ['text/plain']]) {
        await allRefuseRaw([{ path: '/v1/images/edits', family: 'chat' }], expected, ask(types));
      }
    });

    for (const [status, code, chatType, messagesType] of [
      [403, 'permission_denied', 'permission_error', 'permission_error'],
      [409, 'conflict_error', 'conflict_error', 'conflict_error'],
      [422, 'unprocessable_entity', 'invalid_request_error', 'invalid_request_error'],
    ] as const) {
      it(`7 ${status} ${code}: the provider responds ${status}, and the call costs nothing and counts against no plan`, async () => {
        for (const address of callAddresses) {
          const other = await payerAt(address);
          gateway.provider.respond = json(status, providerError(address.family, { message: 'Not so.' }));
          const type = address.family === 'chat' ? chatType : messagesType;
          assertError(await send(gateway, other, address), address.family, { status, code, type, message: 'Not so.' });
          await assertGivenBack(address, other, { httpStatus: status, errorCode: code });
        }
      });
    }
  });

  describe('Coding-only codes', () => {
    const scene = () => ({ gateway, clock, silent: dead.silent });
    const label = ({ code, rule }: (typeof codingErrorRules)[number]): string => `${code}: ${rule}`;
    /** The codes with another status at some addresses. */
    const statuses: Readonly<Record<string, string>> = {
      insufficient_package: '429 at compact, where the contract’s table has it everywhere, 402 at the other addresses',
      package_expired: '429 at compact, where the contract’s table has it everywhere, 402 at the other addresses',
      model_not_in_package: '400',
      package_5h_quota_exhausted: '429',
      package_weekly_quota_exhausted: '429',
      package_concurrency_limited: '429',
      package_input_too_large: '413',
      package_output_limit_exceeded: '400',
    };

    it('7 the Coding addresses are chat, responses and compact in the chat family, and three of messages', () => {
      assert.deepEqual(codingAddresses.map(({ path }) => path).toSorted(), [
        '/altproto/coding/v1/messages',
        '/altproto/v1/messages',
        '/v1/coding/altproto/messages',
        '/v1/coding/chat/completions',
        '/v1/coding/responses',
        '/v1/coding/responses/compact',
      ]);
    });

    for (const rule of codingErrorRules.filter(({ code }) => code in statuses)) {
      it(`7 ${label(rule)}; ${statuses[rule.code]}`, async () => {
        for (const address of codingAddresses) await rule.show(scene(), address);
      });
    }

    it('7 a Coding-only code never comes from an address of the balance, with or without a plan', async () => {
      const subscriber = await createSubscriber(gateway, 'elsewhere');
      for (const address of balanceAddresses) {
        responseWell(gateway, address);
        assert.equal((await send(gateway, subscriber, address)).status, 200);
      }
      await assertPlanUse(gateway, subscriber, { calls: 0, tokens: 0 });
      await assertSpent(
        subscriber,
        balanceAddresses.reduce((sum, { costNano }) => sum + costNano, 0n),
      );
    });

    it('7 413 package_input_too_large: the input of a Coding token estimate is larger than the plans take', async () => {
      const estimates = [
        { path: '/v1/coding/responses/input_tokens', family: 'chat', type: 'invalid_request_error' },
        { path: '/v1/coding/altproto/messages/count_tokens', family: 'messages', type: 'request_too_large' },
        { path: '/altproto/v1/messages/count_tokens', family: 'messages', type: 'request_too_large' },
        { path: '/altproto/coding/v1/messages/count_tokens', family: 'messages', type: 'request_too_large' },
      ] as const;
      for (const { path, family, type } of estimates) {
        await allRefuseRaw(
          [{ path, family }],
          { status: 413, code: 'package_input_too_large', type, retry: 'false' },
          async () => {
            const response = await sendRaw(gateway.url, {
              path,
              headers: [key(), jsonType],
              body: Buffer.alloc(BODY_BYTES_MAX + 1, 0x20),
            });
            // Agents shorten their context only if the message contains these words.
            assert.match(JSON.parse(response.body.toString()).error.message, /prompt is too long/);
            return response;
          },
        );
      }
    });
  });

  describe('messages-style and catalog codes', () => {
    it('7 messages-style 401 is authentication_error at calls, token counts and model details', async () => {
      const expected = { status: 401, code: 'invalid_api_key', type: 'authentication_error', retry: 'false' } as const;
      const posts = [...messagesCalls.map(({ path }) => path), '/v1/messages/count_tokens'];
      const gets = ['/altproto/v1/models/test-messages', '/altproto/coding/v1/models/test-messages'];
      for (const headers of [[], [['x-api-key', 'no-such-key']], [['authorization', 'Bearer no-such-key']]] as const) {
        await allRefuseRaw(
          posts.map((path) => ({ path, family: 'messages' })),
          expected,
          (path) => sendRaw(gateway.url, { path, headers: [...headers, jsonType], body }),
        );
        await allRefuseRaw(
          gets.map((path) => ({ path, family: 'messages' })),
          expected,
          (path) => sendRaw(gateway.url, { method: 'GET', path, headers }),
        );
      }
    });

    it('7 messages-style 404 is not_found_error for a model that is absent, not listed or not visible there', async () => {
      const expected = {
        status: 404,
        code: 'model_not_found',
        type: 'not_found_error',
        param: 'model',
        retry: 'false',
      } as const;
      await allRefuse(messagesCalls, expected, () => ({ model: deadEnds.absent }));
      await allRefuse(messagesCalls, expected, () => ({ model: deadEnds.unlisted }));
      for (const model of [deadEnds.absent, deadEnds.unlisted, 'test-chat']) {
        await allRefuseRaw([{ path: `/altproto/v1/models/${model}`, family: 'messages' }], expected, (path) =>
          sendRaw(gateway.url, { method: 'GET', path, headers: [key()] }),
        );
      }
    });

    it('7 messages-style 500 is api_error', async () => {
      const statuses = gateway.observed.statement('reservations.admit');
      statuses.fail('before');
      try {
        const addresses = messagesCalls.filter(({ context }) => context === 'balance');
        await allRefuse(
          addresses,
          { status: 500, code: 'internal_error', type: 'api_error', retry: 'true' },
          () => ({}),
        );
      } finally {
        statuses.recover();
      }
    });

    it('7 catalog 405 is COMMON_004 for every method other than GET', async () => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const response = await sendRaw(gateway.url, { method, path: '/v1/public/models' });
        assertError(response, 'catalog', { status: 405, code: 'COMMON_004', retry: 'false' });
        assert.equal(response.headers.allow, 'GET');
      }
      const head = await sendRaw(gateway.url, { method: 'HEAD', path: '/v1/public/models' });
      assert.equal(head.status, 405);
    });

    it('7 catalog 500 is COMMON_001 if the catalog cannot be read, instead of an empty list', async () => {
      // The largest possible date, so the next change of prices has no representable time.
      clock.set('+275760-09-13T00:00:00.000Z');
      try {
        const response = await sendRaw(gateway.url, { method: 'GET', path: '/v1/public/models' });
        assertError(response, 'catalog', { status: 500, code: 'COMMON_001' });
      } finally {
        clock.set(NOON);
      }
      assert.equal((await sendRaw(gateway.url, { method: 'GET', path: '/v1/public/models' })).status, 200);
    });
  });

  it('7 if two errors would fit, the earlier check responds: key, type, size, JSON, fields, model, route, money', async () => {
    const path = '/v1/chat/completions';
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const bearer = ['authorization', `Bearer ${poor.key}`] as const;
    const large = Buffer.alloc(BODY_BYTES_MAX + 1, 0x20);
    const calls = gateway.provider.requests.length;
    const fields = (rest: object) => JSON.stringify({ ...requestTo(chatCalls[0]!), ...rest });
    for (const [code, headers, sent] of [
      ['invalid_api_key', [['content-type', 'text/plain']], large],
      ['unsupported_media_type', [bearer, ['content-type', 'text/plain']], large],
      ['request_too_large', [bearer, jsonType], large],
      ['invalid_request_error', [bearer, jsonType], '{"model":"no-such-model"'],
      ['invalid_request_error', [bearer, jsonType], fields({ model: deadEnds.absent, messages: 7 })],
      ['model_not_found', [bearer, jsonType], fields({ model: deadEnds.absent })],
      ['MODEL_ROUTING_NOT_CONFIGURED', [bearer, jsonType], fields({ model: deadEnds.unrouted.chat })],
      ['insufficient_balance', [bearer, jsonType], fields({})],
    ] as const) {
      const response = await sendRaw(gateway.url, { path, headers, body: sent });
      assert.equal(response.headers['x-error-code'], code, response.body.toString());
    }
    assert.equal(gateway.provider.requests.length, calls);
  });

  it('7 at a Coding address the checks of a plan come last, and the first that fails responds: plan, model, size, output, five hours, week, tokens, calls at once', async () => {
    const address = codingAddresses.find(({ path }) => path === '/v1/coding/chat/completions')!;
    const heavy = { messages: [{ role: 'user', content: 'x'.repeat(1_024) }], max_tokens: 11 };
    const outside = { ...heavy, model: 'test-both' };
    const concise = { ...heavy, messages: [] };
    const modest = { ...concise, max_tokens: 10 };
    const ask = async (payer: TestAccount, fields: Readonly<Record<string, unknown>>, code: string) =>
      assert.equal((await send(gateway, payer, address, fields)).headers['x-error-code'], code);

    const without = await gateway.createAccount();
    await ask(without, { ...outside, messages: 7 }, 'invalid_request_error');
    await ask(without, { ...outside, model: deadEnds.absent }, 'model_not_found');
    await ask(without, { ...outside, model: deadEnds.unrouted.chat }, 'MODEL_ROUTING_NOT_CONFIGURED');
    await ask(without, outside, 'insufficient_package');
    const calls = gateway.provider.requests.length;
    const nothing = await createSubscriber(gateway, 'nothing');
    await ask(nothing, outside, 'model_not_in_package');
    await ask(nothing, heavy, 'package_input_too_large');
    await ask(nothing, concise, 'package_output_limit_exceeded');
    await ask(nothing, modest, 'package_5h_quota_exhausted');
    await ask(await createSubscriber(gateway, 'no-week'), modest, 'package_weekly_quota_exhausted');
    const noTokens = await createSubscriber(gateway, 'no-tokens');
    await ask(noTokens, modest, 'insufficient_package');

    // One call is in flight, which is the concurrency limit of both plans.
    for (const [planId, code] of [
      ['once', 'package_5h_quota_exhausted'],
      ['single', 'package_concurrency_limited'],
    ] as const) {
      const payer = await createSubscriber(gateway, planId);
      const live = liveResponse({ 'content-type': 'application/json' });
      gateway.provider.respond = live.respond;
      const first = startCall(gateway.url + address.path, payer.key, requestTo(address));
      await live.opened;
      await ask(payer, modest, code);
      await live.write(JSON.stringify(address.response));
      live.end();
      assert.ok(await (await first.response).ended());
      await assertPlanUse(gateway, payer, { calls: 1, tokens: address.tokens! });
    }
    assert.equal(gateway.provider.requests.length, calls + 2);

    clock.advance(24 * 3_600_000);
    try {
      await ask(nothing, outside, 'package_expired');
    } finally {
      clock.set(NOON);
    }
  });
});
