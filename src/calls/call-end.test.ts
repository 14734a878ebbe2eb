import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../errors/gateway-error.ts';
import { noUsage, type UsageFacts } from '../protocols/metering/usage-facts.ts';
import { chat } from '../protocols/operations/chat.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import type { Call } from './call.ts';
import { type CallEnd, settlementRecord } from './call-end.ts';

const prices = {
  inputNanoPerMillion: 2_000_000n,
  cachedInputNanoPerMillion: 2_000_000n,
  cacheWriteNanoPerMillion: 2_000_000n,
  cacheWrite1hNanoPerMillion: 2_000_000n,
  imageInputNanoPerMillion: 2_000_000n,
  outputNanoPerMillion: 10_000_000n,
  imageOutputNanoPerMillion: 10_000_000n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};
const price = { rule: 'base', prices } as const;
const route = { id: 'r', providerId: 'vendor', providerModel: 'vendor-large' } as unknown as Route;
const response = { head: { status: 200, headers: { a: 'b' }, callHeaders: {} }, body: Buffer.from('{}') };
const claim = { held: { accountId: 'acc', callId: 'claim_1' }, keptForMs: 60_000 };
const observed: UsageFacts = { ...noUsage, inputTokens: 100, outputTokens: 10, source: 'observed' };

interface Case {
  readonly context?: 'balance' | 'coding';
  readonly isKeyLimited?: boolean;
  readonly isTokenLimited?: boolean;
  readonly priceFactorBasisPoints?: number;
  readonly session?: Call['session'];
  readonly attempts?: Call['attempts'];
  readonly end?: Partial<CallEnd>;
}

function recordOf({ context = 'balance', end = {}, ...more }: Case) {
  const { isTokenLimited = false, priceFactorBasisPoints = 10_000 } = more;
  const call = {
    policy: { context, operation: chat, moneyStatus: 402 },
    principal: {
      accountId: 'acc',
      keyId: 'key',
      groupId: 'resellers',
      isKeyLimited: more.isKeyLimited ?? false,
      memberId: null,
      modelBudgets: null,
      callerBudgets: null,
    },
    input: {
      isStream: false,
      model: 'large',
      choices: 1,
      demand: { terms: {}, inputs: 1, thinkingTokens: 0, moreOutputTokens: 0, searchUnitsMax: 0 },
    },
    callId: 'call_1',
    requestId: 'req_1',
    startedAtMs: 1_000,
    model: { id: 'large', contextTokensMax: 1_000, outputTokensMax: 1_000 },
    pricing: { price, basis: 'tokens', inner: [], reservation: { amountNano: 1_000n, tokens: 500 } },
    routes: [{ ...route, providerId: 'first', providerModel: 'first-large' }, route],
    session: more.session ?? null,
    report: { clientRequestId: 'theirs' },
    claim,
    route,
    failedRoutes: [],
    caller: null,
    attempts: more.attempts ?? [],
    costedCredential: null,
    translation: null,
    fallback: null,
    fallbackTerms: null,
    isTokenLimited,
    priceFactorBasisPoints,
  } as unknown as Call;
  return settlementRecord(
    call,
    {
      status: 'succeeded',
      usage: observed,
      httpStatus: 200,
      error: null,
      requestId: 'theirs_1',
      counts: true,
      firstByteAtMs: 1_200,
      continuationKeys: [],
      response: null,
      ...end,
    },
    2_000,
  );
}

