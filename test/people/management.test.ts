import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';

/** Who may use the account API. */

describe('the account API', () => {
  let g: TestGateway;

  before(async () => {
    g = await startGateway();
  });
  after(() => g.stop());

  async function get(headers: Record<string, string>) {
    const response = await fetch(`${g.url}/account/v1/account`, { headers });
    return { status: response.status, body: await response.json() };
  }

  it('has nothing for an operator, who has no account, and says why', async () => {
    assert.deepEqual(await get({ authorization: `Bearer ${ADMIN_TOKEN}` }), {
      status: 403,
      body: {
        error: { code: 'permission_denied', message: 'You have no account. Operators use the admin API.', param: null },
      },
    });
  });

  it('is closed to whoever has no credential, or a wrong one', async () => {
    assert.equal((await get({})).status, 401);
    assert.equal((await get({ authorization: 'Bearer wrong' })).status, 401);
  });
});
