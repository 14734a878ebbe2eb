import assert from 'node:assert/strict';
import { call, startCall } from '../support/client.ts';
import type { TestClock } from '../support/clock.ts';
import { assertFree } from '../support/families.ts';
import { assertSpent, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, liveResponse, type Respond } from '../support/provider.ts';
import { assertWait } from '../support/waits.ts';
import {
  assertError,
  type CallAddress,
  type DeadEnds,
  deadEnds,
  type ExpectedError,
  limitedType,
  requestTo,
  responseWell,
  send,
} from './calls.ts';
import {
  assertCounted,
  assertPlanUse,
  CODING_MODELS,
  createSubscriber,
  type PlanFields,
  padded,
  subscribe,
} from './plans.ts';

/** The error codes of Coding Plans (contract 4.1, 4.3, 7), each as a rule that holds at all addresses. */

const HOUR_MS = 3_600_000;
const DAY_S = 24 * 3_600;
const INPUT_BYTES_MAX = 1_024;
const OUTPUT_TOKENS_MAX = 20;

/** The plans for the rules, each with one low limit. */
export const codingErrorPlans: Readonly<Record<string, Partial<PlanFields>>> = {
  roomy: { models: [...CODING_MODELS, deadEnds.silent, deadEnds.away] },
  brief: { periodDays: 1 },
  elsewhere: { models: ['test-embeddings'] },
  small: { inputByteLimit: `${INPUT_BYTES_MAX / 1024}KiB` },
  terse: { outputTokenLimit: OUTPUT_TOKENS_MAX },
  'five-hours': { fiveHourCalls: 1 },
  week: { weeklyCalls: 1 },
  tokens: { quotaTokens: 1 },
  single: { concurrency: 1 },
};

/** A gateway with these plans, and a clock that the rules change and restore. */
export interface CodingErrorScene {
  readonly gateway: TestGateway;
  readonly clock: TestClock;
  readonly silent: DeadEnds['silent'];
}

export interface CodingErrorRule {
  readonly code: string;
  readonly rule: string;
  show(scene: CodingErrorScene, address: CallAddress): Promise<void>;
}

const moneyType = { chat: 'insufficient_quota', messages: 'billing_error' } as const;
const tooLargeType = { chat: 'invalid_request_error', messages: 'request_too_large' } as const;
const timeoutType = { chat: 'api_error', messages: 'timeout_error' } as const;

/** The status of a refusal without a plan: 402, at compact 429. */
const unentitled = ({ moneyStatus, family }: CallAddress, code: string): ExpectedError => ({
  status: moneyStatus,
  code,
  type: moneyType[family],
  retry: 'false',
});

/** Details of an exhausted window. */
const exhausted = (address: CallAddress, code: string): ExpectedError => ({
  status: 429,
  code,
  type: limitedType(address),
  retry: 'false',
});

