import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { createLinkStore } from '../../src/people/link-store.ts';
import { createMembershipStore } from '../../src/people/membership-store.ts';
import { createUserStore } from '../../src/people/user-store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, tokenOf } from '../support/people.ts';
import { sql } from '../support/sql.ts';

describe(`the members of an account`, () => {
  let g: TestGateway;

  before(async () => {
    g = await startGateway();
  });
  after(() => g.stop());

  async function createTeam() {
    const { id: accountId, key } = await g.createAccount();
    const owner = await createPerson(g, { name: 'Owner', memberships: [{ accountId, role: 'owner' }] });
    const second = await createPerson(g, { name: 'Second', memberships: [{ accountId, role: 'owner' }] });
    const member = await createPerson(g, { name: 'Member', memberships: [{ accountId, role: 'member' }] });
    return { accountId, key, owner, second, member };
  }

  it('are listed and changed only by owners', async () => {
    const { owner, member } = await createTeam();
    const other = await createTeam();
    const { body } = await ask(g, 'GET', '/members', undefined, owner.headers);
    const roles = body.data.map(({ name, role }: { name: string; role: string }) => [name, role]);
    assert.deepEqual(roles, [
      ['Owner', 'owner'],
      ['Second', 'owner'],
      ['Member', 'member'],
    ]);
    assert.equal((await ask(g, 'GET', '/members', undefined, member.headers)).status, 403);
    const foreign = await ask(g, 'DELETE', `/members/${member.id}`, undefined, other.owner.headers);
    assert.equal(foreign.status, 404);
    const promoted = await ask(g, 'PATCH', `/members/${member.id}`, { role: 'owner' }, owner.headers);
    assert.deepEqual([promoted.status, promoted.body.role], [200, 'owner']);
    assert.equal((await ask(g, 'GET', '/members', undefined, member.headers)).status, 200);
  });

  it('lose access immediately', async () => {
    const { owner, member } = await createTeam();
    assert.equal((await ask(g, 'GET', '/account', undefined, member.headers)).status, 200);
    assert.equal((await ask(g, 'DELETE', `/members/${member.id}`, undefined, owner.headers)).status, 204);
    assert.equal((await ask(g, 'GET', '/account', undefined, member.headers)).status, 403);
    assert.equal((await ask(g, 'GET', '/session', undefined, member.headers)).status, 200);
  });

  it('always include an owner, even if two leave at once', async () => {
    const { owner, second } = await createTeam();
    const responses = await Promise.all([
      ask(g, 'PATCH', `/members/${owner.id}`, { role: 'member' }, owner.headers),
      ask(g, 'DELETE', `/members/${second.id}`, undefined, second.headers),
    ]);
    assert.deepEqual(responses.map(({ status }) => status >= 400).toSorted(), [false, true]);
    assert.equal(responses.find(({ status }) => status >= 400)!.status, 409);
  });

  it('include an owner who can sign in', async () => {
    const { owner, second } = await createTeam();
    assert.equal((await g.admin('PATCH', `/users/${second.id}`, { status: 'suspended' })).status, 200);
    const leave = () => ask(g, 'DELETE', `/members/${owner.id}`, undefined, owner.headers);
    assert.equal((await leave()).status, 409);
    const demoted = await ask(g, 'PATCH', `/members/${owner.id}`, { role: 'member' }, owner.headers);
    assert.equal(demoted.status, 409);
    assert.equal((await ask(g, 'DELETE', `/members/${second.id}`, undefined, owner.headers)).status, 204);
    assert.equal((await leave()).status, 409);
  });

  it('are invited by links that are valid while their creators are owners', async () => {
    const { accountId, owner, second } = await createTeam();
    const stranger = await createPerson(g);
    const made = await ask(g, 'POST', '/invitations', { role: 'owner' }, second.headers);
    const token = tokenOf(made.body.link);
    const seen = async () => [
      (await ask(g, 'POST', '/links/look', { token })).status,
      (await ask(g, 'GET', '/invitations', undefined, owner.headers)).body.data.length,
    ];
    assert.deepEqual(await seen(), [200, 1]);
    const change = (body: object) => g.admin('PATCH', `/users/${second.id}`, body);
    await change({ status: 'suspended' });
    assert.deepEqual(await seen(), [404, 0]);
    await change({ status: 'active' });
    assert.deepEqual(await seen(), [200, 1]);
    await ask(g, 'PATCH', `/members/${second.id}`, { role: 'member' }, owner.headers);
    assert.deepEqual(await seen(), [404, 0]);
    await ask(g, 'DELETE', `/members/${second.id}`, undefined, owner.headers);
    for (const headers of [stranger.headers, {}]) {
      const used = await ask(
        g,
        'POST',
        '/links/use',
        { token, name: 'Back', password: 'a password long enough' },
        headers,
      );
      assert.equal(used.status, 404);
    }
    const { body } = await g.admin('GET', `/accounts/${accountId}/members`);
    assert.ok(!JSON.stringify(body).includes('Back'));
  });

  it('do not become owners again through their own invitation after losing the role', async () => {
    const { accountId, second } = await createTeam();
    const links = createLinkStore(g.database.pool('admin'));
    const tokenHash = Buffer.alloc(32, 9);
    const at = new Date();
    const expiresAt = new Date(at.getTime() + 60_000);
    const link = {
      id: 'lnk_of_second',
      tokenHash,
      createdBy: 'Second',
      createdByUserId: second.id,
      createdByTokenId: null,
      at,
      expiresAt,
    };
    assert.equal(await links.insertInvitation({ ...link, email: null, accountId, role: 'owner' }), null);
    await g.admin('DELETE', `/accounts/${accountId}/members?userId=${second.id}`);
    assert.equal(await links.use(tokenHash, { userId: second.id }, at), 'void');
  });

  it('are invited until the invitation is revoked', async () => {
    const { owner } = await createTeam();
    const other = await createTeam();
    const made = await ask(g, 'POST', '/invitations', { email: 'x@people.example', role: 'owner' }, owner.headers);
    const listed = await ask(g, 'GET', '/invitations', undefined, owner.headers);
    assert.deepEqual(
      listed.body.data.map(({ id, email, role, createdBy, createdById }: Record<string, string>) => ({
        id,
        email,
        role,
        createdBy,
        createdById,
      })),
      [
        {
          id: made.body.id,
          email: 'x@people.example',
          role: 'owner',
          createdBy: `Owner (${owner.id})`,
          createdById: owner.id,
        },
      ],
    );
    assert.ok(!JSON.stringify(listed.body).includes(tokenOf(made.body.link)));
    const path = `/invitations/${made.body.id}`;
    assert.equal((await ask(g, 'DELETE', path, undefined, other.owner.headers)).status, 404);
    assert.equal((await ask(g, 'DELETE', path, undefined, owner.headers)).status, 204);
    assert.equal((await ask(g, 'POST', '/links/look', { token: tokenOf(made.body.link) })).status, 404);
  });

  it('have at most fifty open invitations', async () => {
    const { owner } = await createTeam();
    const invite = async () => (await ask(g, 'POST', '/invitations', {}, owner.headers)).status;
    const statuses = await Promise.all(Array.from({ length: 52 }, invite));
    assert.deepEqual(
      [201, 409].map((status) => statuses.filter((one) => one === status).length),
      [50, 2],
    );
  });

  it('get at most two hundred invitations a day, even if they are used at once', async () => {
    const { owner } = await createTeam();
    const invite = () => ask(g, 'POST', '/invitations', {}, owner.headers);
    const made = await invite();
    await sql(g.database, 'update user_links set used_at = created_at');
    // Creates further links, up to the limit minus one.
    await sql(
      g.database,
      `insert into user_links select (json_populate_record(l, json_build_object(
            'id', l.id || n, 'token_hash', '\\x' || encode(sha256((l.id || n)::bytea), 'hex')))).*
            from user_links l, generate_series(1, 198) n where l.id = $1`,
      [made.body.id],
    );
    assert.equal((await invite()).status, 201);
    await sql(g.database, 'update user_links set used_at = created_at');
    const beyond = await invite();
    assert.deepEqual([beyond.status, beyond.body.error.code], [409, 'conflict_error']);
    assert.match(beyond.body.error.message, /^200 invitations were created/);
    assert.equal((await ask(g, 'GET', '/invitations', undefined, owner.headers)).body.data.length, 0);
  });
});

