import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createRevisionStore } from '../../src/config/revisions/revisions-store.ts';
import { createSealingKey } from '../../src/config/sealed-secrets/sealing.ts';
import { createIdentityStore } from '../../src/people/identity-store.ts';
import { call, startCall } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { ask, createPerson, signIn, type TestPerson } from '../support/people.ts';
import { chatResponse, json, liveResponse } from '../support/provider.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';
import { allRows, exported, imported } from './books.ts';

/** Exports and imports twice in a row: compares every row and what clients see. */

const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 3, weeklyCalls: 50, concurrency: 3, quotaTokens: 100000, periodDays: 30, priceYuan: "9", models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;
const BODY = { model: 'test-chat', messages: [] };
const KEYED = { 'idempotency-key': 'a-call-to-repeat' };

describe('an export', { timeout: 300_000 }, () => {
  let source: TestDatabase;
  let server: TestDatabase;
  let account: TestAccount;
  let person: TestPerson;
  let text = '';
  let replied = '';
  let inFlight = '';
  let sourceRows: Record<string, string[]>;

  before(async () => {
    source = await createTestDatabase();
    server = await createTestDatabase();
    const key = createSealingKey(randomBytes(32));
    await using g = await startGateway({ stored: source, plans: PLANS, sealingKeys: () => [key] });
    account = await g.createAccount();
    await fill(g);
    // Two calls, one per context, are in flight when the database is exported.
    const lives = [liveResponse(), liveResponse()];
    g.provider.respond = (request, response) => lives.shift()!.respond(request, response);
    const [first, second] = lives;
    const running = [startCall(`${g.url}/v1/chat/completions`, account.key, { ...BODY, stream: true })];
    await first!.opened;
    running.push(startCall(`${g.url}/v1/coding/chat/completions`, account.key, { ...BODY, stream: true }));
    await second!.opened;
    inFlight = await exported(source.database);
    for (const live of [first!, second!]) live.end();
    for (const each of running) await (await each.response).ended();
    g.provider.respond = chatResponse();
    text = await exported(source.database);
    sourceRows = await allRows(source.database);
  });
  after(async () => {
    await source.remove();
    await server.remove();
  });

  async function fill(g: TestGateway): Promise<void> {
    const unused = await g.createAccount({ balanceYuan: '0', verified: false });
    await g.admin('DELETE', `/keys/${unused.keyId}`);
    await g.admin('POST', '/accounts', { name: 'once' }, { 'idempotency-key': 'an-account' });
    const subscriptions = `/accounts/${account.id}/subscriptions`;
    const granted = await g.admin('POST', subscriptions, { planId: 'coder' }, { 'idempotency-key': 'a-grant' });
    assert.equal(granted.status, 201);
    const lists = { allowedModels: ['test-chat', 'test-responses'], allowedNetworks: ['127.0.0.0/8', '::1'] };
    const scoped = await g.admin('POST', `/accounts/${account.id}/keys`, {
      name: 'both',
      scopes: ['account', 'calls'],
    });
    assert.equal(scoped.status, 201);
    const limited = await g.admin('PATCH', `/keys/${account.keyId}`, {
      concurrency: 5,
      dailyCalls: 100,
      modelBudgets: { 'test-chat': { monthlySpendCapYuan: '5' } },
      ...lists,
    });
    assert.equal(limited.status, 200);
    const priced = await g.admin('PATCH', `/accounts/${account.id}`, { priceFactorBasisPoints: 8_000 });
    assert.equal(priced.status, 200);
    const minute = { tokensPerMinute: 50_000, modelLimits: { 'test-chat': { requestsPerMinute: 500 } } };
    await g.admin('PATCH', `/accounts/${account.id}`, minute);
    const more = { amountYuan: '9007199.254740993', memo: '“¥ and \\ 汉”' };
    const topUp = await g.admin('POST', `/accounts/${account.id}/top-ups`, more, { 'idempotency-key': 'a-top-up' });
    assert.equal(topUp.status, 201);

    const drained = { provider: 'chatty', model: 'test-embeddings', reason: 'maintenance' };
    assert.equal((await g.admin('POST', '/routes/drain', drained)).status, 200);
    assert.equal((await g.admin('POST', '/tokens', { name: 'moved' })).status, 201);
    assert.equal((await g.admin('PUT', '/secrets/moved', { value: 'a-credential' })).status, 200);
    const revision = {
      text: 'models: {}',
      source: 'push',
      base: null,
      reason: null,
      createdBy: 'test',
      inForceAtMs: null,
    } as const;
    await createRevisionStore(source.database.pool('admin')).insert(revision);
    person = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const ofMember = { userId: person.id, modelBudgets: { 'test-chat': { totalSpendCapYuan: '6' } } };
    assert.equal((await g.admin('PATCH', `/accounts/${account.id}/members`, ofMember)).status, 200);
    for (const value of [null, 'own']) {
      const budget = { kind: 'tag', value, monthlySpendCapYuan: '7' };
      assert.equal((await g.admin('PATCH', `/accounts/${account.id}/caller-budgets`, budget)).status, 200);
    }
    assert.equal((await g.admin('POST', '/webhooks', { url: 'https://receiver.example/' })).status, 201);
    await g.admin('PUT', `/accounts/${unused.id}/low-balance`, { thresholdYuan: '10' });
    await g.admin('POST', `/accounts/${unused.id}/top-ups`, { amountYuan: '1' });
    await g.gateway.notices.settle();
    const paid = await g.admin('POST', `/accounts/${account.id}/top-ups`, { amountYuan: '2', reference: 'transfer 1' });
    const buyer = { companyName: 'Lantern Ltd', taxNumber: '91310000X' };
    assert.equal((await g.admin('PATCH', `/accounts/${account.id}`, { buyer })).status, 200);
    const asked = { entryIds: [paid.body.entryId] };
    assert.equal((await ask(g, 'POST', '/invoice-requests', asked, person.headers)).status, 201);
    const identities = createIdentityStore(source.database.pool('admin'));
    const identity = { id: 'idn_1', issuer: 'https://login.example', subject: 'lin' };
    assert.equal(await identities.add(person.id, identity, new Date()), null);

    const announced = { textEn: 'Maintenance', endsAt: '2100-01-01T00:00:00Z' };
    assert.equal((await g.admin('POST', '/announcements', announced)).status, 201);
    for (const given of [{ amountYuan: '3' }, { planId: 'coder' }]) {
      const vouchers = await g.admin('POST', '/vouchers', { name: 'moved', count: 2, ...given });
      const redeemed = await g.admin('POST', `/accounts/${account.id}/vouchers`, { code: vouchers.body.codes[0] });
      assert.equal(redeemed.status, 201, JSON.stringify(redeemed.body));
    }

    g.provider.respond = chatResponse();
    const keyed = await call(`${g.url}/v1/chat/completions`, account.key, BODY, { headers: KEYED });
    assert.equal(keyed.status, 200);
    replied = keyed.text;
    assert.equal((await call(`${g.url}/v1/coding/chat/completions`, account.key, BODY)).status, 200);
    g.provider.respond = json(200, {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    });
    const response = await call(
      `${g.url}/v1/responses`,
      account.key,
      { model: 'test-responses', input: 'x' },
      { headers: { 'x-faregate-tags': 'own, other' } },
    );
    assert.equal(response.status, 200);
    g.provider.respond = json(400, { error: { message: 'no' } });
    assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, BODY)).status, 400);
    await dropMonth(g);
  }

  /** A month whose records were dropped; its calls failed. */
  async function dropMonth(g: TestGateway): Promise<void> {
    const [row] = await sql<{ sums: string }>(
      g.database,
      `select string_agg(quote_ident(attname), ', ') as sums from pg_attribute
where attrelid = 'dropped_usage'::regclass and attnum > 0 and atttypid = 'bigint'::regtype`,
    );
    const sums = row!.sums;
    await g.database.script(`
insert into dropped_months (month, dropped_at, drops) values ('2020-01-01', '2020-03-01', 1);
insert into dropped_calls (account_id, dropped_in, month, calls, charged_calls, charge_nano)
values ('${account.id}', '2020-01-01', '2020-01-01', 7, 0, 0);
insert into dropped_uses (account_id, dropped_in, owner_id, counter, place, amount)
values ('${account.id}', '2020-01-01', '${account.keyId}', 'calls', '1@0', 7);
insert into dropped_usage (account_id, dropped_in, day, key_id, model, provider, status, context, ${sums})
values ('${account.id}', '2020-01-01', '2020-01-07', '${account.keyId}', 'test-chat', 'chatty', 'failed', 'balance', ${sums
      .split(', ')
      .map(() => 0)
      .join(', ')})`);
  }

  it('contains rows of every table', async () => {
    const end = JSON.parse(text.trimEnd().split('\n').at(-1)!).end;
    for (const [table, rows] of Object.entries(end.rows)) assert.notEqual(rows, 0, table);
  });

  it('is imported into an empty database and from there into another one, row by row', async () => {
    const { rows, unsound } = await imported(server.database, text);
    assert.deepEqual(unsound, []);
    assert.equal(rows.accounts, 3);
    await assertSound(inOneDatabase(server.database));
    assert.deepEqual(await allRows(server.database), sourceRows);
    await using again = await createTestDatabase();
    await imported(again.database, await exported(server.database));
    await assertSound(inOneDatabase(again.database));
    assert.deepEqual(await allRows(again.database), sourceRows);
  });

  it('preserves keys, stored responses, idempotent repeats and windows', async () => {
    await using g = await startGateway({ stored: server, plans: PLANS });
    g.provider.respond = chatResponse();
    const repeat = await call(`${g.url}/v1/chat/completions`, account.key, BODY, { headers: KEYED });
    assert.deepEqual([repeat.status, repeat.text], [200, replied]);
    assert.equal(g.provider.requests.length, 0, 'the repeat was called again');
    const topUp = { amountYuan: '9007199.254740993', memo: '“¥ and \\ 汉”' };
    const entries = async (): Promise<{ id: string; amountYuan: string }[]> =>
      (await g.admin('GET', `/accounts/${account.id}/ledger`)).body.data;
    const before = await entries();
    await g.admin('POST', `/accounts/${account.id}/top-ups`, topUp, { 'idempotency-key': 'a-top-up' });
    assert.deepEqual(await entries(), before);
    assert.ok(before.some(({ amountYuan }) => amountYuan === '9007199.254740993'));

    // Existing sessions and new sign-ins work.
    assert.equal((await ask(g, 'GET', '/account', undefined, person.headers)).status, 401);
    const own = await ask(g, 'GET', '/account', undefined, await signIn(g, person));
    assert.equal(own.body.id, account.id);

    const { data: budgets } = (await g.admin('GET', `/accounts/${account.id}/caller-budgets`)).body;
    const used = budgets.map(({ value, used }: { value: string | null; used: { monthlySpendYuan: string } }) => [
      value,
      used.monthlySpendYuan !== '0',
    ]);
    assert.deepEqual(used, [
      [null, false],
      ['own', true],
      ['other', true],
    ]);
    const { priceFactorBasisPoints } = (await g.admin('GET', `/accounts/${account.id}`)).body;
    assert.equal(priceFactorBasisPoints, 8_000);
    const [forBoth, key] = (await g.admin('GET', `/accounts/${account.id}/keys`)).body.data;
    assert.deepEqual(forBoth.scopes, ['account', 'calls']);
    assert.deepEqual(key.allowedModels, ['test-chat', 'test-responses']);
    assert.deepEqual(key.allowedNetworks, ['127.0.0.0/8', '::1']);
    const other = { model: 'test-both', messages: [] };
    assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, other)).status, 403);

    // Two of the three calls allowed in five hours were made before.
    const coding = () => call(`${g.url}/v1/coding/chat/completions`, account.key, BODY);
    assert.equal((await coding()).status, 200);
    assert.equal((await coding()).json.error.code, 'package_5h_quota_exhausted');
    assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, BODY)).status, 200);
    assert.equal((await entries()).length, before.length + 1);
  });

  it('contains the reservations and windows of calls in flight as released', async () => {
    await using stored = await createTestDatabase();
    await imported(stored.database, inFlight);
    await assertSound(inOneDatabase(stored.database));
    const [subscription] = await sql<Record<string, bigint>>(
      stored.database,
      'select slots, week_calls, in_flight, period_reserved_tokens from subscriptions',
    );
    assert.deepEqual(subscription, { slots: 1n, week_calls: 1n, in_flight: 0n, period_reserved_tokens: 0n });
    const [money] = await sql<{ held: bigint; in_flight: bigint; calls: bigint }>(
      stored.database,
      `select b.reserved_nano as held, l.in_flight, l.calls from balances b join key_limits l using (account_id)`,
    );
    assert.deepEqual(money, { held: 0n, in_flight: 0n, calls: 3n });
    const rates = await sql<object>(
      stored.database,
      `select model, requests_max, tokens_max, requests_used > 0 as has_requests from rate_limits order by model`,
    );
    assert.deepEqual(rates, [
      { model: '', requests_max: null, tokens_max: 50_000n, has_requests: false },
      { model: 'test-chat', requests_max: 500n, tokens_max: null, has_requests: true },
    ]);
  });
});