export const codingErrorRules: readonly CodingErrorRule[] = [
  {
    code: 'insufficient_package',
    rule: 'there is no usable Coding Plan: none at all, one that is canceled, one that has not begun',
    async show(scene, address) {
      const { gateway, clock } = scene;
      const none = await gateway.createAccount();
      const canceled = await gateway.createAccount();
      const subscription = await subscribe(gateway, canceled, 'roomy');
      assert.equal((await gateway.admin('DELETE', `/subscriptions/${subscription}`)).status, 204);
      const early = await gateway.createAccount();
      await subscribe(gateway, early, 'roomy', new Date(clock.nowMs() + 1).toISOString());
      for (const account of [none, canceled, early]) {
        const response = await refuses(scene, account, address, unentitled(address, 'insufficient_package'));
        assert.equal(response.headers['retry-after'], undefined);
      }
    },
  },
  {
    code: 'insufficient_package',
    rule: 'the tokens of the plan’s period are used up; with the time until the next period',
    async show(scene, address) {
      const { gateway } = scene;
      const account = await createSubscriber(gateway, 'tokens');
      await succeeds(scene, account, address);
      const expected = { ...unentitled(address, 'insufficient_package'), type: limitedType(address) };
      const response = await refuses(scene, account, address, expected);
      assertWait(response, 30 * DAY_S);
      assert.match(response.text, /tokens/);
      await assertCounted(gateway, account, { calls: 1, tokens: address.tokens! });
    },
  },
  {
    code: 'package_expired',
    rule: 'the plan has expired',
    async show(scene, address) {
      const { gateway, clock } = scene;
      const account = await gateway.createAccount();
      await subscribe(gateway, account, 'brief', new Date(clock.nowMs() - DAY_S * 1_000 + 1).toISOString());
      await succeeds(scene, account, address);
      await later(scene, 1, async () => {
        const response = await refuses(scene, account, address, unentitled(address, 'package_expired'));
        assert.equal(response.headers['retry-after'], undefined);
      });
    },
  },
  {
    code: 'model_not_in_package',
    rule: 'the model is outside the plan',
    async show(scene, address) {
      const account = await createSubscriber(scene.gateway, 'elsewhere');
      await refuses(scene, account, address, {
        status: 400,
        code: 'model_not_in_package',
        type: 'invalid_request_error',
        param: 'model',
        retry: 'false',
      });
      await assertCounted(scene.gateway, account, { calls: 0, tokens: 0 });
    },
  },
  {
    code: 'package_5h_quota_exhausted',
    rule: 'the five-hour window is exhausted; with the time until it has room again',
    async show(scene, address) {
      const account = await createSubscriber(scene.gateway, 'five-hours');
      await succeeds(scene, account, address);
      await later(scene, HOUR_MS + 1, async () => {
        const response = await refuses(scene, account, address, exhausted(address, 'package_5h_quota_exhausted'));
        assertWait(response, 4 * 3_600);
      });
      await assertCounted(scene.gateway, account, { calls: 1, tokens: address.tokens! });
    },
  },
  {
    code: 'package_weekly_quota_exhausted',
    rule: 'the weekly window is exhausted; with the time until the next week of the plan',
    async show(scene, address) {
      const account = await createSubscriber(scene.gateway, 'week');
      await succeeds(scene, account, address);
      await later(scene, 6 * HOUR_MS, async () => {
        const response = await refuses(scene, account, address, exhausted(address, 'package_weekly_quota_exhausted'));
        assertWait(response, 7 * DAY_S - 6 * 3_600);
      });
    },
  },
  {
    code: 'package_concurrency_limited',
    rule: 'the plan’s calls in flight are at their limit; to be retried after two seconds, and let through once a call has ended',
    async show(scene, address) {
      const { gateway } = scene;
      const account = await createSubscriber(gateway, 'single');
      const live = liveResponse({ 'content-type': 'application/json' });
      gateway.provider.respond = live.respond;
      const first = startCall(gateway.url + address.path, account.key, requestTo(address));
      await live.opened;
      const response = await refuses(scene, account, address, {
        status: 429,
        code: 'package_concurrency_limited',
        type: 'rate_limit_error',
        retry: 'true',
      });
      assert.equal(response.headers['retry-after'], '2');
      await live.write(JSON.stringify(address.response));
      live.end();
      const ended = await first.response;
      assert.ok(await ended.ended());
      assert.equal(ended.status, 200);
      await succeeds(scene, account, address);
      await assertCounted(gateway, account, { calls: 2, tokens: 2 * address.tokens! });
    },
  },
  {
    code: 'package_input_too_large',
    rule: 'the request is larger than the plan takes, by a byte',
    async show(scene, address) {
      const { gateway } = scene;
      const account = await createSubscriber(gateway, 'small');
      responseWell(gateway, address);
      const post = (bytes: number) => call(gateway.url + address.path, account.key, padded(requestTo(address), bytes));
      assert.equal((await post(INPUT_BYTES_MAX)).status, 200);
      const calls = gateway.provider.requests.length;
      const response = await post(INPUT_BYTES_MAX + 1);
      assertError(response, address.family, {
        status: 413,
        code: 'package_input_too_large',
        type: tooLargeType[address.family],
        retry: 'false',
      });
      // Agents shorten their context only if the message contains these words.
      assert.match(response.json.error.message, /prompt is too long/);
      assert.equal(gateway.provider.requests.length, calls);
      await assertCounted(gateway, account, { calls: 1, tokens: address.tokens! });
    },
  },
  {
    code: 'package_output_limit_exceeded',
    rule: 'the requested cap of output tokens is over the plan’s limit, by a token; if an address has no such cap, never',
    async show(scene, address) {
      const { gateway } = scene;
      const account = await createSubscriber(gateway, 'terse');
      const { outputCap } = address;
      if (outputCap === undefined) {
        await succeeds(scene, account, address, { max_output_tokens: OUTPUT_TOKENS_MAX + 1 });
        return;
      }
      const expected = {
        status: 400,
        code: 'package_output_limit_exceeded',
        type: 'invalid_request_error',
        retry: 'false',
      } as const;
      await succeeds(scene, account, address, { [outputCap]: OUTPUT_TOKENS_MAX });
      await refuses(scene, account, address, expected, { [outputCap]: OUTPUT_TOKENS_MAX + 1 });
      await assertCounted(gateway, account, { calls: 1, tokens: address.tokens! });
    },
  },
  {
    code: 'upstream_error',
    rule: 'the provider’s connection fails or its reply is abnormal, with 502; the call is not counted unless a success had begun',
    async show(scene, address) {
      const { gateway } = scene;
      const account = await createSubscriber(gateway, 'roomy');
      const expected = { status: 502, code: 'upstream_error', type: 'api_error' } as const;
      const unreached = await send(gateway, account, address, { model: deadEnds.away });
      assertError(unreached, address.family, { ...expected, retry: 'true' });
      const replies: readonly (readonly [respond: Respond, callsCounted: number])[] = [
        [(_request, response) => void response.socket!.resetAndDestroy(), 0],
        [json(200, '<html>'), 1],
        [json(200, '{}'), 2],
      ];
      for (const [respond, calls] of replies) {
        const before = gateway.provider.requests.length;
        gateway.provider.respond = respond;
        assertError(await send(gateway, account, address), address.family, { ...expected, retry: 'false' });
        assert.equal(gateway.provider.requests.length, before + 1, 'the call was replayed');
        await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
        await assertPlanUse(gateway, account, { calls, tokens: 0 });
      }
    },
  },
  {
    code: 'upstream_timeout',
    rule: 'the provider does not finish in time, with 504, not to be retried; the call is not counted',
    async show(scene, address) {
      const { gateway, silent } = scene;
      const account = await createSubscriber(gateway, 'roomy');
      const calls = silent.requests.length;
      assertError(await send(gateway, account, address, { model: deadEnds.silent }), address.family, {
        status: 504,
        code: 'upstream_timeout',
        type: timeoutType[address.family],
        retry: 'false',
      });
      assert.equal(silent.requests.length, calls + 1);
      await assertFree(account, { httpStatus: 504, errorCode: 'upstream_timeout' });
      await assertPlanUse(gateway, account, { calls: 0, tokens: 0 });
    },
  },
  {
    code: 'internal_error',
    rule: 'the platform itself fails, with 500: a call that cannot be admitted is not sent',
    async show(scene, address) {
      const { gateway } = scene;
      const account = await createSubscriber(gateway, 'roomy');
      const admissions = gateway.observed.statement('reservations.admit');
      admissions.fail('before');
      try {
        await refuses(scene, account, address, {
          status: 500,
          code: 'internal_error',
          type: 'api_error',
          retry: 'true',
        });
      } finally {
        admissions.recover();
      }
      await assertCounted(gateway, account, { calls: 0, tokens: 0 });
    },
  },
];

/** Asserts that a call of the address succeeds. */
async function succeeds(
  { gateway }: CodingErrorScene,
  account: TestAccount,
  address: CallAddress,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  responseWell(gateway, address);
  const response = await send(gateway, account, address, fields);
  assert.equal(response.status, 200, response.text);
  assert.deepEqual(response.json, address.response);
}

/** Asserts that calls, non-streaming and streams, are refused before any provider is called, and that nothing is charged. */
async function refuses(
  { gateway }: CodingErrorScene,
  account: TestAccount,
  address: CallAddress,
  expected: ExpectedError,
  fields: Readonly<Record<string, unknown>> = {},
) {
  const calls = gateway.provider.requests.length;
  assertError(await send(gateway, account, address, { ...fields, stream: true }), address.family, expected);
  const response = await send(gateway, account, address, fields);
  assertError(response, address.family, expected);
  assert.equal(gateway.provider.requests.length, calls, 'the provider was called');
  await assertSpent(account, 0n);
  return response;
}

/** Runs an action at a later time, and restores the clock. */
async function later({ clock }: CodingErrorScene, ms: number, work: () => Promise<void>): Promise<void> {
  clock.advance(ms);
  try {
    await work();
  } finally {
    clock.advance(-ms);
  }
}
