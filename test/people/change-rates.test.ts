import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CHANGE_RATES } from '../../src/changes/change-rates.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson } from '../support/people.ts';
import { sql } from '../support/sql.ts';

/** Limits of changes per actor and account; changes without effect leave no row. */

const { caller, account: ofAccount } = CHANGE_RATES;

describe(`changes of one actor`, { timeout: 120_000 }, () => {
  let elapsedMs = 0;
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ monotonicMs: () => elapsedMs });
  });
  after(() => g.stop());

  const rowsOf = async (subjectId: string) =>
    Number(
      (
        await sql<{ rows: string }>(g.database, `select count(*) as rows from changes where subject_id = $1`, [
          subjectId,
        ])
      )[0]!.rows,
    );

  async function keyOf(account: TestAccount) {
    const made = await g.admin('POST', `/accounts/${account.id}/keys`, { scopes: ['account'] });
    const headers = { authorization: `Bearer ${made.body.key}` };
    let n = 0;
    return {
      id: made.body.id as string,
      headers,
      /** Changes the key itself, differently each time. */
      change: () => ask(g, 'PATCH', `/keys/${made.body.id}`, { dailyCalls: ++n }, headers),
    };
  }

  it('are allowed up to a burst; then 429 with retry-after, and nothing is changed or recorded', async () => {
    const account = await g.createAccount();
    const key = await keyOf(account);
    for (let n = 0; n < caller.burst; n++) assert.equal((await key.change()).status, 200);
    const rows = await rowsOf(key.id);
    for (let n = 0; n < 5; n++) {
      const { status, headers, body } = await key.change();
      assert.deepEqual([status, body.error.code], [429, 'too_many_changes']);
      assert.equal(headers.get('retry-after'), String(caller.everyMs / 1_000));
      assert.match(body.error.message, /^Too many changes by .* Nothing was changed; try again in 15 s\.$/);
    }
    assert.equal(await rowsOf(key.id), rows);
    const read = await ask(g, 'GET', `/keys`, undefined, key.headers);
    assert.equal(read.body.data.find(({ id }: { id: string }) => id === key.id).dailyCalls, caller.burst);

    // Another key of the account, an operator, and removals are not affected.
    assert.equal((await (await keyOf(account)).change()).status, 200);
    assert.equal((await g.admin('PATCH', `/keys/${key.id}`, { name: 'renamed' })).status, 200);
    elapsedMs += caller.everyMs;
    assert.equal((await key.change()).status, 200);
    assert.equal((await key.change()).status, 429);
    assert.equal((await ask(g, 'DELETE', `/keys/${account.keyId}`, undefined, key.headers)).status, 204);
  });

  it('are also counted per account, over all its keys and users', async () => {
    const account = await g.createAccount();
    const keys = await Promise.all(Array.from({ length: 4 }, () => keyOf(account)));
    const made: number[] = [];
    for (let n = 0; n < caller.burst; n++) {
      for (const key of keys) {
        const { status } = await key.change();
        made.push(status);
        // More than 20 refusals a second are delayed. In this time, the limit of the account allows no further change.
        if (status === 429) elapsedMs += 40;
      }
    }
    assert.deepEqual(
      [made.filter((status) => status === 200).length, made.filter((status) => status === 429).length],
      [ofAccount.burst, keys.length * caller.burst - ofAccount.burst],
    );
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    assert.equal((await ask(g, 'PATCH', '/account', { name: 'mine' }, owner.headers)).status, 429);
    // An owner can still revoke the keys that caused it.
    for (const { id } of keys)
      assert.equal((await ask(g, 'DELETE', `/keys/${id}`, undefined, owner.headers)).status, 204);
    assert.equal((await (await keyOf(await g.createAccount())).change()).status, 200);
  });

  it('with an admin token may be thousands in a row', async () => {
    const token = (await g.admin('POST', '/tokens', { name: 'provisioning', role: 'operator' })).body.token;
    const headers = { authorization: `Bearer ${token}` };
    const { id } = await g.createAccount();
    for (let n = 0; n <= CHANGE_RATES.operator.burst; n++) {
      assert.equal((await g.admin('PATCH', `/accounts/${id}`, { name: `name ${n}` }, headers)).status, 200);
    }
  });

  it('leave no row if they set the values that the subject already has', async () => {
    elapsedMs += 86_400_000;
    const account = await g.createAccount();
    const key = await keyOf(account);
    const same = () => ask(g, 'PATCH', `/keys/${key.id}`, { dailyCalls: 7 }, key.headers);
    assert.equal((await same()).status, 200);
    // Clocks of nodes may differ, so changes in quick succession are recorded nevertheless.
    await sql(
      g.database,
      `update changes set begun_at = begun_at - interval '1 hour', ended_at = ended_at - interval '1 hour' where subject_id = $1`,
      [key.id],
    );
    const rows = await rowsOf(key.id);
    for (let n = 0; n < 3; n++) assert.equal((await same()).status, 200);
    assert.equal((await ask(g, 'DELETE', `/keys/${account.keyId}`, undefined, key.headers)).status, 204);
    assert.equal(await rowsOf(key.id), rows);
    assert.equal((await ask(g, 'PATCH', `/keys/${key.id}`, { dailyCalls: 8 }, key.headers)).status, 200);
    assert.equal(await rowsOf(key.id), rows + 1);
  });
});
