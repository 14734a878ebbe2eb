import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { RequestReport } from '../../src/requests/request-report.ts';
import { startCall } from '../support/client.ts';
import { families, requestOf } from '../support/families.ts';
import { clientLeaves, startGateway, type TestGateway, watchCalls } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const [chat] = families;

describe('a client that leaves while its key is looked up', { timeout: 20_000 }, () => {
  let gateway: TestGateway;
  const reported = Promise.withResolvers<RequestReport>();
  before(async () => {
    gateway = await startGateway({
      server: 'uploadIdleTimeout: 1h',
      observers: [(report) => void (report.operation === 'chat' && reported.resolve(report))],
    });
  });
  after(() => gateway?.stop());

  it('ends its request at once, although the body has arrived completely', async () => {
    const { key } = await gateway.createAccount();
    const lookups = gateway.observed.statement('accounts.select-standings');
    const { asked } = lookups;
    const requests = watchCalls(gateway);
    lookups.hold();
    try {
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + chat!.path, key, requestOf(false));
      await lookups.reached(asked + 1);
      await until(async () => requests[0]?.complete === true);
      started.drop();
      await left;
    } finally {
      lookups.release();
    }
    assert.equal((await reported.promise).end, 'aborted');
    assert.equal(gateway.provider.requests.length, 0);
  });
});
