import assert from 'node:assert/strict';
import { call } from '../support/client.ts';
import { assertFree } from '../support/families.ts';
import { assertSpent, type TestGateway } from '../support/gateway.ts';
import type { Respond } from '../support/provider.ts';
import { assertWait } from '../support/waits.ts';
import {
  assertError,
  assertUntouched,
  type CallAddress,
  type DeadEnds,
  deadEnds,
  type ExpectedError,
  limitedType,
  providerError,
  requestTo,
  responseWell,
  send,
} from './calls.ts';

/** The time of these tests: noon in the time zone of the spending limit's day. */
export const NOON = '2026-11-20T04:00:00Z';

/** The error codes of the general endpoints (contract 4.1, 4.2), each as a rule that holds at all of them. */
export interface ErrorRule {
  readonly rule: string;
  show(gateway: TestGateway, address: CallAddress, silent: DeadEnds['silent']): Promise<void>;
}

/** The `type` of an error in the envelope of each family. */
const types = {
  chat: { notFound: 'invalid_request_error', money: 'insufficient_quota', timeout: 'api_error' },
  messages: { notFound: 'not_found_error', money: 'billing_error', timeout: 'timeout_error' },
} as const;

export const generalErrorRules: readonly ErrorRule[] = [
  {
    rule: '401 invalid_api_key without a key that is known',
    async show(gateway, address) {
      const account = await gateway.createAccount();
      await assertUntouched(gateway, account, async () => {
        const response = await send(gateway, { key: `${account.key.slice(0, -1)}_` }, address);
        const expected = {
          status: 401,
          code: 'invalid_api_key',
          type: 'authentication_error',
          retry: 'false',
        } as const;
        assertError(response, address.family, expected);
      });
    },
  },
  {
    rule: '404 model_not_found for a model that does not exist',
    show: (gateway, address) =>
      refuses(gateway, address, deadEnds.absent, {
        status: 404,
        code: 'model_not_found',
        type: types[address.family].notFound,
        param: 'model',
        retry: 'false',
      }),
  },
  {
    rule: '404 model_not_found for a model that is not listed',
    show: (gateway, address) =>
      refuses(gateway, address, deadEnds.unlisted, {
        status: 404,
        code: 'model_not_found',
        type: types[address.family].notFound,
        param: 'model',
        retry: 'false',
      }),
  },
  {
    rule: '402 insufficient_balance, not to be retried, if nothing is left',
    async show(gateway, address) {
      const account = await gateway.createAccount({ balanceYuan: '0' });
      const calls = gateway.provider.requests.length;
      assertError(await send(gateway, account, address), address.family, {
        status: 402,
        code: 'insufficient_balance',
        type: types[address.family].money,
        retry: 'false',
      });
      assert.equal(gateway.provider.requests.length, calls);
      assert.deepEqual(await account.money(), { balanceNano: 0n, heldNano: 0n });
    },
  },
  {
    rule: '429 balance_daily_limit_exceeded, with the time until the next day, once the cap of the day is reached',
    async show(gateway, address) {
      const account = await gateway.createAccount({ dailySpendCapYuan: '0.000001' });
      responseWell(gateway, address);
      assert.equal((await send(gateway, account, address)).status, 200);
      const calls = gateway.provider.requests.length;
      const refused = await send(gateway, account, address);
      assertError(refused, address.family, {
        status: 429,
        code: 'balance_daily_limit_exceeded',
        type: limitedType(address),
        retry: 'false',
      });
      assertWait(refused, 12 * 3_600);
      assert.equal(gateway.provider.requests.length, calls);
      await assertSpent(account, address.costNano);
    },
  },
  {
    rule: '400 invalid_request_error that names a field which is missing or of a wrong type',
    async show(gateway, address) {
      const account = await gateway.createAccount();
      const { requiredField } = address;
      await assertUntouched(gateway, account, async () => {
        for (const [param, value] of [
          ['model', undefined],
          ['model', null],
          ['model', ''],
          ['model', 7],
          [requiredField, undefined],
          [requiredField, null],
          [requiredField, 7],
        ] as const) {
          assertError(await send(gateway, account, address, { [param]: value }), address.family, {
            status: 400,
            code: 'invalid_request_error',
            type: 'invalid_request_error',
            param,
            retry: 'false',
          });
        }
      });
    },
  },
  {
    rule: '400 invalid_request_error for a body that is no JSON object',
    async show(gateway, address) {
      const account = await gateway.createAccount();
      const whole = JSON.stringify(requestTo(address));
      await assertUntouched(gateway, account, async () => {
        for (const body of ['', whole.slice(0, -1), `${whole}x`, `[${whole}]`, '"text"', Buffer.from([0x7b, 0xff])]) {
          assertError(await call(gateway.url + address.path, account.key, body), address.family, {
            status: 400,
            code: 'invalid_request_error',
            type: 'invalid_request_error',
            retry: 'false',
          });
        }
      });
    },
  },
  {
    rule: '502 upstream_error, to be retried, if the provider cannot be reached',
    async show(gateway, address) {
      const account = await gateway.createAccount();
      const calls = gateway.provider.requests.length;
      const response = await send(gateway, account, address, { model: deadEnds.away });
      assertError(response, address.family, { status: 502, code: 'upstream_error', type: 'api_error', retry: 'true' });
      assert.equal(gateway.provider.requests.length, calls);
      await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
    },
  },
  {
    rule: '502 upstream_error, not to be retried, if the provider breaks the connection off or sends no JSON',
    async show(gateway, address) {
      for (const respond of [breaksOff, responsesHtml]) {
        const account = await gateway.createAccount();
        const calls = gateway.provider.requests.length;
        gateway.provider.respond = respond;
        const response = await send(gateway, account, address);
        assertError(response, address.family, {
          status: 502,
          code: 'upstream_error',
          type: 'api_error',
          retry: 'false',
        });
        assert.equal(gateway.provider.requests.length, calls + 1, 'the call was replayed');
        await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
      }
    },
  },
  {
    rule: '504 upstream_timeout, not to be retried, if the provider does not begin to respond in time',
    async show(gateway, address, silent) {
      const account = await gateway.createAccount();
      const calls = silent.requests.length;
      const response = await send(gateway, account, address, { model: deadEnds.silent });
      assertError(response, address.family, {
        status: 504,
        code: 'upstream_timeout',
        type: types[address.family].timeout,
        retry: 'false',
      });
      assert.equal(silent.requests.length, calls + 1, 'the call was replayed');
      await assertFree(account, { httpStatus: 504, errorCode: 'upstream_timeout' });
    },
  },
  {
    rule: '500 internal_error if the gateway itself fails, before any provider is called',
    async show(gateway, address) {
      const account = await gateway.createAccount();
      const admissions = gateway.observed.statement('reservations.admit');
      await assertUntouched(gateway, account, async () => {
        admissions.fail('before');
        try {
          const response = await send(gateway, account, address);
          assertError(response, address.family, {
            status: 500,
            code: 'internal_error',
            type: 'api_error',
            retry: 'true',
          });
        } finally {
          admissions.recover();
        }
      });
    },
  },
  {
    rule: "a provider's refusal with its status, in the protocol in use, and at no charge",
    async show(gateway, address) {
      for (const [status, type] of [
        [400, 'invalid_request_error'],
        [429, 'rate_limit_error'],
        [503, address.family === 'chat' ? 'api_error' : 'overloaded_error'],
      ] as const) {
        const account = await gateway.createAccount();
        gateway.provider.respond = (_request, response) => {
          response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': `req_theirs_${status}` });
          response.end(JSON.stringify(providerError(address.family, { type, message: 'Not today.', code: 'theirs' })));
        };
        const response = await send(gateway, account, address);
        assertError(response, address.family, { status, code: 'theirs', type, message: 'Not today.' });
        assert.equal(response.headers['x-request-id'], `req_theirs_${status}`);
        await assertFree(account, { httpStatus: status, errorCode: 'theirs' });
      }
    },
  },
];

const breaksOff: Respond = (_request, response) => void response.socket!.resetAndDestroy();
const responsesHtml: Respond = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<html>Welcome</html>');
};

/** Asserts a refusal because of the requested model, before any provider is called. */
async function refuses(gateway: TestGateway, address: CallAddress, model: string, expected: ExpectedError) {
  const account = await gateway.createAccount();
  await assertUntouched(gateway, account, async () => {
    assertError(await send(gateway, account, address, { model }), address.family, expected);
  });
}
