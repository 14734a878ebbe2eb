import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.ts';
import { ask, createPerson, type PersonHeaders, tokenOf } from '../support/people.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { assertReviewed } from './reviewed-sentences.ts';

const PUBLIC_URL = 'http://gateway.test';
const CLIENT = 'clientId: faregate, clientSecret: oidc-client-secret, allowInsecure: true';
let subjects = 0;

describe(`sign-in by OpenID Connect`, { timeout: 300_000 }, () => {
  let g: TestGateway;
  let provider: OpenIdProvider;
  let silent: OpenIdProvider;
  const clock = createTestClock('2026-11-20T12:00:00Z');

  before(async () => {
    [provider, silent] = [await startOpenIdProvider(), await startOpenIdProvider()];
    silent.mischief.set('/.well-known/openid-configuration', () => undefined);
    g = await startGateway({
      clock,
      server: `publicUrl: "${PUBLIC_URL}"`,
      oidc: `{ company: { issuer: "${provider.issuer}", displayName: Company, ${CLIENT} },
          silent: { issuer: "${silent.issuer}", timeout: 100ms, ${CLIENT} } }`,
    });
  });
  after(async () => {
    await g.stop();
    await provider.stop();
    await silent.stop();
  });
  afterEach(() => {
    provider.claims = {};
    provider.mischief.clear();
    provider.signsWrong = false;
  });

  /** A request that a browser makes by itself, to a path or address of the public URL. */
  async function visit(address: string, cookies: readonly string[] = []) {
    const response = await fetch(address.replace(PUBLIC_URL, g.url).replace(/^\//, `${g.url}/`), {
      redirect: 'manual',
      headers: { cookie: cookies.join('; '), 'sec-fetch-site': 'cross-site' },
    });
    const set = response.headers.getSetCookie();
    const body = await response.text();
    return { status: response.status, location: response.headers.get('location') ?? '', set, body };
  }

  const cookieOf = (set: readonly string[], name: string): string =>
    set.find((cookie) => cookie.startsWith(`${name}=`) && !cookie.includes('Max-Age=0'))?.split(';')[0] ?? '';

  const sessionIn = (set: readonly string[]): PersonHeaders => ({
    cookie: cookieOf(set, 'faregate_session'),
    'sec-fetch-site': 'same-origin',
  });

  /** Signs somebody in at the provider; returns where it redirects the browser. */
  async function atProvider(url: string, claims: object = {}): Promise<string> {
    provider.claims = { sub: `subject-${++subjects}`, ...claims };
    const { status, location } = await visit(url);
    assert.equal(status, 302);
    return location;
  }

  async function begin(body: object = {}, headers: Record<string, string> = {}) {
    const response = await ask(g, 'POST', '/oidc/company/flows', body, headers);
    assert.equal(response.status, 201, JSON.stringify(response.body));
    return { url: response.body.url as string, cookie: cookieOf(response.headers.getSetCookie(), 'faregate_oidc') };
  }

  async function signInAs(claims: object): Promise<PersonHeaders> {
    const { url, cookie } = await begin();
    const done = await visit(await atProvider(url, claims), [cookie]);
    assert.equal(done.location, '/console');
    return sessionIn(done.set);
  }

  /** The error code that the console receives. */
  async function refused(claims: object, flow?: { url: string; cookie: string }, more: readonly string[] = []) {
    const { url, cookie } = flow ?? (await begin());
    const done = await visit(await atProvider(url, claims), [cookie, ...more]);
    assert.equal(done.status, 302);
    assert.equal(cookieOf(done.set, 'faregate_session'), '');
    return /^\/console#\/sign-in\?error=(\w+)$/.exec(done.location)?.[1] ?? done.location;
  }

  const who = (headers: Record<string, string>) => ask(g, 'GET', '/session', undefined, headers);

  /** A user who was invited and has accepted through the provider. */
  async function invited(subject: string, claims: object = {}) {
    const account = await g.createAccount();
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const invitation = await ask(g, 'POST', '/invitations', { role: 'member' }, owner.headers);
    const { url, cookie } = await begin({ token: tokenOf(invitation.body.link) });
    const done = await visit(await atProvider(url, { sub: subject, name: `Name of ${subject}`, ...claims }), [cookie]);
    assert.equal(done.location, '/console');
    return { account, headers: sessionIn(done.set), token: tokenOf(invitation.body.link) };
  }

  it('lists the providers and redirects with state, nonce and PKCE', async () => {
    const { body } = await ask(g, 'GET', '/oidc');
    assert.deepEqual(body.data, [
      { name: 'company', displayName: 'Company' },
      { name: 'silent', displayName: 'silent' },
    ]);
    const begun = await ask(g, 'POST', '/oidc/company/flows', {});
    assert.match(
      begun.headers.getSetCookie().join(),
      /^faregate_oidc=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const url = new URL(begun.body.url);
    assert.equal(url.origin, provider.issuer);
    const { state, nonce, code_challenge, ...rest } = Object.fromEntries(url.searchParams);
    assert.deepEqual(rest, {
      client_id: 'faregate',
      response_type: 'code',
      redirect_uri: `${PUBLIC_URL}/account/v1/oidc/company/callback`,
      scope: 'openid email profile',
      code_challenge_method: 'S256',
    });
    for (const secret of [state, nonce, code_challenge]) assert.match(secret!, /^[\w-]{43}$/);
  });

  it('creates the user of an invitation, who can then sign in without one', async () => {
    const { account, headers, token } = await invited('ada', { email: 'ada@company.example', email_verified: true });
    const [{ sentence }] = (await g.admin('GET', '/changes?action=links.use&limit=1')).body.data;
    assertReviewed('people GET /oidc/:id/callback, a link', sentence);
    const first = await who(headers);
    assert.deepEqual(first.body.user, { ...first.body.user, email: 'ada@company.example', name: 'Name of ada' });
    assert.deepEqual(
      first.body.memberships.map(({ accountId, role }: Record<string, string>) => [accountId, role]),
      [[account.id, 'member']],
    );
    const again = await who(await signInAs({ sub: 'ada' }));
    assert.equal(again.body.user.id, first.body.user.id);
    const used = await ask(g, 'POST', '/oidc/company/flows', { token });
    assert.equal(used.status, 404);
  });

  it('works with a first sign-in link, and later with an invitation', async () => {
    const made = await g.admin('POST', '/users', { name: 'First', email: 'first@company.example' });
    const flow = await begin({ token: tokenOf(made.body.link) });
    const done = await visit(await atProvider(flow.url, { sub: 'first' }), [flow.cookie]);
    const own = await who(sessionIn(done.set));
    assert.equal(own.body.user.id, made.body.id);
    const account = await g.createAccount();
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const invitation = await ask(g, 'POST', '/invitations', { role: 'member' }, owner.headers);
    const second = await begin({ token: tokenOf(invitation.body.link) });
    await visit(await atProvider(second.url, { sub: 'first' }), [second.cookie]);
    const { body } = await who(sessionIn(done.set));
    assert.equal(body.memberships[0].accountId, account.id);
    // A password link has no other use.
    const person = await createPerson(g);
    const reset = await g.admin('POST', `/users/${person.id}/links`);
    const token = tokenOf(reset.body.link);
    assert.equal((await ask(g, 'POST', '/oidc/company/flows', { token })).status, 422);
  });

  it('refuses users who were not invited, whatever verified address they have', async () => {
    const person = await createPerson(g, { operatorRole: 'operator' });
    const claims = { email: person.email, email_verified: true };
    assert.equal(await refused(claims), 'not_invited');
    // An invitation to that address does not make somebody that user.
    const account = await g.createAccount();
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const invitation = await ask(g, 'POST', '/invitations', { role: 'member' }, owner.headers);
    const token = tokenOf(invitation.body.link);
    assert.equal(await refused(claims, await begin({ token })), 'name_taken');
    // The invitation is still valid.
    assert.equal((await ask(g, 'POST', '/links/look', { token })).status, 200);
  });

  it('refuses suspended users', async () => {
    const { headers } = await invited('suspended');
    const { body } = await who(headers);
    await g.admin('PATCH', `/users/${body.user.id}`, { status: 'suspended' });
    assert.equal(await refused({ sub: 'suspended' }), 'suspended');
  });

  it('can be added by a signed-in user with the password, and removed again', async () => {
    const person = await createPerson(g);
    const attach = (body: object, headers: Record<string, string> = person.headers) =>
      ask(g, 'POST', '/oidc/company/flows', { attach: true, ...body }, headers);
    assert.equal((await attach({}, {})).status, 401);
    assert.equal((await attach({})).status, 400);
    assert.equal((await attach({ currentPassword: 'a wrong password' })).status, 403);
    // A page of another site cannot add one to its victim.
    const foreign = await attach(
      { currentPassword: person.password },
      { ...person.headers, 'sec-fetch-site': 'cross-site' },
    );
    assert.equal(foreign.status, 403);
    const returning = { attach: true, currentPassword: person.password, returnTo: '/console#/me' };
    const flow = await begin(returning, person.headers);
    const done = await visit(await atProvider(flow.url, { sub: 'added' }), [flow.cookie, person.headers.cookie]);
    assert.equal(done.location, '/console#/me');
    assert.equal((await who(await signInAs({ sub: 'added' }))).body.user.id, person.id);
    const recorded = await g.admin('GET', '/changes?action=identities.create&limit=1');
    const { actor, outcome, after, sentence } = recorded.body.data[0];
    assertReviewed('people GET /oidc/:id/callback, an identity', sentence);
    assert.deepEqual([actor.id, outcome], [person.id, 'done']);
    assert.deepEqual(after, { userId: person.id, issuer: provider.issuer, subject: 'added' });
    const { body } = await ask(g, 'GET', '/identities', undefined, person.headers);
    assert.deepEqual(
      body.data.map(({ provider: name, issuer, subject }: Record<string, string>) => ({ name, issuer, subject })),
      [{ name: 'company', issuer: provider.issuer, subject: 'added' }],
    );
    const other = await createPerson(g);
    // Not those of others, and not without a session.
    const taken = await begin({ attach: true, currentPassword: other.password }, other.headers);
    assert.equal(await refused({ sub: 'added' }, taken, [other.headers.cookie]), 'identity_taken');
    const left = await begin({ attach: true, currentPassword: other.password }, other.headers);
    assert.equal(await refused({ sub: 'another' }, left, [person.headers.cookie]), 'signed_out');
    const path = `/identities/${body.data[0].id}`;
    assert.equal((await ask(g, 'DELETE', path, undefined, other.headers)).status, 404);
    assert.equal((await ask(g, 'DELETE', path, undefined, person.headers)).status, 204);
    assert.equal(await refused({ sub: 'added' }), 'not_invited');
  });

  it('counts as a recent sign-in if the provider reports its time', async () => {
    const person = await createPerson(g, { operatorRole: 'operator' });
    const flow = await begin({ attach: true, currentPassword: person.password }, person.headers);
    await visit(await atProvider(flow.url, { sub: 'olga' }), [flow.cookie, person.headers.cookie]);
    const exported = async (headers: PersonHeaders) =>
      (await fetch(`${g.url}/admin/v1/export`, { method: 'POST', headers })).status;
    const seconds = (ago: number): number => Math.floor(clock.nowMs() / 1_000) - ago;
    // A provider with a session has not asked the user again.
    assert.equal(await exported(await signInAs({ sub: 'olga' })), 403);
    assert.equal(await exported(await signInAs({ sub: 'olga', auth_time: seconds(3_600) })), 403);
    const asked = new URL((await begin({ again: true })).url).searchParams;
    assert.deepEqual([asked.get('prompt'), asked.get('max_age')], ['login', '0']);
    const anew = await signInAs({ sub: 'olga', auth_time: seconds(0) });
    assert.equal(await exported(anew), 200);
    // A fast clock does not make it recent for longer.
    const future = await signInAs({ sub: 'olga', auth_time: seconds(-86_400) });
    assert.equal(await exported(future), 200);
    clock.advance(300_000);
    assert.deepEqual([await exported(anew), await exported(future)], [403, 403]);
    // An old session cannot add an identity to an operator without a password.
    await sql(g.database, 'update users set password_hash = null where id = $1', [person.id]);
    const attached = await ask(g, 'POST', '/oidc/company/flows', { attach: true }, future);
    assert.deepEqual([attached.status, attached.body.error.code], [403, 'sign_in_again']);
  });

  it('keeps the last sign-in method, even with concurrent removals', async () => {
    const { headers } = await invited('last');
    const flow = await begin({ attach: true }, headers);
    await visit(await atProvider(flow.url, { sub: 'last, too' }), [flow.cookie, headers.cookie]);
    const { body } = await ask(g, 'GET', '/identities', undefined, headers);
    const removed = await Promise.all(
      body.data.map(({ id }: { id: string }) => ask(g, 'DELETE', `/identities/${id}`, undefined, headers)),
    );
    assert.deepEqual(removed.map(({ status }) => status).toSorted(), [204, 409]);
  });

  it('is completed once, by the browser that began it, and in time', async () => {
    await invited('once');
    const [mine, other] = [await begin(), await begin()];
    const location = await atProvider(mine.url, { sub: 'once' });
    const error = async (address: string, cookies: string[]) => (await visit(address, cookies)).location;
    const EXPIRED = '/console#/sign-in?error=sign_in_expired';
    assert.equal(await error(location, []), EXPIRED);
    assert.equal(await error(location, [other.cookie]), EXPIRED);
    const made = location.replace(/state=[^&]+/, `state=${'a'.repeat(43)}`);
    assert.equal(await error(made, [mine.cookie]), EXPIRED);
    assert.equal(await error(location.replace('/company/', '/silent/'), [mine.cookie]), EXPIRED);
    const both = await Promise.all([visit(location, [mine.cookie]), visit(location, [mine.cookie])]);
    assert.deepEqual(both.map((one) => one.location).toSorted(), ['/console', EXPIRED]);
    assert.equal(await error(location, [mine.cookie]), EXPIRED);
    const late = await begin();
    const there = await atProvider(late.url, { sub: 'once' });
    clock.advance(600_000);
    assert.equal(await error(there, [late.cookie]), EXPIRED);
  });

  const nowSeconds = Math.floor(Date.now() / 1000);
  const FORGED: [string, object][] = [
    ['another issuer', { iss: 'https://evil.example' }],
    ['another nonce', { nonce: 'of another sign-in' }],
    ['another audience', { aud: 'another-client' }],
    ['several audiences and another party', { aud: ['faregate', 'other'], azp: 'other' }],
    ['a time that is over', { exp: nowSeconds - 120 }],
    ['a subject that is no text', { sub: 7 }],
    ['a subject that is too long', { sub: 'x'.repeat(300) }],
  ];
  for (const [what, claims] of FORGED) {
    it(`refuses a token with ${what}`, async () => {
      await invited(what);
      assert.equal(await refused({ sub: what, ...claims }), 'provider_answer_invalid');
    });
  }

  it('refuses a token with a wrong signature', async () => {
    await invited('signed');
    provider.signsWrong = true;
    assert.equal(await refused({ sub: 'signed' }), 'provider_answer_invalid');
  });

  it('refuses endless, redirecting and invalid responses', async () => {
    let led = 0;
    provider.mischief.set('/elsewhere', (_request, response) => {
      led += 1;
      response.end('{}');
    });
    provider.mischief.set('/token', (_request, response) => {
      response.writeHead(307, { location: `${provider.issuer}/elsewhere` }).end();
    });
    assert.equal(await refused({}), 'provider_answer_invalid');
    assert.equal(led, 0);
    let isClosed = false;
    provider.mischief.set('/token', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        if (!response.destroyed) response.write(' '.repeat(65_536), () => setImmediate(more));
      };
      response.on('close', () => {
        isClosed = true;
      });
      more();
    });
    assert.equal(await refused({}), 'provider_answer_invalid');
    await until(() => isClosed);
    provider.mischief.set('/token', (_request, response) => response.writeHead(503).end());
    assert.equal(await refused({}), 'provider_unavailable');
    const denied = await begin();
    const state = new URL(denied.url).searchParams.get('state');
    const callback = `${PUBLIC_URL}/account/v1/oidc/company/callback?error=access_denied&state=${state}`;
    assert.equal((await visit(callback, [denied.cookie])).location, '/console#/sign-in?error=provider_refused');
  });

  it('reports a silent provider, and tries again the next time', async () => {
    const start = (name: string) => ask(g, 'POST', `/oidc/${name}/flows`, {});
    const first = await start('silent');
    assert.deepEqual([first.status, first.body.error.code], [502, 'provider_unavailable']);
    assert.deepEqual(first.headers.getSetCookie(), []);
    silent.mischief.clear();
    assert.equal((await start('silent')).status, 201);
    // Its discovery document is cached.
    const asked = silent.requests.get('/.well-known/openid-configuration');
    assert.equal((await start('silent')).status, 201);
    assert.equal(silent.requests.get('/.well-known/openid-configuration'), asked);
    assert.equal((await start('nobody')).status, 404);
  });

  it('redirects only to the console', async () => {
    for (const address of ['https://evil.example/console', '//evil.example', '/admin/v1/users']) {
      const response = await ask(g, 'POST', '/oidc/company/flows', { returnTo: address });
      assert.equal(response.status, 400, address);
    }
    const { headers } = await invited('returning');
    assert.equal((await who(headers)).status, 200);
    const flow = await begin({ returnTo: '/console#/keys' });
    const done = await visit(await atProvider(flow.url, { sub: 'returning' }), [flow.cookie]);
    assert.equal(done.location, '/console#/keys');
  });
});
