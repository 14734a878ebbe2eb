import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { addresses, askAddress } from './addresses.ts';
import { notTestable } from './rule.ts';

const NOT_SOLD = 'Coding Plans are not sold yet:';
const snapshotAddresses = addresses.filter(({ work }) => work === 'codingBalance');

/** What an account without a plan is answered, but for the time and the words. */
const withoutPlan = {
  active: false,
  is_active: false,
  isValid: false,
  balance: 0,
  remaining: 0,
  quota: 0,
  usedQuota: 0,
  unit: 'calls',
  planName: null,
  fiveHour: null,
  weekly: null,
  concurrency: null,
  pkg: null,
} as const;

describe('2.3 Coding Plan usage snapshot', () => {
  const clock = createTestClock('2026-11-20T04:05:06.789Z');
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ clock });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  const ask = () => askAddress(gateway.url, snapshotAddresses[0]!, account.key);

  it('2.3 every field is present in every 200, and no other', async () => {
    for (const address of snapshotAddresses) {
      const { status, json } = await askAddress(gateway.url, address, account.key);
      assert.equal(status, 200);
      assert.deepEqual(Object.keys(json).sort(), [...Object.keys(withoutPlan), 'capturedAt', 'message'].sort());
    }
  });

  for (const [field, value] of Object.entries(withoutPlan)) {
    it(`2.3 without a plan ${field} is ${JSON.stringify(value)}`, async () => {
      assert.strictEqual((await ask()).json[field], value);
    });
  }

  it('2.3 without a plan message says so', async () => {
    const { message } = (await ask()).json;
    assert.equal(typeof message, 'string');
    assert.match(message, /no Coding Plan/);
  });

  it('2.3 capturedAt is the time of the snapshot in UTC', async () => {
    assert.equal((await ask()).json.capturedAt, '2026-11-20T04:05:06.789Z');
    clock.advance(61_001);
    assert.equal((await ask()).json.capturedAt, '2026-11-20T04:06:07.790Z');
  });

  it('2.3 money is no part of the snapshot: a rich and a poor account are told the same', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const { json: ofPoor } = await askAddress(gateway.url, snapshotAddresses[0]!, poor.key);
    assert.deepEqual(ofPoor, (await ask()).json);
    await assertSpent(account, 0n);
  });

  notTestable('2.3 with a plan active is true', `${NOT_SOLD} no account can have one.`);
  notTestable('2.3 is_active and isValid are false when either window is exhausted', `${NOT_SOLD} no window is kept.`);
  notTestable(
    '2.3 balance and remaining are the smaller of what is left of the two windows',
    `${NOT_SOLD} no window is kept.`,
  );
  notTestable(
    '2.3 quota and usedQuota are the limit and the used calls of the five-hour window',
    `${NOT_SOLD} no window is kept.`,
  );
  notTestable('2.3 planName is the name of the plan, and message is null', `${NOT_SOLD} no account can have one.`);
  notTestable(
    '2.3 fiveHour has limit, used, remaining, usedPercent from 0 to 100, and resetAt',
    `${NOT_SOLD} no window is kept.`,
  );
  notTestable(
    '2.3 weekly has limit, used, remaining, usedPercent from 0 to 100, windowStart and windowEnd',
    `${NOT_SOLD} no window is kept.`,
  );
  notTestable('2.3 concurrency has limit and inFlight', `${NOT_SOLD} no plan bounds the calls in flight.`);
  notTestable(
    '2.3 pkg has quotaTokens, usedTokens, remainingTokens, usagePercent, periodStart, periodEnd and supportedModels',
    `${NOT_SOLD} no tokens are counted against one.`,
  );
});
