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
  readonly end?: Error;
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
      end: (_outcome, before) => note('end', faults.end).then(() => (before === ADMITTED ? ENDED : before)),
    },
    {
      admit: async ({ amountNano }) => {
        asked.push(`key admit ${amountNano}`);
        return faults.verdict ?? 'admitted';
      },
      end: ({ counts, chargeNano }) => note(`key end ${counts ? 'counts' : 'given back'} ${chargeNano}`, faults.keyEnd),
      drain: async () => undefined,
      releaseLeftHolds: async () => undefined,
    },
    silentLogger,
  );
  return { entitlement, asked };
}

describe('an entitlement that a key has a part of', () => {
  it('asks the limits of the key first, and ends them last, with what was charged', async () => {
    const { entitlement, asked } = scripted();
    await entitlement.admit(requestOf('balance'));
    await entitlement.end(outcomeOf('balance', {}), ADMITTED);
    assert.deepEqual(asked, ['key admit 7', 'admit', 'end', 'key end counts 5']);
  });

  it('passes on what the entitlement says is left, before and after', async () => {
    const { entitlement } = scripted();
    const left = await entitlement.admit(requestOf('coding'));
    assert.deepEqual(left, ADMITTED);
    assert.deepEqual(await entitlement.end(outcomeOf('coding', {}), left), ENDED);
  });

  it('says nothing of money to the limits of the key at a coding address', async () => {
    const { entitlement, asked } = scripted();
    await entitlement.admit(requestOf('coding'));
    await entitlement.end(outcomeOf('coding', {}), ADMITTED);
    assert.deepEqual(asked, ['key admit null', 'admit', 'end', 'key end counts 0']);
  });

  it('never asks the limits of a key that has none, not even at the end of a call that began before it had some', async () => {
    const { entitlement, asked } = scripted();
    await entitlement.admit(requestOf('balance', false));
    await entitlement.end(outcomeOf('balance', {}), ADMITTED);
    assert.deepEqual(asked, ['admit', 'end']);
  });

  it('gives the limits of the key back where the entitlement refuses, and passes the refusal on', async () => {
    const refusal = new GatewayError('insufficientBalance');
    const { entitlement, asked } = scripted({ admission: refusal });
    await assert.rejects(entitlement.admit(requestOf('balance')), refusal);
    assert.deepEqual(asked, ['key admit 7', 'admit', 'key end given back 0']);
  });

  for (const [outcome, said] of [
    [{ status: 'failed', httpStatus: 502, usage: null, chargeNano: null }, 'key end given back 0'],
    [{ status: 'aborted', httpStatus: null, usage: null, chargeNano: null }, 'key end given back 0'],
    [{ status: 'aborted', httpStatus: 200, chargeNano: 3n }, 'key end counts 3'],
    [{ status: 'succeeded', httpStatus: 200, chargeNano: 0n }, 'key end counts 0'],
  ] as const) {
    it(`of a call that is ${outcome.status} with ${outcome.httpStatus} says: ${said}`, async () => {
      const { entitlement, asked } = scripted();
      await entitlement.admit(requestOf('balance'));
      await entitlement.end(outcomeOf('balance', outcome), ADMITTED);
      assert.equal(asked.at(-1), said);
    });
  }

  it('gives the limits of the key back where the end could not be stored, and fails as the end did', async () => {
    const fault = new Error('the database is away');
    const { entitlement, asked } = scripted({ end: fault });
    await entitlement.admit(requestOf('balance'));
    await assert.rejects(entitlement.end(outcomeOf('balance', {}), ADMITTED), fault);
    assert.deepEqual(asked.slice(2), ['end', 'key end given back 0']);
  });

  it('lets a call end well where only the limits of its key could not be updated', async () => {
    const { entitlement, asked } = scripted({ keyEnd: new Error('the database is away') });
    await entitlement.admit(requestOf('balance'));
    await entitlement.end(outcomeOf('balance', {}), ADMITTED);
    assert.equal(asked.length, 4);
  });

  it('ends the limits of a key once, however often the call is ended', async () => {
    const { entitlement, asked } = scripted();
    await entitlement.admit(requestOf('balance'));
    for (let n = 0; n < 3; n++) await entitlement.end(outcomeOf('balance', {}), ADMITTED);
    assert.equal(asked.filter((text) => text.startsWith('key end')).length, 1);
  });

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
