import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createMailSender, type MailTerms, sendOneMail } from '../../src/notices/mail-sender.ts';
import type { Notice } from '../../src/notices/notice.ts';
import { CERTIFICATE } from '../support/certificate.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { ask, createPerson } from '../support/people.ts';
import { until } from '../support/until.ts';
import { startRawServer } from '../support/upstream.ts';

/** Notices and links by mail: recipients, contents, and failures. */

const notice: Notice = {
  id: 'ntc_1',
  kind: 'key.expiring',
  accountId: 'acct_1',
  subject: 'key_1',
  data: { name: 'evil\r\nBcc: other@people.example', prefix: 'sk-fg-Ab12', expiresAt: '2026-11-27T12:00:00.000Z' },
  atMs: Date.parse('2026-11-20T12:00:00Z'),
};
const going = (): AbortSignal => new AbortController().signal;

describe('a mail', { timeout: 60_000 }, () => {
  let server: MailServer;
  before(async () => {
    server = await startMailServer();
  });
  after(() => server.close());
  beforeEach(() => {
    server.received.length = 0;
    server.refused.clear();
  });

  const terms = (given: Partial<MailTerms> = {}): MailTerms => ({
    host: 'localhost',
    port: server.port,
    tls: 'starttls',
    user: 'gateway',
    password: 'mail-password',
    from: 'Gateway <gateway@example.com>',
    ca: CERTIFICATE,
    name: null,
    supportAddress: null,
    ...given,
  });

  it('is sent over TLS after signing in, with a constant message id and without injected headers', async () => {
    const send = createMailSender(terms(), 'en', null);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await send({ notice, to: 'lin@people.example' }, going()), {
        outcome: 'delivered',
        status: null,
      });
    }
    for (const mail of server.received) {
      assert.deepEqual(
        [mail.from, mail.to, mail.isSecure, mail.user],
        ['gateway@example.com', ['lin@people.example'], true, 'gateway'],
      );
      assert.match(mail.text, /^Message-ID: <ntc_1@example.com>\r$/m);
      assert.match(mail.text, /^Subject: .*expires soon\r$/m);
      const head = mail.text.slice(0, mail.text.indexOf('\r\n\r\n'));
      assert.doesNotMatch(head, /^bcc:/im);
    }
  });

  it('has the name of the branding in its subject, and the support address at its end', async () => {
    const send = createMailSender(terms({ name: 'Acme', supportAddress: 'help@acme.example' }));
    await send({ notice, to: 'lin@people.example' }, going());
    const { text } = server.received[0]!;
    assert.match(text, /^Subject: Acme: .*expires soon\r$/m);
    assert.match(text, /\r\n--(?: |=20)\r\nAcme\r\nhelp@acme\.example\r\n/);
  });

  it('is retried after a temporary failure, but not for an unknown address', async () => {
    const send = createMailSender(terms(), 'en', null);
    const finals: unknown[] = [];
    for (const code of [450, 550]) {
      server.refused.set('lin@people.example', code);
      const result = await send({ notice, to: 'lin@people.example' }, going());
      finals.push(result.outcome === 'failed' && [result.status, result.isFinal]);
    }
    assert.deepEqual(finals, [
      [450, false],
      [550, true],
    ]);
  });

  const failing: Record<string, Partial<MailTerms>> = {
    'a wrong password': { password: 'wrong' },
    'an untrusted certificate': { ca: '' },
    'a server that is not there': { port: 1 },
  };
  for (const [what, given] of Object.entries(failing)) {
    it(`fails with ${what}, without revealing secrets`, async () => {
      const { ca, ...rest } = terms(given);
      const sender = createMailSender(ca === '' ? rest : { ...rest, ...(ca !== undefined && { ca }) }, 'en', null);
      const result = await sender({ notice, to: 'lin@people.example' }, going());
      assert.equal(result.outcome, 'failed');
      assert.doesNotMatch(JSON.stringify(result), /wrong|mail-password|lin@/);
      assert.equal(server.received.length, 0);
    });
  }

  it('times out at a silent server, and when the node stops', async (context) => {
    const silent = await startRawServer(() => undefined);
    context.after(silent.close);
    const mail = { to: 'lin@people.example', subject: 's', text: 't', id: null };
    const late = await sendOneMail(terms({ port: silent.port }), mail, going(), 100);
    assert.match(late.outcome === 'failed' ? late.error : '', /ETIMEDOUT/);
    const stopping = new AbortController();
    const sending = sendOneMail(terms({ port: silent.port }), mail, stopping.signal);
    stopping.abort(new Error('the node stops'));
    await assert.rejects(sending, /the node stops/);
  });
});

