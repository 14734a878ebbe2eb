import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSubscriber, plansText } from '../conformance/plans.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

/** A list of thousands of models takes time in which the gateway serves nobody else, so an account's lists wait for each other. */

describe('lists of models', { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ plans: plansText({ starter: {} }) });
  });
  after(() => gateway.stop());

  const ask = ({ key }: TestAccount, path: string) =>
    fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}` } });

  it('of one account are made one at a time, and those of another account meanwhile', async () => {
    const busy = await createSubscriber(gateway, 'starter');
    const other = await gateway.createAccount();
    const plan = gateway.observed.statement('plans.select-state');
    plan.hold();
    const held = ask(busy, '/v1/coding/models');
    await plan.reached(1);
    let isReleased = false;
    const further = ['/v1/models', '/v1/models/test-chat', '/altproto/v1/models'].map(async (path) => {
      const response = await ask(busy, path);
      return { status: response.status, waited: isReleased };
    });
    assert.equal((await ask(busy, '/v1/user/balance')).status, 200);
    assert.equal((await ask(other, '/v1/models')).status, 200);
    isReleased = true;
    plan.release();
    assert.equal((await held).status, 200);
    assert.deepEqual(await Promise.all(further), Array(3).fill({ status: 200, waited: true }));
  });
});
