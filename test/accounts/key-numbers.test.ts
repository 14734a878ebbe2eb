import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { sql } from '../support/sql.ts';

/** SQL: inserts so many keys of an account, created and ended so long ago. */
const INSERT_KEYS = `insert into api_keys (account_id, id, name, key_hash, prefix, created_at, revoked_at)
select $1, 'key_' || $2::text || lpad(n::text, 6, '0'), 'made', decode(md5($1 || $2 || n), 'hex'), 'fg_', now() - $4::interval,
  case when $5::text is null then null else now() - $5::interval end
from generate_series(1, $3::int) n`;

describe(`how many keys an account has`, () => {
  let stored: TestDatabase;
  let g: TestGateway;
  let account: TestAccount;
  before(async () => {
    stored = await createTestDatabase();
    g = await startGateway({ stored });
  });
  after(async () => {
    await g?.stop();
    await stored?.remove();
  });

  async function insert(name: string, count: number, madeAgo: string, endedAgo: string | null): Promise<void> {
    const parameters = [account.id, name, count, madeAgo, endedAgo];
    await sql(g.database, INSERT_KEYS, parameters);
  }
  const make = () => g.admin('POST', `/accounts/${account.id}/keys`, { name: 'one more' });

  it('is at most 1,000 that are valid; an account that has more keeps them, and may replace them', async () => {
    account = await g.createAccount();
    await insert('a', 1_100, '2 days', null);
    const refused = await make();
    assert.equal(refused.status, 409);
    assert.match(refused.body.error.message, /1000 active keys/);
    const call = await fetch(`${g.url}/v1/models`, { headers: { authorization: `Bearer ${account.key}` } });
    assert.equal(call.status, 200);
    const replaced = await g.admin('POST', '/keys/key_a000001/replacement', { keepOldSeconds: 0 });
    assert.equal(replaced.status, 201, JSON.stringify(replaced.body));
    const other = await g.createAccount();
    assert.equal((await g.admin('POST', `/accounts/${other.id}/keys`, { name: 'of another' })).status, 201);
  });

  it('is at most 1,000 that are created in a day, whatever their state', async () => {
    account = await g.createAccount();
    await insert('b', 999, '2 hours', '1 minute');
    const refused = await make();
    assert.equal(refused.status, 409);
    assert.match(refused.body.error.message, /1000 keys were created for the account within a day/);
  });
});