describe('a gateway with a mail server', { timeout: 60_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  let server: MailServer;
  let g: TestGateway;
  before(async () => {
    server = await startMailServer();
    g = await startGateway({
      clock,
      noticeSettings: `
notices: { lowBalanceYuan: "1" }
mail: { smtp: { host: 127.0.0.1, port: ${server.port}, tls: none }, from: gateway@example.com }`,
    });
  });
  after(async () => {
    await g.stop();
    await server.close();
  });
  beforeEach(() => {
    server.received.length = 0;
  });

  async function lower(accountId: string): Promise<void> {
    const lowered = await g.admin('POST', `/accounts/${accountId}/adjustments`, {
      amountYuan: '-99.5',
      memo: 'a test',
    });
    assert.equal(lowered.status, 201, JSON.stringify(lowered.body));
    await g.gateway.notices.settle();
  }

  it('writes to the account’s address if no owner has one', async () => {
    const account = await g.createAccount();
    await g.admin('PATCH', `/accounts/${account.id}`, { email: 'office@people.example' });
    await lower(account.id);
    assert.deepEqual(
      server.received.map(({ to }) => to),
      [['office@people.example']],
    );
    assert.match(server.received[0]!.text, /Balance low: 0\.5 yuan/);
  });

  it('writes once to each owner of the account, and to nobody else', async () => {
    const account = await g.createAccount();
    const other = await g.createAccount();
    await g.admin('PATCH', `/accounts/${account.id}`, { email: 'office@people.example' });
    const belongsTo = (accountId: string, role: 'owner' | 'member') =>
      createPerson(g, { memberships: [{ accountId, role }] });
    const owners = [await belongsTo(account.id, 'owner'), await belongsTo(account.id, 'owner')];
    await belongsTo(account.id, 'member');
    await belongsTo(other.id, 'owner');
    await until(() => server.received.length === 4);
    server.received.length = 0;
    await lower(account.id);
    assert.deepEqual(server.received.flatMap(({ to }) => to).toSorted(), owners.map(({ email }) => email).toSorted());
  });

  it('sends a link to its user', async () => {
    const made = await g.admin('POST', '/users', { name: 'Lin', email: 'new@people.example' });
    await until(() => server.received.length === 1);
    const [mail] = server.received;
    assert.deepEqual(mail!.to, ['new@people.example']);
    const token = /token=([^&\s]+)/.exec(made.body.link)![1]!;
    assert.ok(mail!.text.replaceAll('=\r\n', '').replaceAll('=3D', '=').includes(token));
  });

  it('limits invitations per address, even if they are revoked, and shows no links from names', async () => {
    const account = await g.createAccount();
    const name = 'Your mailbox is full: https://evil.example/x';
    await g.admin('PATCH', `/accounts/${account.id}`, { name });
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    await until(() => server.received.length === 1);
    const invite = (body: object) => ask(g, 'POST', '/invitations', { role: 'member', ...body }, owner.headers);
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) {
      const made = await invite({ email: 'victim@elsewhere.example' });
      statuses.push(made.status);
      if (made.status === 201) {
        assert.equal((await ask(g, 'DELETE', `/invitations/${made.body.id}`, undefined, owner.headers)).status, 204);
      } else {
        assert.equal(made.body.error.code, 'too_many_mails');
        assert.ok(Number(made.headers.get('retry-after')) > 600);
      }
    }
    assert.deepEqual(statuses, [...Array(10).fill(201), ...Array(15).fill(429)]);
    // Another owner cannot mail the address either; other addresses, and links without mail, still work.
    const other = await createPerson(g, { memberships: [{ accountId: (await g.createAccount()).id, role: 'owner' }] });
    const again = await ask(
      g,
      'POST',
      '/invitations',
      { email: 'Victim@elsewhere.example', role: 'member' },
      other.headers,
    );
    assert.equal(again.status, 429);
    assert.equal((await invite({ email: 'friend@elsewhere.example' })).status, 201);
    assert.equal((await invite({})).status, 201);
    const sent = () => server.received.filter(({ to }) => to[0]!.startsWith('victim@'));
    await until(() => server.received.some(({ to }) => to[0]!.startsWith('friend@')));
    assert.equal(sent().length, 10);
    for (const { text } of sent()) {
      assert.match(text, /^Subject: Invitation to Your mailbox is full:/m);
      assert.doesNotMatch(text, /evil/);
    }
  });

  it('sends notices to an address whenever there is a reason, within limits', async () => {
    const account = await g.createAccount();
    await g.admin('PATCH', `/accounts/${account.id}`, { email: 'bounded@people.example' });
    for (let i = 0; i < 45; i++) {
      for (const amountYuan of ['-99.5', '99.5']) {
        await g.admin('POST', `/accounts/${account.id}/adjustments`, { amountYuan, memo: 'a test' });
        await g.gateway.notices.settle();
      }
    }
    assert.equal(server.received.length, 40);
  });
});
