import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { ask, createPerson } from '../support/people.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { assertReviewed } from './reviewed-sentences.ts';

const HOUR_MS = 3_600_000;
const PASSWORD = 'a long enough password';

describe('a forgotten password', { timeout: 60_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  /** The network that attempts are counted for. */
  let nowMs = 0;
  let mails: MailServer;
  let g: TestGateway;
  before(async () => {
    mails = await startMailServer();
    g = await startGateway({
      clock,
      monotonicMs: () => nowMs,
      noticeSettings: `mail: { smtp: { host: 127.0.0.1, port: ${mails.port}, tls: none }, from: gateway@example.com }`,
    });
  });
  beforeEach(() => {
    // The limits of a test are reset before the next one.
    nowMs += HOUR_MS;
  });
  after(async () => {
    await g.stop();
    await mails.close();
  });

  const forgot = (user: string) => ask(g, 'POST', '/password-resets', { user });
  const mailsTo = (email: string) =>
    mails.received
      .filter(({ to, text }) => to[0] === email && text.includes('Subject: Reset'))
      .map(({ text }) => /token=([\w-]{43})/.exec(text.replaceAll('=\r\n', '').replaceAll('=3D', '='))![1]!);
  const rows = () => sql(g.database, `select subject_id from changes where action = 'password-resets.create'`);

  /** Resolves when all earlier requests are done: they are handled one after another. */
  async function handled(): Promise<void> {
    const last = await createPerson(g, { name: 'Last' });
    assert.equal((await forgot(last.email)).status, 204);
    await until(() => mailsTo(last.email).length === 1);
  }

  it('is replaced with a link by mail, which ends all sessions', async () => {
    const person = await createPerson(g);
    assert.deepEqual((await ask(g, 'GET', '/password-resets')).body, { isAvailable: true });
    const asked = await forgot(` ${person.email.toUpperCase()}`);
    assert.deepEqual([asked.status, asked.body], [204, null]);
    await until(() => mailsTo(person.email).length === 1);
    const [token] = mailsTo(person.email);
    assert.equal((await ask(g, 'POST', '/links/look', { token })).body.kind, 'reset');
    const used = await ask(g, 'POST', '/links/use', { token, password: PASSWORD });
    assert.equal(used.status, 201);
    assert.equal((await ask(g, 'GET', '/session', undefined, person.headers)).status, 401);
    assert.equal((await ask(g, 'POST', '/sessions', { user: person.email, password: PASSWORD })).status, 201);
    assert.equal((await ask(g, 'POST', '/links/use', { token, password: PASSWORD })).status, 404);
    const { body } = await g.admin('GET', '/changes?action=password-resets.create');
    const [row] = body.data;
    assert.deepEqual([row.actor.kind, row.subject, row.outcome], ['visitor', { kind: 'user', id: person.id }, 'done']);
    assert.doesNotMatch(JSON.stringify(row), new RegExp(token!));
    assertReviewed('people POST /password-resets', row.sentence);
  });

  it('expires within the hour', async () => {
    const person = await createPerson(g);
    await forgot(person.email);
    await until(() => mailsTo(person.email).length === 1);
    clock.advance(HOUR_MS);
    const [token] = mailsTo(person.email);
    assert.equal((await ask(g, 'POST', '/links/use', { token, password: PASSWORD })).status, 404);
  });

  it('of nobody, of suspended users, and of users without a password or an address gets the same answer, and no link', async () => {
    const suspended = await createPerson(g);
    await g.admin('PATCH', `/users/${suspended.id}`, { status: 'suspended' });
    const byIdentity = await g.admin('POST', '/users', { name: 'Lin', email: 'identity@people.example' });
    const nameless = await g.admin('POST', '/users', { name: 'Only a name' });
    assert.deepEqual([byIdentity.status, nameless.status], [201, 201]);
    const known = (await rows()).length;
    for (const user of ['nobody@people.example', suspended.email, 'identity@people.example', 'Only a name', 'x']) {
      const { status, body } = await forgot(user);
      assert.deepEqual([status, body], [204, null], user);
    }
    await handled();
    assert.equal((await rows()).length, known + 1);
    assert.deepEqual([...mailsTo(suspended.email), ...mailsTo('identity@people.example')], []);
    assert.equal((await ask(g, 'POST', '/password-resets', { user: '' })).status, 400);
  });

  it('does not end links that others made, and a used link ends all of them', async () => {
    const person = await createPerson(g);
    const made = await g.admin('POST', `/users/${person.id}/links`);
    const ofOperator = /token=([\w-]+)/.exec(made.body.link)![1]!;
    mails.received.length = 0;
    await forgot(person.email);
    await until(() => mailsTo(person.email).length >= 1);
    await handled();
    const token = mailsTo(person.email).find((each) => each !== ofOperator);
    assert.equal((await ask(g, 'POST', '/links/look', { token: ofOperator })).status, 200);
    assert.equal((await ask(g, 'POST', '/links/use', { token, password: PASSWORD })).status, 201);
    assert.equal((await ask(g, 'POST', '/links/look', { token: ofOperator })).status, 404);
  });

  it('is limited by name and network, whether or not the name exists, without limiting sign-ins', async () => {
    const person = await createPerson(g);
    for (const user of [person.email, 'nobody@elsewhere.example']) {
      for (let i = 0; i < 10; i++) assert.equal((await forgot(user)).status, 204);
      const refused = await forgot(user);
      assert.deepEqual([refused.status, refused.body.error.code], [429, 'too_many_attempts']);
    }
    assert.equal((await ask(g, 'POST', '/sessions', { user: person.email, password: person.password })).status, 201);
    await handled();
    // The mails to an address have a limit of their own.
    assert.equal(mailsTo(person.email).length, 5);
    const link = await g.admin('POST', `/users/${person.id}/links`);
    assert.equal(link.status, 201);
  });

  it('cannot be replaced from a page of another site', async () => {
    const { status } = await ask(g, 'POST', '/password-resets', { user: 'x' }, { 'sec-fetch-site': 'cross-site' });
    assert.equal(status, 403);
  });
});

it('without a mail server, nobody can ask for a link', async () => {
  const g = await startGateway();
  try {
    assert.deepEqual((await ask(g, 'GET', '/password-resets')).body, { isAvailable: false });
    assert.equal((await ask(g, 'POST', '/password-resets', { user: 'x' })).status, 404);
  } finally {
    await g.stop();
  }
});
