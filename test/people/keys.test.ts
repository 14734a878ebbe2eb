import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ACCOUNT_SUSPENDED } from '../../src/accounting/accounts/status-store.ts';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { type AdminResponse, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson } from '../support/people.ts';

/** Scopes, owners and replacement of keys. */

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe(`scopes and replacements of keys`, { timeout: 300_000 }, () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let g: TestGateway;
  let account: TestAccount;
  before(async () => {
    g = await startGateway({ clock });
    account = await g.createAccount();
  });
  after(() => g.stop());

  const create = (body: object, id = account.id) => g.admin('POST', `/accounts/${id}/keys`, body);
  const chat = (key: string) => call(`${g.url}/v1/chat/completions`, key, hello);

  async function readAccount(key: string): Promise<AdminResponse> {
    const response = await fetch(`${g.url}/account/v1/account`, { headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, body: await response.json() };
  }

  it('a key is for calls by default', async () => {
    const { status, body } = await create({});
    assert.equal(status, 201);
    assert.deepEqual([body.scopes, body.userId], [['calls'], null]);
    assert.equal((await chat(body.key)).status, 200);
    const refused = await readAccount(body.key);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'permission_denied']);
    assert.match(refused.body.error.message, /scope "account"/);
  });

  it('a key with only the scope account is refused at all public endpoints', async () => {
    const { key } = (await create({ scopes: ['account'] })).body;
    assert.equal((await readAccount(key)).body.id, account.id);
    const asked = g.provider.requests.length;
    const refused = await chat(key);
    assert.deepEqual([refused.status, refused.json.error.code], [403, 'permission_denied']);
    assert.match(refused.json.error.message, /scope "calls"/);
    for (const path of ['/v1/models', '/v1/user/balance']) {
      const response = await fetch(g.url + path, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(response.status, 403, path);
    }
    assert.equal(g.provider.requests.length, asked);
  });

  it('a key may have both scopes; duplicate and unknown scopes are refused', async () => {
    const { body } = await create({ scopes: ['calls', 'account'] });
    assert.deepEqual([(await chat(body.key)).status, (await readAccount(body.key)).status], [200, 200]);
    for (const scopes of [[], ['calls', 'calls'], ['admin'], 'calls']) {
      const refused = await create({ scopes });
      assert.deepEqual([refused.status, refused.body.error.param?.split('.')[0]], [400, 'scopes'], String(scopes));
    }
    const { data } = (await g.admin('GET', `/accounts/${account.id}/keys`)).body;
    assert.deepEqual(data.find((key: { id: string }) => key.id === body.id).scopes, ['calls', 'account']);
  });

  it('a revoked or expired key, one of a suspended account, or one from a disallowed network cannot use the account API', async () => {
    const own = await g.createAccount();
    const scopes = ['account'];
    const revoked = (await create({ scopes }, own.id)).body;
    const expiring = (await create({ scopes, expiresAt: '2026-11-20T05:00:00Z' }, own.id)).body;
    const elsewhere = (await create({ scopes, allowedNetworks: ['192.0.2.0/24'] }, own.id)).body;
    const steady = (await create({ scopes }, own.id)).body;
    assert.equal((await readAccount(revoked.key)).status, 200);
    await g.admin('DELETE', `/keys/${revoked.id}`);
    clock.advance(3_600_000);
    const said = async (key: string) => {
      const { status, body } = await readAccount(key);
      return [status, body.error?.message];
    };
    assert.deepEqual(await said(revoked.key), [401, 'The API key has been revoked.']);
    assert.deepEqual(await said(expiring.key), [401, 'The API key has expired.']);
    assert.equal((await said(elsewhere.key))[0], 403);
    await g.admin('PATCH', `/accounts/${own.id}`, { verified: false });
    assert.equal((await readAccount(steady.key)).status, 200);
    await g.admin('PATCH', `/accounts/${own.id}`, { status: 'suspended' });
    assert.deepEqual(await said(steady.key), [401, ACCOUNT_SUSPENDED]);
  });

  it('a list can be filtered by status and by owner', async () => {
    const { id } = (await g.admin('POST', '/accounts', { name: 'with many keys' })).body;
    const expiresAt = new Date(clock.nowMs() + 60_000).toISOString();
    const active = (await create({}, id)).body.id;
    // Ids sort by time.
    clock.advance(1);
    const expired = (await create({ expiresAt }, id)).body.id;
    clock.advance(1);
    const revoked = (await create({ expiresAt }, id)).body.id;
    await g.admin('DELETE', `/keys/${revoked}`);
    const listed = async (query: string) => {
      const { status, body } = await g.admin('GET', `/accounts/${id}/keys${query}`);
      assert.equal(status, 200, query);
      return body.data.map((key: { id: string }) => key.id);
    };
    assert.deepEqual(await listed('?status=active'), [expired, active]);
    clock.advance(60_000);
    assert.deepEqual(await listed('?status=active'), [active]);
    assert.deepEqual(await listed('?status=expired'), [expired]);
    assert.deepEqual(await listed('?status=revoked'), [revoked]);
    assert.deepEqual(await listed(''), [revoked, expired, active]);
    const lin = await createPerson(g, { memberships: [{ accountId: id, role: 'member' }] });
    const own = (await create({ userId: lin.id }, id)).body.id;
    assert.deepEqual(await listed(`?userId=${lin.id}&status=active`), [own]);
    assert.deepEqual(await listed(`?userId=${lin.id}&status=revoked`), []);
    const asMember = await ask(g, 'GET', '/keys?userId=somebody', undefined, lin.headers);
    assert.deepEqual([asMember.status, asMember.body.data], [200, []]);
    assert.equal((await g.admin('GET', `/accounts/${id}/keys?status=lost`)).status, 400);
  });

  it('a replacement has the old key’s rights and continues its usage of limits', async () => {
    const limits = {
      name: 'server',
      scopes: ['calls', 'account'],
      dailyCalls: 2,
      totalSpendCapYuan: '5',
      requestsPerMinute: 50,
      modelLimits: { 'test-chat': { requestsPerMinute: 40 } },
      allowedModels: ['test-chat'],
      allowedNetworks: ['127.0.0.0/8'],
    };
    const old = (await create({ ...limits, expiresAt: '2026-11-21T00:00:00Z' })).body;
    assert.equal((await chat(old.key)).status, 200);
    await account.endedCall();

    const made = await g.admin('POST', `/keys/${old.id}/replacement`, { keepOldSeconds: 3_600 });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { key, replaces, ...shown } = made.body;
    const same = ({ name, dailyCalls, totalSpendCapYuan, requestsPerMinute, modelLimits, ...rest }: typeof shown) => [
      [name, dailyCalls, totalSpendCapYuan, requestsPerMinute, modelLimits],
      [rest.scopes, rest.userId, rest.allowedModels, rest.allowedNetworks],
    ];
    assert.deepEqual(same(shown), same(old));
    assert.deepEqual([shown.expiresAt, shown.accountId], [null, account.id]);
    assert.notEqual(key, old.key);
    assert.deepEqual(replaces, { id: old.id, validUntil: new Date(clock.nowMs() + 3_600_000).toISOString() });

    assert.deepEqual([(await chat(key)).status, (await chat(key)).status], [200, 429]);
    assert.equal((await chat(old.key)).status, 200);
    clock.advance(3_600_000);
    const late = await chat(old.key);
    assert.deepEqual([late.status, late.json.error.message], [401, 'The API key has expired.']);
  });

  it('a replaced key never ends later than before, and by default immediately', async () => {
    const soon = new Date(clock.nowMs() + 60_000).toISOString();
    const old = (await create({ expiresAt: soon })).body;
    const kept = await g.admin('POST', `/keys/${old.id}/replacement`, { keepOldSeconds: 7_200 });
    assert.equal(kept.body.replaces.validUntil, soon);

    assert.equal((await chat(kept.body.key)).status, 200);
    const next = await g.admin('POST', `/keys/${kept.body.id}/replacement`, {});
    assert.equal(next.status, 201);
    assert.equal((await chat(kept.body.key)).status, 401);
    assert.equal((await chat(next.body.key)).status, 200);
    const again = await g.admin('POST', `/keys/${kept.body.id}/replacement`, {});
    assert.deepEqual([again.status, again.body.error.code], [409, 'conflict_error']);
    assert.equal((await g.admin('POST', '/keys/key_none/replacement', {})).status, 404);
    const long = await g.admin('POST', `/keys/${next.body.id}/replacement`, { keepOldSeconds: 2_592_001 });
    assert.deepEqual([long.status, long.body.error.param], [400, 'keepOldSeconds']);
  });
});
