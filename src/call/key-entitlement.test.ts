import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallOutcome } from '../billing/holds.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { LimitVerdict } from '../key-limits/store.ts';
import { silentLogger } from '../lib/logger.ts';
import { createLocalTime } from '../pricing/local-time.ts';
import type { AdmissionRequest, Left } from './entitlement.ts';
import { limitedByKey } from './key-entitlement.ts';

const ids = { accountId: 'acct_1', keyId: 'key_1', callId: 'call_1' };

function requestOf(context: 'balance' | 'coding', isKeyLimited = true): AdmissionRequest {
  return {
    ...ids,
    isKeyLimited,
    holdNano: 7n,
    terms: { context },
    settings: { localTime: createLocalTime('Asia/Shanghai') },
    startedAtMs: Date.parse('2026-11-20T15:59:58.500Z'),
  } as AdmissionRequest;
}

const outcomeOf = (context: string, outcome: Partial<CallOutcome>): CallOutcome =>
  ({ ...ids, context, status: 'succeeded', httpStatus: 200, usage: {}, chargeNano: 5n, ...outcome }) as CallOutcome;

interface Faults {
  readonly verdict?: LimitVerdict;
  readonly admission?: Error;
  readonly keyEnd?: Error;
}

const ADMITTED: Left = { calls: 7 };
const ENDED: Left = { calls: 6 };

/** An entitlement and the limits of keys that write down what they are asked, in order, and fail as told. */
function scripted(faults: Faults = {}) {
  const asked: string[] = [];
  const note = async (text: string, fault: Error | undefined): Promise<void> => {
    asked.push(text);
    if (fault !== undefined) throw fault;
  };
  const entitlement = limitedByKey(
    {
      admit: () => note('admit', faults.admission).then(() => ADMITTED),
      ending: ({ outcome }) => ({ outcome, plan: { counts: true, tokens: 3 }, key: null, kept: null }),
      ended: (_outcome, _ended, before) => (before === ADMITTED ? ENDED : before),
    },
    {
      admit: async ({ amountNano }) => {
        asked.push(`key admit ${amountNano}`);
        return faults.verdict ?? 'admitted';
      },
      end: ({ counts, chargeNano }) => note(`key end ${counts ? 'counts' : 'given back'} ${chargeNano}`, faults.keyEnd),
      abandon: ({ accountId, callId }) => asked.push(`key abandon ${accountId} ${callId}`),
      drain: async () => undefined,
    },
    silentLogger,
  );
  return { entitlement, asked };
}

describe('an entitlement that a key has a part of', () => {
  it('asks the limits of the key first, and nothing of money at a coding address', async () => {
    const { entitlement, asked } = scripted();
    assert.equal(await entitlement.admit(requestOf('balance')), ADMITTED);
    await entitlement.admit(requestOf('coding'));
    assert.deepEqual(asked, ['key admit 7', 'admit', 'key admit null', 'admit']);
  });

  it('passes on what the entitlement says of the end, and of what is left then', () => {
    const { entitlement } = scripted();
    const outcome = outcomeOf('coding', {});
    const call = { outcome, counts: true, isKeyLimited: true };
    const { key, ...rest } = entitlement.ending(call);
    assert.deepEqual(rest, { outcome, plan: { counts: true, tokens: 3 }, kept: null });
    assert.notEqual(key, null);
    assert.equal(entitlement.ended(call, { availableNano: null }, ADMITTED), ENDED);
  });

  it('never asks the limits of a key that has none, not even at the end of a call that began before it had some', async () => {
    const { entitlement, asked } = scripted();
    await entitlement.admit(requestOf('balance', false));
    assert.equal(
      entitlement.ending({ outcome: outcomeOf('balance', {}), counts: true, isKeyLimited: false }).key,
      null,
    );
    assert.deepEqual(asked, ['admit']);
  });

  it('gives the limits of the key back where the entitlement refuses, and passes the refusal on', async () => {
    const refusal = new GatewayError('insufficientBalance');
    const { entitlement, asked } = scripted({ admission: refusal });
    await assert.rejects(entitlement.admit(requestOf('balance')), refusal);
    assert.deepEqual(asked, ['key admit 7', 'admit', 'key end given back 0']);
  });

  it('gives them back in the background where that fails at first', async () => {
    const refusal = new GatewayError('insufficientBalance');
    const { entitlement, asked } = scripted({ admission: refusal, keyEnd: new Error('the database is away') });
    await assert.rejects(entitlement.admit(requestOf('balance')), refusal);
    assert.deepEqual(asked.slice(2), ['key end given back 0', 'key abandon acct_1 call_1']);
  });

  for (const [outcome, key] of [
    [
      { status: 'failed', httpStatus: 502, usage: null, chargeNano: null },
      { counts: false, chargeNano: 0n },
    ],
    [
      { status: 'aborted', httpStatus: null, usage: null, chargeNano: null },
      { counts: false, chargeNano: 0n },
    ],
    [
      { status: 'failed', httpStatus: 504, usage: null, chargeNano: null },
      { counts: true, chargeNano: 0n },
    ],
    [
      { status: 'aborted', httpStatus: 200, chargeNano: 3n },
      { counts: true, chargeNano: 3n },
    ],
    [
      { status: 'succeeded', httpStatus: 200, chargeNano: 0n },
      { counts: true, chargeNano: 0n },
    ],
  ] as const) {
    it(`counts a call that is ${outcome.status} with ${outcome.httpStatus}: ${key.counts}, at ${key.chargeNano}`, () => {
      const { entitlement } = scripted();
      const ending = entitlement.ending({
        outcome: outcomeOf('balance', outcome),
        counts: key.counts,
        isKeyLimited: true,
      });
      assert.deepEqual(ending.key, key);
    });
  }

  for (const [verdict, code, retry, retryAfter] of [
    ['spend_limited', 'key_daily_spend_limit_exceeded', 'no', '2'],
    ['calls_limited', 'key_daily_calls_limit_exceeded', 'no', '2'],
    ['concurrency_limited', 'key_concurrency_limited', 'yes', '2'],
  ] as const) {
    it(`answers ${verdict} with ${code} and when to come again, and never asks the entitlement`, async () => {
      const { entitlement, asked } = scripted({ verdict });
      const failure = await entitlement.admit(requestOf('balance')).then(
        () => null,
        (error: unknown) => error,
      );
      assert.ok(failure instanceof GatewayError);
      // A second and a half before midnight.
      assert.deepEqual(
        [failure.status, failure.code, failure.retry, failure.headers['retry-after']],
        [429, code, retry, retryAfter],
      );
      assert.deepEqual(asked, ['key admit 7']);
    });
  }
});
