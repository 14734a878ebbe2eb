import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { wireEngines } from '../support/database.ts';
import { families, requestOf } from '../support/families.ts';
import { assertSpent, startGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';

/** A provider may say in JSON what no database stores, one half of a pair; and a long text may be cut between the two. */
const ODD = 'Lost sight \\ud800 of it.';

for (const engine of wireEngines) {
  describe(`${engine}: a call whose outcome is unknown`, () => {
    for (const family of families) {
      it(`is not run again by its repeats, whatever characters the provider's words have, on ${family.name}`, async (context) => {
        const gateway = await startGateway({ engine });
        context.after(() => gateway.stop());
        gateway.provider.respond = json(504, `{"error":{"message":"${ODD}","param":"${ODD}"}}`);
        const account = await gateway.createAccount();
        const make = () =>
          call(gateway.url + family.path, account.key, requestOf(false), { headers: { 'idempotency-key': 'once' } });
        const first = await make();
        const again = await make();
        assert.equal(gateway.provider.requests.length, 1);
        assert.deepEqual([first.status, again.status, again.headers['x-faregate-repeated']], [504, 504, 'true']);
        assert.equal(first.json.error.message, JSON.parse(`"${ODD}"`));
        assert.equal(again.json.error.message, 'Lost sight \ufffd of it.');
        const { status, errorCode } = await account.lastCall();
        assert.deepEqual([status, errorCode], ['failed', 'upstream_error']);
        await assertSpent(account, 0n);
      });
    }
  });
}
