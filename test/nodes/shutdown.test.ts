import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startCall } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { requestOf } from '../support/families.ts';
import { clientLeaves, startGateway } from '../support/gateway.ts';

/** A shutdown waits for calls in flight up to `server.shutdownTimeout`, whether or not their clients are still there. */
describe(`a shutdown`, () => {
  for (const isStream of [true, false]) {
    it(`cuts off ${isStream ? 'a stream' : 'a response'} that is awaited for a client that has left, and keeps no reservation of it`, async () => {
      await using stored = await createTestDatabase();
      const gateway = await startGateway({ stored, server: 'shutdownTimeout: 50ms' });
      const account = await gateway.createAccount();
      const asked = gateway.provider.requests.length;
      // A provider that never responds; its time limit is ten minutes.
      gateway.provider.respond = () => undefined;
      const left = clientLeaves(gateway);
      const started = startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(isStream));
      await gateway.provider.received(asked + 1);
      started.drop();
      await left;
      await gateway.gateway.close();
      await gateway.provider.close();

      await using next = await startGateway({ stored, database: stored.openAnother() });
      const { body } = await next.admin('GET', `/accounts/${account.id}`);
      assert.equal(body.balanceYuan, '100');
      assert.equal(body.heldYuan, '0');
    });
  }
});
