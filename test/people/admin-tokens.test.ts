import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createIds } from '../../src/lib/ids.ts';
import {
  ACTIVE_TOKENS_MAX,
  createAdminToken,
  hashAdminToken,
  isAdminToken,
  shownAdminToken,
} from '../../src/people/admin-token.ts';
import { createAdminTokensStore, type NewAdminToken } from '../../src/people/admin-tokens-store.ts';
import { removeSecrets } from '../../src/providers/upstream/secrets.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

/** Named admin tokens: what they allow, and when they end. */

describe('the text of an admin token', () => {
  it('is recognized for any random part, and hidden in quoted texts', () => {
    const token = createAdminToken(randomFillSync);
    assert.match(token, /^fg_admin_[0-9A-Za-z]{38}$/);
    assert.equal(isAdminToken(token), true);
    assert.equal(isAdminToken(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`), false);
    assert.equal(isAdminToken(token.replace('fg_admin_', 'sk-fg-')), false);
    assert.equal(removeSecrets(`The token ${token} is wrong.`, []), 'The token [key] is wrong.');
    const shown = shownAdminToken(token);
    assert.equal(shown.length, 'fg_admin_'.length + 5);
    assert.equal(removeSecrets(shown, []), shown);
  });
});

describe(`the store of admin tokens`, { timeout: 60_000 }, () => {
  const ids = createIds({ nowMs: () => 1_000 });
  const at = new Date('2026-11-20T12:00:00Z');
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored.remove());

  const token = (name: string, given: Partial<NewAdminToken> = {}): NewAdminToken => ({
    id: ids.next('tok'),
    name,
    role: 'auditor',
    scopes: [],
    madeByTokenId: null,
    tokenHash: hashAdminToken(createAdminToken(randomFillSync)),
    prefix: 'fg_admin_Ab12…',
    createdBy: 'command line',
    expiresAt: null,
    at,
    ...given,
  });

  it('keeps names of active tokens unique and limits their number, even with concurrent requests', async () => {
    const store = createAdminTokensStore(stored.database);
    const racing = await Promise.all(Array.from({ length: 8 }, () => store.insert(token('ci'))));
    assert.equal(racing.filter((result) => result === 'name_taken').length, 7);

    // An expired or revoked token frees its name and its place.
    const early = new Date(at.getTime() - 1);
    const expired = await store.insert(token('short', { at: new Date(early.getTime() - 1), expiresAt: early }));
    const anew = await store.insert(token('short'));
    assert.ok(typeof expired === 'object' && typeof anew === 'object');
    assert.deepEqual((await store.find(expired.id))?.revokedAt, early);
    assert.equal(await store.revoke(anew.id, at, false), true);
    assert.equal(await store.revoke(anew.id, new Date(at.getTime() + 5), false), true);
    assert.deepEqual((await store.find(anew.id))?.revokedAt, at);
    assert.equal(await store.revoke('tok_none', at, false), false);

    for (let n = 1; n < ACTIVE_TOKENS_MAX - 3; n++) await store.insert(token(`program ${n}`));
    const last = await Promise.all(Array.from({ length: 6 }, (_, n) => store.insert(token(`last ${n}`))));
    assert.equal(last.filter((result) => result === 'too_many').length, 3);
  });

  it('finds a token by its text until it expires or is revoked, and records its use once a minute', async () => {
    const store = createAdminTokensStore(stored.database);
    // Ids of one instant have no order, so the first token may be revoked already and frees no place.
    const living = (await store.list(null, 500)).find(({ revokedAt }) => revokedAt === null);
    await store.revoke(living!.id, at, false);
    const text = createAdminToken(randomFillSync);
    const expiresAt = new Date(at.getTime() + 1_000);
    const made = await store.insert(token('found', { tokenHash: hashAdminToken(text), expiresAt }));
    assert.ok(typeof made === 'object');
    const find = (ms: number) => store.findActive(hashAdminToken(text), at.getTime() + ms);
    assert.deepEqual(await find(999), made);
    assert.equal(await find(1_000), null);
    await store.noteUse(made.id, at.getTime(), at.getTime() - 60_000);
    await store.noteUse(made.id, at.getTime() + 59_999, at.getTime() - 1);
    assert.deepEqual((await find(0))?.lastUsedAt, at);
    await store.noteUse(made.id, at.getTime() + 60_000, at.getTime());
    assert.deepEqual((await find(0))?.lastUsedAt, new Date(at.getTime() + 60_000));
    await store.revoke(made.id, at, false);
    assert.equal(await find(0), null);
  });
});

describe(`admin tokens`, { timeout: 60_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock });
  });
  after(() => g.stop());

  async function create(name: string, given: object = {}): Promise<{ id: string; token: string; role: string }> {
    const { status, body } = await g.admin('POST', '/tokens', { name, ...given });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }
  const withToken = (token: string) => ({ authorization: `Bearer ${token}` });
  const statusOf = async (token: string, path = '/accounts', url = g.url) =>
    (await fetch(`${url}/admin/v1${path}`, { headers: withToken(token) })).status;

  it('are shown once, and refused immediately on every node when revoked', async () => {
    const node = await startGateway({ stored: g.stored, database: g.stored.openAnother() });
    const { id, token, role } = await create('nightly report');
    assert.equal(role, 'auditor');
    const listed = await g.admin('GET', '/tokens');
    assert.ok(!JSON.stringify(listed.body).includes(token));
    assert.equal(listed.body.data[0].prefix, shownAdminToken(token));
    assert.equal(await statusOf(token, '/accounts', g.url), 200);
    assert.equal(await statusOf(token, '/accounts', node.url), 200);
    assert.equal((await g.admin('DELETE', `/tokens/${id}`)).status, 204);
    assert.equal(await statusOf(token, '/accounts', node.url), 401);
    assert.equal(await statusOf(token, '/accounts', g.url), 401);
    assert.equal((await g.admin('DELETE', '/tokens/tok_none')).status, 404);
    await node.stop();
  });

  it('are refused from the instant of their expiry on, which must be in the future', async () => {
    const expiresAt = new Date(clock.nowMs() + 60_000).toISOString();
    const { token } = await create('short', { expiresAt });
    assert.equal(await statusOf(token), 200);
    clock.advance(60_000);
    assert.equal(await statusOf(token), 401);
    assert.equal((await g.admin('POST', '/tokens', { name: 'late', expiresAt })).status, 422);
    await create('short');
    assert.equal((await g.admin('POST', '/tokens', { name: 'short' })).status, 409);
  });

  // `walk.test.ts` tests every endpoint as an auditor.
  it('let an auditor read everything, including metrics, and change nothing', async () => {
    const { token } = await create('grafana', { role: 'auditor' });
    assert.equal((await fetch(`${g.url}/metrics`, { headers: withToken(token) })).status, 200);
    assert.equal((await fetch(`${g.url}/metrics`, { headers: withToken(`${token}x`) })).status, 401);
    const { status, body } = await g.admin('POST', '/accounts', { name: 'x' }, withToken(token));
    assert.deepEqual([status, body.error.code], [403, 'permission_denied']);
  });

  it('give an operator the rights of the environment’s token, under its own name', async () => {
    const { token, id } = await create('deploy', { role: 'operator' });
    const made = await g.admin('POST', '/tokens', { name: 'made by deploy', role: 'operator' }, withToken(token));
    const { createdBy, createdById } = made.body;
    assert.deepEqual([made.status, createdBy, createdById], [201, `deploy (${id})`, id]);
    const named = await g.admin('POST', '/routes/drain', { provider: 'chatty', by: 'Ada' }, withToken(token));
    assert.deepEqual([named.body.by, named.body.byId], [`deploy (${id})`, id]);
    await g.admin('POST', '/routes/resume', { provider: 'chatty' });
    const said = await g.admin('POST', '/routes/drain', { provider: 'chatty', by: `deploy (${id})` });
    assert.deepEqual([said.body.by, said.body.byId], [`deploy ${id})`, null]);
    await g.admin('POST', '/routes/resume', { provider: 'chatty' });
    assert.equal((await g.admin('POST', '/export', undefined, withToken(token))).status, 403);
  });

  it('record their last use after the request', async () => {
    const { id, token } = await create('used');
    const lastUse = async () => {
      const { body } = await g.admin('GET', '/tokens');
      return body.data.find((each: { id: string }) => each.id === id).lastUsedAt;
    };
    assert.equal(await lastUse(), null);
    await statusOf(token);
    const usedAt = new Date(clock.nowMs()).toISOString();
    await until(async () => (await lastUse()) === usedAt);
    clock.advance(60_000);
    await statusOf(token);
    const again = new Date(clock.nowMs()).toISOString();
    await until(async () => (await lastUse()) === again);
  });
});
