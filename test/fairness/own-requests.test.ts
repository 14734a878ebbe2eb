import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** The limits of an account: requests that run, and requests that wait. */
const AT_ONCE = 2;
const WAITING = 50;
const TOO_MANY = 6;

describe('requests of one account', { timeout: 120_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  let key: string;
  let other: string;
  before(async () => {
    g = await startGateway();
    account = await g.createAccount();
    key = await makeKey(account.id);
    other = await makeKey((await g.createAccount()).id);
  });
  after(() => g.stop());

  async function makeKey(accountId: string): Promise<string> {
    const { body } = await g.admin('POST', `/accounts/${accountId}/keys`, { name: 'own', scopes: ['account'] });
    return body.key;
  }

  const get = (path: string, by: string) =>
    fetch(`${g.url}/account/v1${path}`, { headers: { authorization: `Bearer ${by}` } });

  it('are 429 beyond the queue, without affecting other accounts or waiting requests', async () => {
    let responded: Response[] = [];
    const asked = await g.database.transaction(async (transaction) => {
      await sql(transaction, 'lock table calls in access exclusive mode');
      const all = Array.from({ length: AT_ONCE + WAITING + TOO_MANY }, async () => {
        const response = await get('/calls', key);
        responded.push(response);
        return response.status;
      });
      await until(() => responded.length >= TOO_MANY);
      const [first] = responded;
      const { error } = (await first!.json()) as { error: { code: string } };
      assert.deepEqual([first!.status, error.code], [429, 'too_many_requests']);
      assert.match(first!.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      assert.equal((await get('/keys', other)).status, 200);
      return all;
    });
    const statuses = await Promise.all(asked);
    assert.equal(statuses.filter((status) => status === 429).length, TOO_MANY);
    assert.equal(statuses.filter((status) => status === 200).length, AT_ONCE + WAITING);
    responded = [];
  });

  it('do not include requests of operators', async () => {
    const responses = await Promise.all(
      Array.from({ length: 60 }, () => g.admin('GET', `/calls?accountId=${account.id}`)),
    );
    assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
  });
});
