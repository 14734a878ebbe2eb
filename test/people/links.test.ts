import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, sessionOf, signIn, type TestPerson, tokenOf } from '../support/people.ts';

const HOUR_MS = 3_600_000;
const PASSWORD = 'a long enough password';

describe(`one-time links`, () => {
  let g: TestGateway;
  let accountId: string;
  let owner: TestPerson;
  const clock = createTestClock('2026-11-20T12:00:00Z');
  let made = 0;
  /** The network that attempts are counted for. */
  let nowMs = 0;

  before(async () => {
    g = await startGateway({ clock, monotonicMs: () => nowMs });
    accountId = (await g.createAccount()).id;
    owner = await createPerson(g, { memberships: [{ accountId, role: 'owner' }] });
  });
  // The limits of a test are reset before the next one.
  beforeEach(() => {
    nowMs += HOUR_MS;
  });
  after(() => g.stop());

  async function newUser(): Promise<{ id: string; token: string; email: string }> {
    const email = `new-${++made}@people.example`;
    const { status, body } = await g.admin('POST', '/users', { name: 'New', email });
    assert.equal(status, 201);
    return { id: body.id, token: tokenOf(body.link), email };
  }

  async function invite(body: object): Promise<string> {
    const response = await ask(g, 'POST', '/invitations', body, owner.headers);
    assert.equal(response.status, 201, JSON.stringify(response.body));
    return tokenOf(response.body.link);
  }

  const use = (body: object, headers = {}) => ask(g, 'POST', '/links/use', body, headers);
  const look = (token: string) => ask(g, 'POST', '/links/look', { token });

  it('show their purpose until they are used', async () => {
    const { token, email, id } = await newUser();
    assert.deepEqual((await look(token)).body, {
      kind: 'first_sign_in',
      email,
      name: 'New',
      accountName: null,
      role: null,
      expiresAt: new Date(clock.nowMs() + 7 * 24 * HOUR_MS).toISOString(),
    });
    const used = await use({ token, name: 'Renamed', password: PASSWORD });
    assert.deepEqual([used.status, used.body.user], [201, { id, email, name: 'Renamed', hasPassword: true }]);
    assert.equal((await ask(g, 'GET', '/session', undefined, sessionOf(used))).status, 200);
    assert.equal((await look(token)).status, 404);
    assert.equal((await use({ token, password: PASSWORD })).status, 404);
  });

  it('are used only once by two concurrent requests', async () => {
    const { token, email } = await newUser();
    const passwords = ['the first long password', 'the second long password'];
    const responses = await Promise.all(passwords.map((password) => use({ token, password })));
    const statuses = responses.map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [201, 404]);
    const signIns = [];
    for (const password of passwords)
      signIns.push((await ask(g, 'POST', '/sessions', { user: email, password })).status);
    assert.deepEqual(
      signIns,
      statuses.map((status) => (status === 201 ? 201 : 401)),
    );
  });

  it('are not used up by a password that the rules refuse', async () => {
    const { token, email } = await newUser();
    for (const password of ['short', email]) {
      assert.equal((await use({ token, password })).status, 400);
    }
    assert.equal((await use({ token })).status, 400);
    assert.equal((await use({ token, password: PASSWORD })).status, 201);
  });

  it('replace a password within the hour, and end all sessions', async () => {
    const person = await createPerson(g);
    const reset = async () => tokenOf((await g.admin('POST', `/users/${person.id}/links`)).body.link);
    const late = await reset();
    assert.equal((await look(late)).body.kind, 'reset');
    clock.advance(HOUR_MS);
    assert.equal((await use({ token: late, password: PASSWORD })).status, 404);
    const [earlier, token] = [await reset(), await reset()];
    assert.equal((await look(earlier)).status, 404);
    assert.equal((await use({ token, password: PASSWORD })).status, 201);
    assert.equal((await ask(g, 'GET', '/session', undefined, person.headers)).status, 401);
    assert.equal((await ask(g, 'POST', '/sessions', { user: person.email, password: person.password })).status, 401);
    await signIn(g, { email: person.email, password: PASSWORD });
  });

  it('are void if the user was suspended or deleted, or has set a password by other means', async () => {
    const [suspended, deleted] = [await newUser(), await newUser()];
    await g.admin('PATCH', `/users/${suspended.id}`, { status: 'suspended' });
    await g.admin('DELETE', `/users/${deleted.id}`);
    const person = await createPerson(g);
    const token = tokenOf((await g.admin('POST', `/users/${person.id}/links`)).body.link);
    const change = { currentPassword: person.password, password: PASSWORD };
    assert.equal((await ask(g, 'PUT', '/password', change, person.headers)).status, 204);
    for (const link of [suspended.token, deleted.token, token]) assert.equal((await look(link)).status, 404);
    const noLink = await g.admin('POST', `/users/${suspended.id}/links`);
    assert.equal(noLink.status, 409);
  });

  it('created by an operator are valid while that user is one', async () => {
    const operator = await createPerson(g, { operatorRole: 'operator' });
    const authorization = `Bearer ${g.localToken}`;
    const change = async (body: object) =>
      assert.equal((await g.admin('PATCH', `/users/${operator.id}`, body, { authorization })).status, 200);
    const of = (await newUser()).id;
    const made = await ask(g, 'POST', `/admin/v1/users/${of}/links`, undefined, operator.headers);
    const token = tokenOf(made.body.link);
    assert.equal((await look(token)).status, 200);
    await change({ operatorRole: 'auditor' });
    assert.equal((await look(token)).status, 404);
    assert.equal((await use({ token, password: PASSWORD })).status, 404);
    await change({ operatorRole: 'operator' });
    assert.equal((await look(token)).status, 200);
    assert.equal((await g.admin('DELETE', `/users/${operator.id}`)).status, 204);
    assert.equal((await use({ token, password: PASSWORD })).status, 404);
  });

  it('are recorded in the audit log if their user is suspended meanwhile', async () => {
    const { id, token } = await newUser();
    const begin = g.observed.statement('sessions.note-sign-in');
    begin.hold();
    const reached = begin.reached(begin.asked + 1);
    const using = use({ token, password: PASSWORD });
    await reached;
    assert.equal((await g.admin('PATCH', `/users/${id}`, { status: 'suspended' })).status, 200);
    begin.release();
    assert.equal((await using).status, 401);
    assert.equal((await look(token)).status, 404);
    const { body } = await g.admin('GET', '/changes?action=links.use.create&limit=100');
    const failed = body.data.filter(({ outcome }: { outcome: string }) => outcome === 'failed');
    assert.deepEqual(
      failed.map(({ errorCode }: { errorCode: string }) => errorCode),
      ['sign_in_failed'],
    );
  });

  it('invite a new user to an account', async () => {
    const token = await invite({ email: 'invited@people.example', role: 'member' });
    const { body } = await look(token);
    assert.deepEqual([body.kind, body.accountName, body.role], ['invitation', 'tester', 'member']);
    assert.equal((await use({ token, password: PASSWORD })).status, 400);
    const joined = await use({ token, name: 'Invited', password: PASSWORD });
    assert.equal(joined.status, 201);
    assert.deepEqual(joined.body.memberships, [{ accountId, accountName: 'tester', role: 'member' }]);
    assert.equal(joined.body.user.email, 'invited@people.example');
  });

  it('invite a user who has signed in, once', async () => {
    const person = await createPerson(g);
    const token = await invite({ role: 'owner' });
    const anonymous = await use({ token });
    assert.equal(anonymous.status, 401);
    const foreign = { ...person.headers, 'sec-fetch-site': 'cross-site' };
    assert.equal((await use({ token }, foreign)).status, 403);
    const joined = await use({ token }, person.headers);
    assert.equal(joined.status, 201);
    assert.equal(joined.headers.get('set-cookie'), null);
    assert.deepEqual(joined.body.memberships, [{ accountId, accountName: 'tester', role: 'owner' }]);
    // Who is in the account already does not use an invitation up.
    const second = await invite({});
    assert.equal((await use({ token: second }, person.headers)).status, 409);
    assert.equal((await look(second)).status, 200);
  });

  it('ask an existing user to sign in', async () => {
    const person = await createPerson(g);
    const token = await invite({ email: person.email });
    const refused = await use({ token, name: 'Lin again', password: PASSWORD });
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'sign_in_first']);
    assert.equal((await use({ token }, person.headers)).status, 201);
  });

  it('create only one of two concurrent users with the same name', async () => {
    const tokens = [await invite({}), await invite({})];
    const responses = await Promise.all(tokens.map((token) => use({ token, name: 'Same Name', password: PASSWORD })));
    assert.deepEqual(responses.map(({ status }) => status).toSorted(), [201, 409]);
    const free = tokens[responses.findIndex(({ status }) => status === 409)]!;
    assert.equal((await use({ token: free, name: 'Other Name', password: PASSWORD })).status, 201);
  });

  it('that do not exist are not found', async () => {
    for (const token of ['', 'x', 'a'.repeat(43), 'a'.repeat(201)]) {
      const { status } = await look(token);
      assert.equal(status, token.length > 200 ? 400 : 404);
    }
  });

  it('that do not exist are refused after twenty attempts, without a database query', async () => {
    // Resets the limits used by earlier tests.
    nowMs += HOUR_MS;
    const { token } = await newUser();
    const guess = async () => (await look('a'.repeat(43))).status;
    for (let i = 0; i < 20; i++) assert.equal(await guess(), 404);
    const asked = g.observed.statement('user-links.look').asked;
    assert.equal(await guess(), 429);
    assert.equal((await use({ token, password: PASSWORD })).status, 429);
    assert.equal(g.observed.statement('user-links.look').asked, asked);
    nowMs += 3_000;
    assert.equal((await use({ token, password: PASSWORD })).status, 201);
  });
});
