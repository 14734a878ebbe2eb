import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { addresses, askAddress } from './addresses.ts';
import { notTestable } from './rule.ts';

const NOT_SOLD = 'Coding Plans are not sold yet:';

describe('3 States and transitions', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      models: `
plans:
  coding-pro:
    name: Coding Pro
    fiveHourCalls: 600
    weeklyCalls: 5000
    concurrency: 4
    quotaTokens: 200000000
    periodDays: 30
    models: [test-chat]
    inputByteLimit: 4MiB
    outputTokenLimit: 32000
`,
    });
  });
  after(() => gateway.stop());

  it('3 no plan: active is false, is_active is false, the plan objects are null, and message is set', async () => {
    for (const balanceYuan of ['0', '100']) {
      const { key } = await gateway.createAccount({ balanceYuan });
      for (const address of addresses.filter(({ work }) => work === 'codingBalance')) {
        const { json } = await askAddress(gateway.url, address, key);
        const { active, is_active, isValid, remaining, fiveHour, weekly, concurrency, pkg, message } = json;
        assert.deepEqual([active, is_active, isValid, remaining], [false, false, false, 0]);
        assert.deepEqual([fiveHour, weekly, concurrency, pkg], [null, null, null, null]);
        assert.ok(typeof message === 'string' && message !== '');
      }
    }
  });

  it('3 a plan in the configuration that the account has not been given leaves it without one', async () => {
    const account = await gateway.createAccount();
    const address = addresses.find(({ work }) => work === 'codingBalance')!;
    assert.equal((await askAddress(gateway.url, address, account.key)).json.active, false);
  });

  notTestable(
    '3 plan valid with quota: active, is_active and isValid are true and remaining is above 0',
    `${NOT_SOLD} no account can have one.`,
  );
  notTestable(
    '3 plan valid, window exhausted: active is true, is_active and isValid are false and remaining is 0',
    `${NOT_SOLD} no window is kept.`,
  );
  notTestable(
    '3 the five-hour window recovers by call, with resetAt about five hours from now',
    `${NOT_SOLD} no window is kept.`,
  );
  notTestable(
    '3 the weekly window rolls every seven days from the activation of the plan',
    `${NOT_SOLD} no window is kept.`,
  );
  notTestable('3 a call is refused when either window is exhausted', `${NOT_SOLD} no window is kept.`);
});
