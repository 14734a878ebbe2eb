import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SettlementRecord } from '../accounting/settlement/settlement-record.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { silentLogger } from '../lib/logger.ts';
import { chat } from '../protocols/operations/chat.ts';
import type { Model, Route } from '../providers/catalog/catalog.ts';
import { Call } from './call.ts';
import type { CallEnd } from './call-end.ts';
import type { CallPricing } from './call-pricing.ts';
import type { CallRequest } from './call-request.ts';

const SUCCESS: CallEnd = {
  status: 'succeeded',
  usage: null,
  httpStatus: 200,
  error: null,
  requestId: 'req_1',
  counts: true,
  firstByteAtMs: 0,
  continuationKeys: [],
  response: null,
};

/** A call on the balance, and its settled records. If `fails`, its first record cannot be created. */
function admittedCall(fails: boolean) {
  let leftToFail = fails ? 1 : 0;
  const settled: SettlementRecord[] = [];
  const request = {
    requestId: 'req_1',
    claim: null,
    client: { setHeaders: () => undefined },
    input: { isStream: false },
    policy: { context: 'balance', operation: chat },
    principal: {
      accountId: 'acct',
      keyId: 'key',
      isKeyLimited: false,
      memberId: null,
      modelBudgets: null,
      callerBudgets: null,
    },
    report: { trace: null, clientRequestId: null, outcome: null },
  } as unknown as CallRequest;
  const call = new Call(request, {
    settlement: {
      end: async (record) => {
        settled.push(record);
        return { availableNano: 0n };
      },
    },
    onEnded: () => undefined,
    clock: { nowMs: () => 1 },
    logger: silentLogger,
  });
  const route = { providerId: 'provider', providerModel: 'model' } as Route;
  call.startedAtMs = 0;
  call.routes = [route];
  call.pricing = { price: { rule: 'base', prices: {} }, basis: 'tokens', inner: [] } as unknown as CallPricing;
  call.model = { id: 'model', fallbacks: null } as Model;
  call.admitted(
    { isAdmitted: true, remaining: null, rates: null, budgets: [], priceFactorBasisPoints: 10_000, side: 0 },
    0,
  );
  Object.defineProperty(call, 'model', {
    get() {
      if (leftToFail-- > 0) throw new Error('no record can be created');
      return { id: 'model', fallbacks: null };
    },
  });
  const permit = {
    began: () => undefined,
    succeeded: () => undefined,
    failed: () => undefined,
    ended: () => undefined,
  };
  call.beginAttempt(route, permit, null, null, null);
  return { call, settled };
}

describe('an admitted call', () => {
  it('has ended once it is settled', async () => {
    const { call, settled } = admittedCall(false);
    await call.end(SUCCESS);
    assert.equal(call.isEnded, true);
    assert.deepEqual(
      settled.map(({ outcome }) => outcome.status),
      ['succeeded'],
    );
  });

  it('has not ended if its record cannot be created, so that it is released once', async () => {
    const { call, settled } = admittedCall(true);
    await assert.rejects(call.end(SUCCESS), { code: 'internal_error' });
    assert.equal(call.isEnded, false);
    assert.equal(settled.length, 0);
    await call.release(new GatewayError('internal'), false, false);
    assert.equal(call.isEnded, true);
    assert.deepEqual(
      settled.map(({ outcome }) => outcome.status),
      ['failed'],
    );
  });
});