describe('the end of a call', () => {
  it('returns the whole record, with the charge at the price in force', () => {
    assert.deepEqual(recordOf({}), {
      outcome: {
        accountId: 'acc',
        callId: 'call_1',
        keyId: 'key',
        groupId: 'resellers',
        context: 'balance',
        operation: 'chat',
        model: 'large',
        provider: 'vendor',
        providerModel: 'vendor-large',
        failedRoutes: [],
        isStream: false,
        status: 'succeeded',
        httpStatus: 200,
        errorCode: null,
        requestId: 'theirs_1',
        clientRequestId: 'theirs',
        caller: null,
        startedAtMs: 1_000,
        firstByteMs: 200,
        endedAtMs: 2_000,
        usage: observed,
        notes: undefined,
        price,
        priceFactorBasisPoints: 10_000,
        chargeNano: 300n,
        costNano: null,
      },
      plan: null,
      key: null,
      rate: null,
      kept: null,
      made: null,
    });
  });

  it('records the session and its own route, even if another route served the call', () => {
    const session = { source: 'prompt_cache_key', key: 'hash' };
    const { outcome } = recordOf({ session });
    assert.deepEqual(outcome.notes, {
      session: { source: 'prompt_cache_key', provider: 'first', model: 'first-large' },
    });
    assert.equal(outcome.provider, 'vendor');
  });

  it('records the attempts if one of them failed', () => {
    const attempt = {
      no: 1,
      provider: 'vendor',
      model: 'large',
      startedMs: 1,
      durationMs: 2,
      failure: 'queue',
    } as const;
    assert.deepEqual(recordOf({ attempts: [attempt] }).outcome.notes, { attempts: [attempt] });
  });

  it('applies the price factor of the admission', () => {
    assert.equal(recordOf({ priceFactorBasisPoints: 5_000 }).outcome.chargeNano, 150n);
  });

  it('on a plan charges nothing, and counts the call and its tokens', () => {
    const { outcome, plan, key } = recordOf({ context: 'coding', isKeyLimited: true });
    assert.equal(outcome.chargeNano, null);
    assert.deepEqual(plan, { counts: true, tokens: 110 });
    assert.deepEqual(key, { counts: true, chargeNano: 0n });
  });

  it('that does not count uses no tokens of a plan, but tokens of limits per minute', () => {
    const { plan, rate } = recordOf({ context: 'coding', isTokenLimited: true, end: { counts: false } });
    assert.deepEqual([plan, rate], [{ counts: false, tokens: 0 }, { tokens: 110 }]);
  });

  it('of a failure charges nothing, and records the error', () => {
    const error = new GatewayError('upstreamError');
    const end = { status: 'failed', usage: null, httpStatus: 502, error, counts: false, firstByteAtMs: null } as const;
    const { outcome, key } = recordOf({ isKeyLimited: true, end });
    const { status, usage, chargeNano, costNano, errorCode, firstByteMs } = outcome;
    assert.deepEqual(
      { status, usage, chargeNano, costNano, errorCode, firstByteMs },
      { status: 'failed', usage: null, chargeNano: null, costNano: null, errorCode: error.code, firstByteMs: null },
    );
    assert.deepEqual(key, { counts: false, chargeNano: 0n });
  });

  it('stores the response for repeats, with the headers that remain valid', () => {
    const { kept } = recordOf({ end: { response } });
    assert.deepEqual(kept, {
      accountId: 'acc',
      callId: 'claim_1',
      head: {
        status: 200,
        headers: { a: 'b' },
        callHeaders: { 'x-faregate-call-id': 'call_1', 'x-faregate-charge-yuan': '0.0000003' },
      },
      body: response.body,
      billedCallId: 'call_1',
      startedAtMs: 1_000,
      keptForMs: 60_000,
    });
    const onPlan = recordOf({ context: 'coding', end: { response } }).kept!;
    assert.deepEqual(onPlan.head.callHeaders, { 'x-faregate-call-id': 'call_1' });
  });

  it('returns the state that later calls may refer to', () => {
    const made = { keys: ['k'], model: 'large', providerId: 'vendor', atMs: 2_000 };
    assert.deepEqual(recordOf({ end: { continuationKeys: ['k'] } }).made, { ...made, totalTokens: 110 });
    assert.deepEqual(recordOf({ end: { continuationKeys: ['k'], usage: null } }).made, made);
  });

  it('records the reservation if the estimate of what was delivered costs more', () => {
    const usage: UsageFacts = { ...observed, outputTokens: 500, source: 'estimated' };
    assert.deepEqual(recordOf({ end: { usage } }).outcome.notes, { reservedNano: '1000' });
    assert.equal(recordOf({ end: { usage: { ...usage, source: 'observed' } } }).outcome.notes, undefined);
    assert.equal(recordOf({ context: 'coding', end: { usage } }).outcome.notes, undefined);
  });
});