describe(`users and operators`, () => {
  let g: TestGateway;

  before(async () => {
    g = await startGateway();
  });
  after(() => g.stop());

  it('cannot all be removed by operators, but by a token', async () => {
    const operators = [
      await createPerson(g, { operatorRole: 'operator' }),
      await createPerson(g, { operatorRole: 'operator' }),
    ] as const;
    const demote = (i: 0 | 1) =>
      ask(g, 'PATCH', `/admin/v1/users/${operators[i].id}`, { operatorRole: 'auditor' }, operators[1 - i]!.headers);
    const responses = await Promise.all([demote(0), demote(1)]);
    // The second one is no longer an operator, or would remove the last one.
    assert.equal(responses.filter(({ status }) => status === 200).length, 1, JSON.stringify(responses));
    const left = operators[responses[0]!.status === 200 ? 1 : 0];
    const path = `/admin/v1/users/${left.id}`;
    assert.equal((await ask(g, 'PATCH', path, { status: 'suspended' }, left.headers)).status, 409);
    assert.equal((await ask(g, 'DELETE', path, undefined, left.headers)).status, 409);
    assert.equal((await ask(g, 'PATCH', path, { name: 'Renamed' }, left.headers)).status, 200);
    assert.equal((await g.admin('PATCH', `/users/${left.id}`, { status: 'suspended' })).status, 200);
    assert.equal((await ask(g, 'GET', '/session', undefined, left.headers)).status, 401);
  });

  it('are found by sign-in name, part of their name, and operator role', async () => {
    const operator = await createPerson(g, { operatorRole: 'operator', name: 'Zhou the operator' });
    const found = async (query: string) => {
      const { body } = await g.admin('GET', `/users?${query}`);
      return body.data.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await found(`signInName=${encodeURIComponent(operator.email.toUpperCase())}`), [operator.id]);
    assert.deepEqual(await found('search=ZHOU'), [operator.id]);
    assert.ok((await found('operators=true')).includes(operator.id));
    assert.deepEqual(await found('signInName=nobody'), []);
    assert.equal((await g.admin('GET', '/users?search=a&operators=true')).status, 400);
  });

  it('have unique sign-in names, regardless of case', async () => {
    const first = await createPerson(g);
    const again = await g.admin('POST', '/users', { name: 'Lin', email: first.email.toUpperCase() });
    assert.equal(again.status, 409);
    assert.equal((await g.admin('POST', '/users', { name: 'lin@people.example' })).status, 400);
    // A fullwidth @ folds to the same sign-in name.
    for (const name of ['victim\uff20people.example', 'victim\ufe6bpeople.example']) {
      assert.equal((await g.admin('POST', '/users', { name })).status, 400, name);
      const named = await g.admin('POST', '/users', { name: `Plain ${name.length}${name.codePointAt(6)}` });
      assert.equal((await g.admin('PATCH', `/users/${named.body.id}`, { name })).status, 400, name);
    }
    const second = await createPerson(g);
    const taken = { email: first.email, currentPassword: second.password };
    assert.equal((await ask(g, 'PATCH', '/user', taken, second.headers)).status, 409);
    assert.equal((await ask(g, 'PATCH', '/user', { email: 'free@people.example' }, second.headers)).status, 400);
    const free = { email: 'free@people.example', currentPassword: second.password, name: 'Free' };
    const changed = await ask(g, 'PATCH', '/user', free, second.headers);
    assert.deepEqual([changed.status, changed.body.email, changed.body.name], [200, 'free@people.example', 'Free']);
  });

  it('are signed out by an operator', async () => {
    const person = await createPerson(g);
    const { body } = await g.admin('GET', `/users/${person.id}/sessions`);
    assert.equal(body.data.length, 1);
    assert.equal((await g.admin('DELETE', `/users/${person.id}/sessions`)).status, 204);
    assert.equal((await ask(g, 'GET', '/session', undefined, person.headers)).status, 401);
  });
});

