import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { ask, createPerson, type TestPerson } from '../support/people.ts';
import { chatResponse } from '../support/provider.ts';
import { sql } from '../support/sql.ts';

/** Statements, receipts and requests for invoices. */

const BUYER = { companyName: 'Lantern Ltd', taxNumber: '91310000X', address: null, email: 'books@lantern.example' };
const TESTS = 6;
const LOGO = join(tmpdir(), `seller-logo-${process.pid}.svg`);

describe('papers of an account', { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  let mails: MailServer;
  let g: TestGateway;
  const accounts: string[] = [];
  let accountId: string;
  let owner: TestPerson;

  before(async () => {
    writeFileSync(LOGO, '<svg xmlns="http://www.w3.org/2000/svg"/>');
    mails = await startMailServer();
    g = await startGateway({
      clock,
      billing: `seller: { name: Acme Models, taxNumber: "91110000Y", address: "1 Mill Road", logo: ${LOGO} }`,
      noticeSettings: `mail: { smtp: { host: 127.0.0.1, port: ${mails.port}, tls: none }, from: gateway@example.com }`,
    });
    g.provider.respond = chatResponse();
    // Accounts with a charge in November. From then on it is December.
    for (let i = 0; i < TESTS; i++) {
      const account = await g.createAccount();
      const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
      assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, hello)).status, 200);
      accounts.push(account.id);
    }
    clock.set('2026-12-02T12:00:00Z');
  });
  after(async () => {
    await g.stop();
    await mails.close();
    rmSync(LOGO);
  });

  beforeEach(async () => {
    accountId = accounts.pop()!;
    owner = await createPerson(g, { name: 'Ada', memberships: [{ accountId, role: 'owner' }] });
  });

  const own = (method: string, path: string, body?: object, person = owner) =>
    ask(g, method, path, body, person.headers);
  const request = (body: object) => own('POST', '/invoice-requests', body);

  async function topUp(body: object, headers = {}): Promise<string> {
    const made = await g.admin('POST', `/accounts/${accountId}/top-ups`, { amountYuan: '50', ...body }, headers);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body.entryId;
  }

  async function enterBuyer(): Promise<void> {
    const changed = await own('PATCH', '/account', { buyer: BUYER });
    assert.deepEqual([changed.status, changed.body.buyer], [200, BUYER]);
  }

  it('a top-up keeps the reference of its payment, which a repeat cannot change', async () => {
    const key = { 'idempotency-key': 'transfer-1' };
    const reference = 'transfer 2026-0042';
    const id = await topUp({ reference, memo: 'for operators' }, key);
    assert.equal(await topUp({ reference, memo: 'for operators' }, key), id);
    const path = `/accounts/${accountId}/top-ups`;
    const other = { amountYuan: '50', reference: 'another', memo: 'for operators' };
    assert.equal((await g.admin('POST', path, other, key)).status, 409);
    assert.equal((await g.admin('POST', path, { amountYuan: '1', reference: 'x'.repeat(65) })).status, 400);
    const { body } = await own('GET', '/ledger?kind=top_up&limit=1');
    assert.deepEqual([body.data[0].id, body.data[0].reference, 'memo' in body.data[0]], [id, reference, false]);
    const csv = await fetch(`${g.url}/account/v1/statement?month=2026-12`, {
      headers: { ...owner.headers, accept: 'text/csv' },
    });
    assert.match(await csv.text(), /transfer 2026-0042/);
    const audit = (await g.admin('GET', '/changes?limit=20')).body.data;
    assert.ok(audit.some(({ after }: { after: { reference?: string } | null }) => after?.reference === reference));
  });

  it('statement and receipt name the seller, the account and the buyer', async () => {
    const id = await topUp({ reference: 'transfer-7' });
    const statement = (await own('GET', '/statement?month=2026-11')).body;
    assert.deepEqual([statement.accountName, statement.buyer], ['tester', null]);
    assert.match(statement.seller.logo, /^data:image\/svg\+xml;base64,/);
    await enterBuyer();
    const receipt = (await own('GET', `/receipts/${id}`)).body;
    assert.deepEqual(receipt, {
      number: id,
      accountId,
      accountName: 'tester',
      seller: { ...statement.seller, name: 'Acme Models', taxNumber: '91110000Y', address: '1 Mill Road' },
      buyer: BUYER,
      amountYuan: '50',
      reference: 'transfer-7',
      createdAt: '2026-12-02T12:00:00.000Z',
      timezone: 'Asia/Shanghai',
    });
    assert.deepEqual((await g.admin('GET', `/receipts/${id}`)).body, receipt);
    const removed = await g.admin('PATCH', `/accounts/${accountId}`, { buyer: null });
    assert.equal(removed.body.buyer, null);
  });

  it('a receipt is only of a top-up of the own account', async () => {
    const [charge] = (await own('GET', '/ledger?kind=charge')).body.data;
    const id = await topUp({});
    const stranger = await createPerson(g, {
      memberships: [{ accountId: (await g.createAccount()).id, role: 'owner' }],
    });
    assert.equal((await own('GET', `/receipts/${charge.id}`)).status, 404);
    assert.equal((await own('GET', `/receipts/${id}`, undefined, stranger)).status, 404);
    for (const wrong of ['le_', 'le_x_1', `${id}0`, 'none']) {
      assert.equal((await own('GET', `/receipts/${wrong}`)).status, 404, wrong);
    }
  });

  it('an invoice for a month is requested once, even by two requests at the same time', async () => {
    const early = await request({ month: '2026-11' });
    assert.deepEqual([early.status, early.body.error.message], [409, 'Enter the particulars of the buyer first.']);
    await enterBuyer();
    const [charge] = (await own('GET', '/ledger?kind=charge')).body.data;
    const both = await Promise.all([request({ month: '2026-11' }), request({ month: '2026-11' })]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 409]);
    const made = both.find(({ status }) => status === 201)!.body;
    assert.deepEqual(
      [made.month, made.entryIds, made.amountYuan, made.state, made.buyer],
      ['2026-11', null, charge.amountYuan.replace('-', ''), 'open', BUYER],
    );
    assert.equal((await request({ month: '2026-11' })).status, 409);
    for (const month of ['2026-12', '2026-10']) assert.equal((await request({ month })).status, 422, month);
    for (const body of [{}, { month: '2026-11', entryIds: ['le_x_1'] }, { entryIds: [] }, { month: 'May' }]) {
      assert.equal((await request(body)).status, 400, JSON.stringify(body));
    }
    await g.gateway.notices.settle();
    assert.deepEqual(await sql(g.database, `select kind, account_id from notices where subject = $1`, [made.id]), [
      { kind: 'invoice.requested', account_id: null },
    ]);
  });

  it('each top-up is invoiced once, alone or with others', async () => {
    await enterBuyer();
    const [one, two, three] = [await topUp({}), await topUp({}), await topUp({ amountYuan: '7.5' })];
    const overlapping = await Promise.all([request({ entryIds: [one, two] }), request({ entryIds: [two, three] })]);
    assert.deepEqual(overlapping.map(({ status }) => status).toSorted(), [201, 409]);
    const free = overlapping[0]!.status === 201 ? three : one;
    assert.equal((await request({ entryIds: [free] })).status, 201);
    const [charge] = (await own('GET', '/ledger?kind=charge')).body.data;
    for (const entryIds of [[charge.id], [one.replace(/\d+$/, '999')], ['le_other_1'], [one, one]]) {
      assert.ok([400, 422].includes((await request({ entryIds })).status), JSON.stringify(entryIds));
    }
    const before = await sql(g.database, 'select balance_nano from balances where account_id = $1', [accountId]);
    const { data } = (await own('GET', '/invoice-requests')).body;
    assert.equal(data.length, 2);
    assert.ok(!('closedBy' in data[0]) && !('accountId' in data[0]));
    assert.deepEqual(
      await sql(g.database, 'select balance_nano from balances where account_id = $1', [accountId]),
      before,
    );
  });

  it('an operator closes a request once; after a refusal it can be made again', async () => {
    await enterBuyer();
    const id: string = (await request({ month: '2026-11' })).body.id;
    clock.advance(1_000);
    const open = async () => (await g.admin('GET', `/invoice-requests?state=open&accountId=${accountId}`)).body.data;
    assert.deepEqual(
      (await open()).map((each: { id: string }) => each.id),
      [id],
    );
    const refuse = { note: 'The tax number is wrong.' };
    const issue = { invoiceNumber: 'INV-1', note: 'sent by post' };
    const closings = await Promise.all([
      g.admin('POST', `/invoice-requests/${id}/issue`, issue),
      g.admin('POST', `/invoice-requests/${id}/issue`, issue),
    ]);
    assert.deepEqual(closings.map(({ status }) => status).toSorted(), [200, 409]);
    assert.equal((await g.admin('POST', `/invoice-requests/${id}/refuse`, refuse)).status, 409);
    assert.equal((await g.admin('POST', '/invoice-requests/inv_none/refuse', refuse)).status, 404);
    assert.equal((await request({ month: '2026-11' })).status, 409);
    assert.deepEqual(await open(), []);
    const entry = await topUp({});
    const second: string = (await request({ entryIds: [entry] })).body.id;
    assert.equal((await g.admin('POST', `/invoice-requests/${second}/refuse`, {})).status, 400);
    const refused = await g.admin('POST', `/invoice-requests/${second}/refuse`, refuse);
    assert.deepEqual(
      [refused.body.state, refused.body.note, refused.body.invoiceNumber, refused.body.accountName],
      ['refused', refuse.note, null, 'tester'],
    );
    assert.equal((await request({ entryIds: [entry] })).status, 201);
    await g.gateway.notices.settle();
    const told = mails.received.filter(({ to }) => to.includes(owner.email)).map(({ text }) => text);
    assert.ok(
      told.some((text) => text.includes('Subject: Invoice INV-1 is issued')),
      told.join('\n'),
    );
    assert.ok(told.some((text) => text.includes('refused')));
    const { body } = await g.admin('GET', `/changes?subjectId=${id}`);
    assert.deepEqual(
      body.data.map((row: { action: string; outcome: string }) => [row.action, row.outcome]),
      [
        ['invoice-requests.issue', 'done'],
        ['invoice-requests.create', 'done'],
      ],
    );
  });
});
