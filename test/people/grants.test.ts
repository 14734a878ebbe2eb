import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NEW_SIGN_IN_MS } from '../../src/people/grants.ts';
import { createTestClock } from '../support/clock.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, sessionOf, signIn, type TestPerson, tokenOf } from '../support/people.ts';

/** Grants by tokens and sessions: no role above their own, and nothing outlives them unless somebody confirms it. */

type Headers = Record<string, string>;

const TOKEN_OF_THE_ENVIRONMENT: Headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
const PASSWORD = 'a password long enough';

describe(`a grant`, { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  let g: TestGateway;
  let names = 0;
  before(async () => {
    g = await startGateway({ clock });
  });
  after(() => g.stop());

  const admin = (method: string, path: string, body?: object, headers: Headers = TOKEN_OF_THE_ENVIRONMENT) =>
    ask(g, method, `/admin/v1${path}`, body, headers);
  const name = (what: string): string => `${what} ${++names}`;
  const here = () => ({ authorization: `Bearer ${g.localToken}` });
  const operator = () => createPerson(g, { name: name('Olga'), operatorRole: 'operator' });

  /** A named token, by default created at the command line. */
  async function createToken(given: object = { role: 'operator' }, by: Record<string, string> = here()) {
    const made = await admin('POST', '/tokens', { name: name('deploy'), ...given }, by);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return { id: made.body.id as string, headers: { authorization: `Bearer ${made.body.token}` } };
  }

  /** A user created by somebody, who signs in with the link. */
  async function made(by: Headers, given: object = {}) {
    const response = await admin('POST', '/users', { name: name('Lin'), ...given }, by);
    assert.equal(response.status, 201, JSON.stringify(response.body));
    const used = await ask(g, 'POST', '/links/use', { token: tokenOf(response.body.link), password: PASSWORD });
    assert.equal(used.status, 201, JSON.stringify(used.body));
    return { id: response.body.id as string, name: response.body.name as string, headers: sessionOf(used) };
  }
  const who = async ({ headers }: { readonly headers: Headers }) =>
    (await ask(g, 'GET', '/session', undefined, headers)).status;
  const signsIn = async ({ name }: { readonly name: string }) =>
    (await ask(g, 'POST', '/sessions', { user: name, password: PASSWORD })).status;
  const revoke = async (id: string, query = '', by: Headers = here()) =>
    (await admin('DELETE', `/tokens/${id}${query}`, undefined, by)).status;
  const read = async (id: string) => (await admin('GET', `/users/${id}`)).body;

  it('by a token is neither a user’s role nor access to a user with a role', async () => {
    const [olga, auditor] = [await operator(), await createPerson(g, { operatorRole: 'auditor' })];
    const suspended = await operator();
    assert.equal((await admin('PATCH', `/users/${suspended.id}`, { status: 'suspended' })).status, 200);
    const plain = await createPerson(g);
    const tokens: Headers[] = [
      TOKEN_OF_THE_ENVIRONMENT,
      (await createToken()).headers,
      (await createToken({ role: 'operator', scopes: ['export'] })).headers,
    ];
    const before = JSON.stringify((await admin('GET', '/users?operators=true')).body);
    for (const headers of tokens) {
      for (const [method, path, body] of [
        ['POST', '/users', { name: 'mallory', operatorRole: 'operator' }],
        ['PATCH', `/users/${plain.id}`, { operatorRole: 'operator' }],
        ['PATCH', `/users/${plain.id}`, { operatorRole: 'auditor' }],
        ['PATCH', `/users/${auditor.id}`, { operatorRole: 'operator' }],
        ['PATCH', `/users/${olga.id}`, { email: 'mallory@people.example' }],
        ['PATCH', `/users/${olga.id}`, { email: null, name: 'mallory' }],
        ['PATCH', `/users/${auditor.id}`, { email: 'mallory@people.example' }],
        ['PATCH', `/users/${suspended.id}`, { status: 'active' }],
        ['POST', `/users/${olga.id}/links`, undefined],
        ['POST', `/users/${auditor.id}/links`, undefined],
        ['POST', `/users/${plain.id}/confirm`, undefined],
      ] as const) {
        const { status, body: response } = await admin(method, path, body, headers);
        assert.deepEqual(
          [status, response.error.code],
          [403, 'permission_denied'],
          `${method} ${path} ${JSON.stringify(body)}`,
        );
      }
    }
    assert.equal(JSON.stringify((await admin('GET', '/users?operators=true')).body), before);
    // Removals, and changes of users without a role, still work.
    assert.equal((await admin('PATCH', `/users/${plain.id}`, { email: 'new@people.example' })).status, 200);
    assert.equal((await admin('PATCH', `/users/${auditor.id}`, { operatorRole: null })).status, 200);
    assert.equal((await admin('POST', `/users/${plain.id}/links`)).status, 201);
    assert.equal(
      (await admin('POST', '/users', { name: 'by the machine', operatorRole: 'operator' }, here())).status,
      201,
    );
  });

  it('by a token to a user ends with the token: sessions, sign-ins, links and account API keys', async () => {
    const account = await g.createAccount();
    const token = await createToken();
    const memberships = [{ accountId: account.id, role: 'owner' }];
    const lin = await made(token.headers, { memberships });
    assert.equal((await read(lin.id)).unconfirmedTokenId, token.id);
    const pending = await admin('POST', '/users', { name: name('Mo') }, token.headers);
    const keys = await admin('POST', `/accounts/${account.id}/keys`, { userId: lin.id, scopes: ['account'] });
    const key = { authorization: `Bearer ${keys.body.key}` };
    const invitation = await ask(g, 'POST', '/invitations', { role: 'owner' }, lin.headers);
    const invite = () =>
      ask(g, 'POST', '/links/use', { token: tokenOf(invitation.body.link), name: name('Ivy'), password: PASSWORD });
    const ivy = await invite();
    assert.equal((await read(ivy.body.user.id)).unconfirmedTokenId, token.id);
    const auditor = await made(token.headers, { operatorRole: 'auditor' });
    assert.equal((await admin('GET', '/accounts', undefined, auditor.headers)).status, 200);
    const open = await ask(g, 'POST', '/invitations', { role: 'owner' }, lin.headers);
    assert.equal((await ask(g, 'GET', '/keys', undefined, key)).status, 200);

    assert.equal(await revoke(token.id), 204);
    for (const person of [lin, auditor, { headers: sessionOf(ivy) }]) assert.equal(await who(person), 401);
    assert.equal(await signsIn(lin), 401);
    for (const link of [pending.body.link, open.body.link]) {
      assert.equal((await ask(g, 'POST', '/links/look', { token: tokenOf(link) })).status, 404);
    }
    assert.equal((await ask(g, 'GET', '/keys', undefined, key)).status, 401);
    assert.equal((await read(lin.id)).status, 'suspended');

    // Another token cannot restore a user; an operator can, which also confirms the user.
    const other = await createToken();
    assert.equal((await admin('PATCH', `/users/${lin.id}`, { status: 'active' }, other.headers)).status, 403);
    assert.equal(
      (await admin('PATCH', `/users/${lin.id}`, { status: 'active' }, (await operator()).headers)).status,
      200,
    );
    assert.equal((await read(lin.id)).unconfirmedTokenId, null);
    assert.equal(await signsIn(lin), 201);
  });

  it('by a token remains if an operator confirmed it, or kept what the token created', async () => {
    const [first, second] = [await createToken(), await createToken()];
    const [kept, confirmed, promoted] = [
      await made(second.headers),
      await made(first.headers),
      await made(first.headers),
    ];
    const child = await createToken({ role: 'operator' }, second.headers);
    const olga = await operator();
    assert.equal((await admin('POST', `/users/${confirmed.id}/confirm`, undefined, olga.headers)).status, 200);
    assert.equal(
      (await admin('PATCH', `/users/${promoted.id}`, { operatorRole: 'operator' }, olga.headers)).status,
      200,
    );
    assert.equal(await revoke(first.id), 204);
    assert.deepEqual([await who(confirmed), await who(promoted)], [200, 200]);
    assert.equal(await revoke(second.id, '?keepMade=true', child.headers), 403);
    assert.equal(await revoke(second.id, '?keepMade=true', olga.headers), 204);
    assert.equal(await who(kept), 200);
    assert.equal((await admin('GET', '/accounts', undefined, child.headers)).status, 200);
    assert.equal((await admin('POST', '/users/usr_none/confirm', undefined, here())).status, 404);
  });

  it('through a token’s link makes the user depend on the token', async () => {
    const lin: TestPerson = await createPerson(g, { name: name('Lin') });
    const token = await createToken();
    const reset = async () =>
      tokenOf((await admin('POST', `/users/${lin.id}/links`, undefined, token.headers)).body.link);
    const used = await ask(g, 'POST', '/links/use', { token: await reset(), password: PASSWORD });
    assert.equal(used.status, 201);
    const unused = await reset();
    assert.equal(await revoke(token.id), 204);
    assert.equal(await who({ headers: sessionOf(used) }), 401);
    assert.equal((await ask(g, 'POST', '/links/use', { token: unused, password: PASSWORD })).status, 404);
  });

  it('by a token to a token ends with it, and has no higher role', async () => {
    const first = await createToken();
    const second = await createToken({ role: 'operator' }, first.headers);
    const third = await createToken({ role: 'auditor' }, second.headers);
    const ofThird = await made(second.headers);
    const status = async ({ headers }: { readonly headers: Headers }) =>
      (await admin('GET', '/accounts', undefined, headers)).status;
    assert.equal((await admin('POST', '/tokens', { name: 'x', scopes: ['export'] }, first.headers)).status, 403);
    assert.equal((await admin('POST', '/tokens', { name: 'x', scopes: ['export'] })).status, 403);
    assert.deepEqual([await status(second), await status(third)], [200, 200]);
    assert.equal(await revoke(first.id), 204);
    assert.deepEqual([await status(second), await status(third), await who(ofThird)], [401, 401, 401]);
  });

  it('by a token ends with the next housekeeping after the token expires', async () => {
    const token = await createToken({ role: 'operator', expiresAt: new Date(clock.nowMs() + 60_000).toISOString() });
    const child = await createToken({ role: 'operator' }, token.headers);
    const lin = await made(token.headers);
    await g.gateway.housekeeping.round();
    assert.equal(await who(lin), 200);
    clock.advance(60_000);
    await g.gateway.housekeeping.round();
    assert.deepEqual([await who(lin), await signsIn(lin)], [401, 401]);
    assert.equal((await admin('GET', '/accounts', undefined, child.headers)).status, 401);
  });

  it('made while the token ends does not outlive it', async () => {
    const token = await createToken();
    const insert = g.observed.statement('users.insert');
    insert.hold();
    const reached = insert.reached(insert.asked + 1);
    const making = admin('POST', '/users', { name: name('Lin') }, token.headers);
    await reached;
    const revoking = revoke(token.id);
    insert.release();
    const [{ status, body }] = await Promise.all([making, revoking]);
    assert.ok(status === 201 || status === 401, String(status));
    if (status === 201) assert.equal((await read(body.id)).status, 'suspended');
  });

  it('by a session requires a recent sign-in if it gives full access', async () => {
    const olga = await operator();
    const other = await operator();
    const plain = await createPerson(g);
    const exported = async ({ headers }: { readonly headers: Headers }) => {
      const response = await fetch(`${g.url}/admin/v1/export`, { method: 'POST', headers });
      const text = await response.text();
      return response.status === 200 ? 200 : JSON.parse(text).error.code;
    };
    assert.equal(await exported(olga), 200);
    clock.advance(NEW_SIGN_IN_MS);
    assert.equal(await exported(olga), 'sign_in_again');
    for (const [method, path, body] of [
      ['POST', '/users', { name: 'mallory', operatorRole: 'operator' }],
      ['PATCH', `/users/${plain.id}`, { operatorRole: 'operator' }],
      ['PATCH', `/users/${other.id}`, { email: 'mallory@people.example' }],
      ['POST', `/users/${other.id}/links`, undefined],
      ['POST', `/users/${olga.id}/links`, undefined],
      ['POST', '/tokens', { name: 'mallory', scopes: ['export'] }],
    ] as const) {
      const { status, body: response } = await admin(method, path, body, olga.headers);
      assert.deepEqual([status, response.error?.code], [403, 'sign_in_again'], `${method} ${path}`);
    }
    assert.equal((await admin('POST', `/users/${plain.id}/links`, undefined, olga.headers)).status, 201);
    assert.equal(await exported({ headers: await signIn(g, olga) }), 200);
    assert.equal(await exported(olga), 'sign_in_again');
  });

  it('to a token with the scope export allows only exports, which the audit log records', async () => {
    const token = await createToken({ scopes: ['export'] }, (await operator()).headers);
    const listed = (await admin('GET', '/tokens?limit=1')).body.data[0];
    assert.deepEqual([listed.role, listed.scopes], [null, ['export']]);
    const response = await fetch(`${g.url}/admin/v1/export`, { method: 'POST', headers: token.headers });
    assert.equal(response.status, 200);
    assert.match(await response.text(), /^\{/);
    for (const [method, path] of [
      ['GET', '/accounts'],
      ['POST', '/accounts'],
      ['GET', '/changes'],
      ['POST', '/audit'],
      ['POST', '/tokens'],
    ] as const) {
      const refused = await admin(method, path, method === 'POST' ? { name: 'x' } : undefined, token.headers);
      assert.equal(refused.status, 403, path);
    }
    assert.equal((await fetch(`${g.url}/metrics`, { headers: token.headers })).status, 403);
    const [row] = (await admin('GET', `/changes?action=export&actorId=${token.id}`)).body.data;
    assert.equal(row.actor.id, token.id);
  });
});
