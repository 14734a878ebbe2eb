import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createIds } from '../../src/lib/ids.ts';
import { createSessionStore } from '../../src/people/session-store.ts';
import { createTestClock } from '../support/clock.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, sessionOf, signIn, tokenOf } from '../support/people.ts';

const OPERATOR = { authorization: `Bearer ${ADMIN_TOKEN}` };
const DAY_MS = 86_400_000;

describe(`sessions`, () => {
  let g: TestGateway;
  const clock = createTestClock('2026-11-20T12:00:00Z');

  before(async () => {
    g = await startGateway({ clock });
  });
  after(() => g.stop());

  it('begin with an e-mail address or name, in any case, and the password', async () => {
    const person = await createPerson(g);
    const response = await ask(g, 'POST', '/sessions', {
      user: ` ${person.email.toUpperCase()}`,
      password: person.password,
    });
    assert.equal(response.status, 201);
    assert.deepEqual(response.body.user, { id: person.id, email: person.email, name: 'Lin', hasPassword: true });
    assert.equal(response.body.billingTimezone, 'Asia/Shanghai');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.match(
      response.headers.get('set-cookie')!,
      /^faregate_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const named = await g.admin('POST', '/users', { name: 'Wei of Chengdu' });
    const token = tokenOf(named.body.link);
    await ask(g, 'POST', '/links/use', { token, password: 'the password of Wei' });
    const wei = await ask(g, 'POST', '/sessions', { user: 'wei OF chengdu', password: 'the password of Wei' });
    assert.equal(wei.body.user.id, named.body.id);
    const { body } = await ask(g, 'GET', '/session', undefined, sessionOf(wei));
    assert.deepEqual(body, wei.body);
    for (const [path, headers] of [
      ['/session', sessionOf(wei)],
      ['/plans', sessionOf(wei)],
      ['/admin/v1/users', OPERATOR],
    ] as const) {
      const kept = await ask(g, 'GET', path, undefined, headers);
      assert.equal(kept.headers.get('cache-control'), 'no-store', path);
    }
  });

  it('do not begin for anybody else; all failures get the same response', async () => {
    const person = await createPerson(g);
    const suspended = await createPerson(g);
    await g.admin('PATCH', `/users/${suspended.id}`, { status: 'suspended' });
    const fresh = await g.admin('POST', '/users', {
      name: 'New',
      email: `${randomBytes(4).toString('hex')}@x.example`,
    });
    const attempts = [
      { user: person.email, password: 'a wrong password' },
      { user: 'nobody@people.example', password: person.password },
      { user: suspended.email, password: suspended.password },
      { user: fresh.body.email, password: 'a wrong password' },
    ];
    for (const attempt of attempts) {
      const { status, body, headers } = await ask(g, 'POST', '/sessions', attempt);
      assert.equal(status, 401);
      assert.deepEqual(body.error, {
        code: 'sign_in_failed',
        message: 'The e-mail address or name, or the password, is wrong.',
        param: null,
      });
      assert.equal(headers.get('set-cookie'), null);
    }
  });

  it('do not begin for names that the database cannot store', async () => {
    for (const user of ['a zero\u0000byte', 'half a pair \ud800']) {
      const { status, body } = await ask(g, 'POST', '/sessions', { user, password: 'whatever it is' });
      assert.deepEqual([status, body.error.param], [400, 'user']);
    }
  });

  it('are refused after too many attempts, only for that user and network', async () => {
    const [person, other] = [await createPerson(g), await createPerson(g)];
    const wrong = { user: person.email, password: 'a wrong password' };
    const tried = [];
    for (let i = 0; i < 10; i++) tried.push((await ask(g, 'POST', '/sessions', wrong)).status);
    assert.deepEqual(tried, Array(10).fill(401));
    const refused = await ask(g, 'POST', '/sessions', { user: person.email, password: person.password });
    assert.equal(refused.status, 429);
    assert.equal(refused.body.error.code, 'too_many_attempts');
    const seconds = Number(refused.headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 30, `retry-after: ${seconds}`);
    await signIn(g, other);
    // Signed-in users are not affected.
    assert.equal((await ask(g, 'GET', '/session', undefined, person.headers)).status, 200);
  });

  it('are overridden by a token', async () => {
    const operator = await createPerson(g, { operatorRole: 'operator' });
    const member = await createPerson(g);
    const wrongToken = { ...operator.headers, authorization: 'Bearer wrong' };
    assert.equal((await ask(g, 'GET', '/admin/v1/accounts', undefined, wrongToken)).status, 401);
    const both = { ...member.headers, ...OPERATOR };
    assert.equal((await ask(g, 'GET', '/admin/v1/accounts', undefined, both)).status, 200);
  });

  it('change nothing for pages of other sites', async () => {
    const operator = await createPerson(g, { operatorRole: 'operator' });
    const { cookie } = operator.headers;
    const create = (headers: Record<string, string>) =>
      ask(g, 'POST', '/admin/v1/accounts', { name: 'made' }, { cookie, ...headers });
    assert.equal((await create({ 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await create({ origin: 'https://evil.example' })).status, 403);
    assert.equal((await create({ origin: g.url })).status, 201);
    assert.equal((await create({})).status, 201);
    // Browsers do not send tokens by themselves.
    const byToken = await ask(
      g,
      'POST',
      '/admin/v1/accounts',
      { name: 'made' },
      { ...OPERATOR, 'sec-fetch-site': 'cross-site' },
    );
    assert.equal(byToken.status, 201);
    // A page of another site cannot sign its victim in as somebody else.
    const signedIn = await ask(
      g,
      'POST',
      '/sessions',
      { user: operator.email, password: operator.password },
      { 'sec-fetch-site': 'cross-site' },
    );
    assert.equal(signedIn.status, 403);
    assert.equal(signedIn.headers.get('set-cookie'), null);
  });

  it('end by signing out, from this browser or everywhere', async () => {
    const person = await createPerson(g);
    const second = await signIn(g, person);
    // Lists are in time order.
    clock.advance(1);
    const third = await signIn(g, person);
    const who = (headers: Record<string, string>) => ask(g, 'GET', '/session', undefined, headers);
    const out = await ask(g, 'DELETE', '/session', undefined, second);
    assert.equal(out.status, 204);
    assert.match(out.headers.get('set-cookie')!, /^faregate_session=; Max-Age=0;/);
    assert.equal((await who(second)).status, 401);
    const { body } = await ask(g, 'GET', '/sessions', undefined, third);
    assert.deepEqual(
      body.data.map(({ isThisOne }: { isThisOne: boolean }) => isThisOne),
      [true, false],
    );
    assert.equal(body.data[0].clientAddress, '127.0.0.1');
    await ask(g, 'DELETE', `/sessions/${body.data[1].id}`, undefined, third);
    assert.equal((await who(person.headers)).status, 401);
    const elsewhere = await signIn(g, person);
    assert.equal((await ask(g, 'DELETE', '/sessions?keepThis=true', undefined, third)).status, 204);
    assert.equal((await who(elsewhere)).status, 401);
    assert.equal((await who(third)).body.user.hasPassword, true);
    const fourth = await signIn(g, person);
    assert.equal((await ask(g, 'DELETE', '/sessions', undefined, third)).status, 204);
    assert.equal((await who(third)).status, 401);
    assert.equal((await who(fourth)).status, 401);
  });

  it('of others cannot be ended', async () => {
    const [person, other] = [await createPerson(g), await createPerson(g)];
    const { body } = await ask(g, 'GET', '/sessions', undefined, other.headers);
    const ended = await ask(g, 'DELETE', `/sessions/${body.data[0].id}`, undefined, person.headers);
    assert.equal(ended.status, 404);
    assert.equal((await ask(g, 'GET', '/session', undefined, other.headers)).status, 200);
  });

  it('end with a password change, except for the one that makes it', async () => {
    const person = await createPerson(g);
    const other = await signIn(g, person);
    const change = (body: object) => ask(g, 'PUT', '/password', body, person.headers);
    const next = 'another long password';
    const wrong = await change({ currentPassword: 'a wrong password', password: next });
    assert.deepEqual([wrong.status, wrong.body.error.code], [403, 'password_wrong']);
    assert.equal((await change({ currentPassword: person.password, password: 'too short' })).status, 400);
    assert.equal((await change({ currentPassword: person.password, password: person.email })).status, 400);
    assert.equal((await change({ currentPassword: person.password, password: next })).status, 204);
    assert.equal((await ask(g, 'GET', '/session', undefined, other)).status, 401);
    assert.equal((await ask(g, 'GET', '/session', undefined, person.headers)).status, 200);
    assert.equal((await ask(g, 'POST', '/sessions', { user: person.email, password: person.password })).status, 401);
    await signIn(g, { email: person.email, password: next });
  });

  it('end after inactivity, and after their maximum time', async () => {
    const person = await createPerson(g);
    const who = async (headers: Record<string, string>) => (await ask(g, 'GET', '/session', undefined, headers)).status;
    clock.advance(7 * DAY_MS - 1);
    assert.equal(await who(person.headers), 200);
    for (let days = 0; days < 22; days += 1) {
      clock.advance(DAY_MS);
      assert.equal(await who(person.headers), 200, `after ${days} more days`);
    }
    clock.advance(DAY_MS + 1);
    assert.equal(await who(person.headers), 401);
    const idle = await signIn(g, person);
    clock.advance(7 * DAY_MS);
    assert.equal(await who(idle), 401);
  });

  it('are limited to fifty per user', async () => {
    const person = await createPerson(g);
    const times = () => ({ idleMs: DAY_MS, maxMs: DAY_MS });
    const store = createSessionStore(g.database, times);
    const ids = createIds(clock);
    const session = { userId: person.id, clientAddress: '127.0.0.1', userAgent: null, authenticatedAtMs: null };
    for (let i = 0; i < 49; i++) {
      clock.advance(1);
      const begun = { ...session, id: ids.next('ses'), tokenHash: randomBytes(32), atMs: clock.nowMs() };
      assert.equal(await store.begin(begun, null), true);
    }
    const who = async () => (await ask(g, 'GET', '/session', undefined, person.headers)).status;
    assert.equal(await who(), 200);
    clock.advance(1);
    const last = await signIn(g, person);
    assert.equal(await who(), 401);
    const { body } = await ask(g, 'GET', '/sessions', undefined, last);
    assert.equal(body.data.length, 50);
  });

  it('are refused immediately on every node once they end', async () => {
    const database = g.stored.openAnother();
    await using node = await startGateway({
      stored: g.stored,
      database,
      clock,
      server: 'trustedProxies: [127.0.0.1],',
    });
    const account = await g.createAccount();
    const memberships = [{ accountId: account.id, role: 'owner' } as const];
    const there = async (path: string, headers: Record<string, string>) =>
      (await ask(node, 'GET', path, undefined, headers)).status;
    const created = { operatorRole: 'operator', memberships } as const;
    const [signedOut, suspended, removed] = [
      await createPerson(g, created),
      await createPerson(g, created),
      await createPerson(g, created),
    ];
    for (const { headers } of [signedOut, suspended, removed]) {
      assert.deepEqual([await there('/account', headers), await there('/admin/v1/users', headers)], [200, 200]);
    }
    await ask(g, 'DELETE', '/session', undefined, signedOut.headers);
    assert.equal(await there('/account', signedOut.headers), 401);
    await g.admin('PATCH', `/users/${suspended.id}`, { status: 'suspended' });
    assert.equal(await there('/account', suspended.headers), 401);
    await g.admin('DELETE', `/accounts/${account.id}/members?userId=${removed.id}`);
    assert.equal(await there('/account', removed.headers), 403);
    await g.admin('PATCH', `/users/${removed.id}`, { operatorRole: null });
    assert.equal(await there('/admin/v1/users', removed.headers), 403);
    // A trusted proxy reports whether clients use https.
    const password = { user: removed.email, password: removed.password };
    const proxied = await ask(node, 'POST', '/sessions', password, { 'x-forwarded-proto': 'https' });
    assert.match(proxied.headers.get('set-cookie')!, /^__Host-.*; Secure$/);
    const untrusted = await ask(g, 'POST', '/sessions', password, { 'x-forwarded-proto': 'https' });
    assert.match(untrusted.headers.get('set-cookie')!, /^faregate_session=.*SameSite=Lax$/);
  });

  it('have a cookie name bound to the host if clients use https', async () => {
    const database = g.stored.openAnother();
    await using secure = await startGateway({
      stored: g.stored,
      database,
      clock,
      server: 'publicUrl: https://gateway.example,',
    });
    const person = await createPerson(g);
    const response = await ask(secure, 'POST', '/sessions', { user: person.email, password: person.password });
    assert.match(
      response.headers.get('set-cookie')!,
      /^__Host-faregate_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const { cookie } = sessionOf(response);
    assert.equal((await ask(secure, 'GET', '/session', undefined, { cookie })).status, 200);
    // A neighboring host can set only the plain name.
    const plain = cookie.replace('__Host-', '');
    assert.equal((await ask(secure, 'GET', '/session', undefined, { cookie: plain })).status, 401);
    const made = await secure.admin('POST', '/users', { name: 'Linked', email: 'linked@people.example' });
    assert.match(made.body.link, /^https:\/\/gateway\.example\/console#\/welcome\?token=[\w-]{43}$/);
    assert.equal(made.body.linkHint, null);
  });
});