describe(`memberships`, () => {
  let stored: TestDatabase;

  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored.remove());

  it('are limited to two hundred per account and fifty per user', async () => {
    const { database } = stored;
    await database.script(`insert into accounts (id, name, verified, status, created_at, updated_at)
select 'acct_' || i, 'a', true, 'active', now(), now() from generate_series(1, 52) i;
insert into users (id, name, sign_in_name, status, created_at)
select 'usr_' || i, 'u', 'u' || i, 'active', now() from generate_series(1, 201) i;
insert into memberships (user_id, account_id, role, created_at)
select 'usr_' || i, 'acct_51', 'member', now() from generate_series(2, 200) i
union all select 'usr_201', 'acct_' || i, 'member', now() from generate_series(1, 49) i`);
    const members = createMembershipStore(database);
    const add = (userId: string, accountId: string) =>
      members.add({ userId, accountId, role: 'member', at: new Date(systemClock.nowMs()) });
    assert.deepEqual(
      [...(await Promise.all([add('usr_1', 'acct_51'), add('usr_201', 'acct_51')]))].sort(),
      ['account_full', null].sort(),
    );
    // The fiftieth, or one too many, depending on the race.
    await add('usr_201', 'acct_50');
    assert.equal(await add('usr_201', 'acct_52'), 'user_full');
    assert.equal(await add('usr_nobody', 'acct_1'), 'no_user');
    assert.equal(await add('usr_1', 'acct_none'), 'no_account');
  });

  it('are created together with their user, or not at all', async () => {
    const users = createUserStore(stored.database);
    const id = createIds(systemClock).next('usr');
    const refusal = await users.insert({
      id,
      email: null,
      name: 'Half',
      passwordHash: null,
      operatorRole: null,
      memberships: [{ accountId: 'acct_none', role: 'owner' }],
      at: new Date(systemClock.nowMs()),
    });
    assert.equal(refusal, 'no_account');
    assert.equal(await users.find(id), null);
  });
});
