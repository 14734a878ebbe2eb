import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startCall } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { requestOf } from '../support/families.ts';
import { clientLeaves, startGateway } from '../support/gateway.ts';

/** A shutdown waits for calls in flight up to `server.shutdownTimeout`, even if their clients have disconnected. */
describe('shutdown', () => {
  for (const isStream of [true, false]) {
    it(`cuts off ${isStream ? 'a stream' : 'a response'} whose client has disconnected, and releases its reservation`, async () => {
      await using stored = await createTestDatabase();
      const gateway = await startGateway({ stored, server: 'shutdownTimeout: 50ms' });
      const account = await gateway.createAccount();
      const asked = gateway.provider.requests.length;
      // A provider that never responds; its timeout is ten minutes.
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
