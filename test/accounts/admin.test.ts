import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createGateway } from '../../src/app/gateway.ts';
import { parseConfig } from '../../src/config/load.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { formatYuan } from '../../src/lib/yuan.ts';
import { call } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  ADMIN_TOKEN,
  type AdminResponse,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { chatUsage, json } from '../support/provider.ts';
import { servedOf } from '../support/spread-database.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** The admin API as an operator's script uses it. */

const NOON = '2026-11-20T04:00:00.000Z';
const NOBODY = 'acct_00000000000000000000000000';
const callCost = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });

function assertError(response: AdminResponse, status: number, code: string, param: string | null = null): void {
  assert.equal(response.status, status, JSON.stringify(response.body));
  assert.deepEqual(Object.keys(response.body), ['error']);
  const { error } = response.body;
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param']);
  assert.deepEqual([error.code, error.param], [code, param], error.message);
  assert.ok(typeof error.message === 'string' && error.message.length > 0 && error.message.length < 1_000);
}

/** Walks a list to its end, and returns everything that was on its pages. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
async function readAll(g: TestGateway, path: string, limit: number): Promise<any[]> {
  const found: unknown[] = [];
  let cursor: string | null = null;
  do {
    const query: string = `limit=${limit}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { status, body } = await g.admin('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(Object.keys(body), ['data', 'nextCursor']);
    assert.ok(body.data.length <= limit);
    assert.ok(body.nextCursor === null || body.data.length === limit);
    found.push(...body.data);
    cursor = body.nextCursor;
  } while (cursor !== null);
  return found;
}

const idsOf = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id);

/** Whether the gateway accepts a key: 200 or 401, without calling a provider. */
async function state(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } });
  await response.text();
  return response.status;
}

const hello = (model = 'test-chat'): object => ({ model, messages: [{ role: 'user', content: 'Hello' }] });

let clock: TestClock;
let g: TestGateway;

const setUp = (): void => {
  before(async () => {
    clock = createTestClock(NOON);
    g = await startGateway({ clock });
  });
  after(() => g?.stop());
};
const chat = (account: Pick<TestAccount, 'key'>, model?: string) => {
  clock.advance(1);
  return call(`${g.url}/v1/chat/completions`, account.key, hello(model));
};

describe(`the admin API`, { timeout: 300_000 }, () => {
  setUp();

  test('refuses an unsupported method with 405 and the supported ones', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/accounts', 'POST, GET'],
      ['PUT', '/accounts/acct_1', 'GET, PATCH'],
      ['GET', '/keys/key_1', 'PATCH, DELETE'],
      ['GET', '/subscriptions/sub_1', 'DELETE'],
    ] as const) {
      const response = await fetch(`${g.url}/admin/v1${path}`, { method });
      assert.equal(response.status, 405);
      assert.equal(response.headers.get('allow'), allow);
      assert.deepEqual(await response.json(), {
        error: {
          code: 'method_not_allowed',
          message: `This address accepts only ${allow.replace(', ', ' and ')}.`,
          param: null,
        },
      });
    }
  });

  // Every address refuses whoever it is not for in `test/people/walk.test.ts`.
  test('refuses all but the operator', async () => {
    const account = await g.createAccount();
    const before = (await g.admin('GET', '/accounts')).body;
    for (const headers of [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer wrong' },
      { authorization: `Bearer ${ADMIN_TOKEN}x` },
      { authorization: `Bearer ${ADMIN_TOKEN.slice(0, -1)}` },
      { authorization: `Basic ${ADMIN_TOKEN}` },
      { authorization: ADMIN_TOKEN },
      { authorization: `Bearer ${account.key}` },
      { 'x-api-key': ADMIN_TOKEN },
    ]) {
      const response = await fetch(`${g.url}/admin/v1/accounts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers } as Record<string, string>,
        body: '{"name":"x"}',
      });
      assertError({ status: response.status, body: await response.json() }, 401, 'invalid_api_key');
      assert.equal(response.headers.get('x-error-code'), 'invalid_api_key');
      assert.equal(response.headers.get('x-should-retry'), 'false');
      assert.equal(response.headers.get('request-id'), response.headers.get('x-request-id'));
    }
    assert.deepEqual((await g.admin('GET', '/accounts')).body, before);
  });

  test('refuses bodies other than a JSON object with known fields', async () => {
    const post = async (body: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${g.url}/admin/v1/accounts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', ...headers },
        body,
      });
      return { status: response.status, body: await response.json() };
    };
    for (const body of ['', '{', '{"name":"x"', 'name=x']) assertError(await post(body), 400, 'invalid_request_error');
    for (const body of ['[]', '"x"', '1', 'null']) assertError(await post(body), 400, 'invalid_request_error');
    assertError(await post('{"name":"x"}', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type');
    assertError(await post(`{"name":"${'x'.repeat(2 ** 20)}"}`), 413, 'request_too_large');
  });

  test('refuses a body with a duplicate field, in any spelling, without effect', async () => {
    const account = await g.createAccount({ balanceYuan: '0' });
    const send = async (method: string, path: string, body: string) => {
      const response = await fetch(`${g.url}/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body,
      });
      return { status: response.status, body: await response.json() };
    };
    const cases: readonly (readonly [method: string, path: string, body: string, param: string])[] = [
      ['POST', `/accounts/${account.id}/top-ups`, '{"amountYuan":"1","amountYuan":"1000"}', 'amountYuan'],
      ['POST', `/accounts/${account.id}/top-ups`, '{"amountYuan":"1","amount\\u0059uan":"1"}', 'amountYuan'],
      ['POST', `/accounts/${account.id}/adjustments`, '{"memo":"a","amountYuan":"-1","memo":"b"}', 'memo'],
      ['POST', '/accounts', '{"name":"x","verified":false,"verified":true}', 'verified'],
      ['PATCH', `/accounts/${account.id}`, '{"status":"suspended","status":"active"}', 'status'],
      ['POST', `/accounts/${account.id}/keys`, '{"dailyCalls":1,"dailyCalls":null}', 'dailyCalls'],
      ['PATCH', `/keys/${account.keyId}`, '{"dailyCalls":1,"dailyCalls":null}', 'dailyCalls'],
      ['POST', `/accounts/${account.id}/subscriptions`, '{"planId":"a","planId":"b"}', 'planId'],
      ['POST', '/accounts', '{"name":{"a":[{"b":1,"b":2}]}}', 'name.a.0.b'],
      ['POST', '/accounts', '{"name":"x","Name":"y"}', 'Name'],
    ];
    for (const [method, path, body, param] of cases) {
      assertError(await send(method, path, body), 400, 'invalid_request_error', param);
    }
    assert.deepEqual((await g.admin('GET', `/accounts/${account.id}/ledger`)).body.data, []);
    assert.equal((await g.admin('GET', '/accounts?search=x')).body.data.length, 0);
  });

  test('refuses names and memos that contain control characters, with the field', async () => {
    const account = await g.createAccount();
    const bad = 'a\u001b[2Jb';
    for (const [method, path, body, param] of [
      ['POST', '/accounts', { name: bad }, 'name'],
      ['POST', '/accounts', { name: 'x', email: `${bad}@example.com` }, 'email'],
      ['PATCH', `/accounts/${account.id}`, { name: bad }, 'name'],
      ['PATCH', `/accounts/${account.id}`, { email: `${bad}@example.com` }, 'email'],
      ['POST', `/accounts/${account.id}/top-ups`, { amountYuan: '1', memo: bad }, 'memo'],
      ['POST', `/accounts/${account.id}/adjustments`, { amountYuan: '1', memo: bad }, 'memo'],
      ['POST', `/accounts/${account.id}/keys`, { name: bad }, 'name'],
    ] as const) {
      assertError(await g.admin(method, path, body), 400, 'invalid_request_error', param);
    }
    assert.equal((await g.admin('POST', '/accounts', { name: ' Zoë 王 😀\n' })).body.name, 'Zoë 王 😀');
    assert.equal((await g.admin('GET', `/accounts/${account.id}/ledger`)).body.data.length, 1);
  });

  test('responds with 404 for what does not exist, however its id is written', async () => {
    for (const id of [
      NOBODY,
      'x',
      '%00',
      'acct_%00',
      '%F0%9F%92%B0',
      "'%20or%201=1",
      '..%2F..%2Fetc',
      'a'.repeat(600),
      '-1',
    ]) {
      const amount = { amountYuan: '1', memo: 'test' };
      for (const response of [
        await g.admin('GET', `/accounts/${id}`),
        await g.admin('PATCH', `/accounts/${id}`, { name: 'x' }),
        await g.admin('PATCH', `/accounts/${id}`, { dailySpendCapYuan: '1' }),
        await g.admin('POST', `/accounts/${id}/top-ups`, amount),
        await g.admin('POST', `/accounts/${id}/adjustments`, amount),
        await g.admin('GET', `/accounts/${id}/ledger`),
        await g.admin('POST', `/accounts/${id}/keys`, {}),
        await g.admin('GET', `/accounts/${id}/keys`),
        await g.admin('PATCH', `/keys/${id}`, { dailyCalls: 1 }),
        await g.admin('DELETE', `/keys/${id}`),
        await g.admin('POST', `/accounts/${id}/subscriptions`, { planId: 'any' }),
        await g.admin('GET', `/accounts/${id}/subscriptions`),
        await g.admin('POST', `/subscriptions/${id}/renewals`),
        await g.admin('DELETE', `/subscriptions/${id}`),
        await g.admin('GET', `/calls/${id}`),
      ]) {
        assertError(response, 404, 'not_found');
      }
    }
  });

  test('checks the invariants of the ledger, and reports violated ones', async () => {
    const account = await g.createAccount();
    const before = (await g.admin('POST', '/audit')).body;
    assert.deepEqual(Object.keys(before), ['isSound', 'invariants']);
    assert.equal(before.isSound, true);
    assert.ok(before.invariants.length >= 7);
    for (const { invariant, breaches } of before.invariants) {
      assert.ok(invariant.length > 10);
      assert.deepEqual(breaches, []);
    }
    const move = (by: string) =>
      g.database.script(`update balances set reserved_nano = reserved_nano ${by} where account_id = '${account.id}'`);
    await move('+ 1');
    const broken = (await g.admin('POST', '/audit')).body;
    await move('- 1');
    // Of several partitions each says which one it is.
    const withoutPartition = (each: object): object =>
      JSON.parse(JSON.stringify(each).replaceAll(/"partition \d: /g, '"'));
    assert.equal(broken.isSound, false);
    assert.deepEqual(
      withoutPartition(broken.invariants.filter(({ breaches }: { breaches: unknown[] }) => breaches.length > 0)),
      [
        {
          invariant: 'reserved money is the sum of the open reservations',
          breaches: [{ accountId: account.id, detail: 'reserved 1, reservations 0' }],
        },
      ],
    );
  });
});

describe(`accounts`, { timeout: 60_000 }, () => {
  setUp();

  test('are created with the given fields, and defaults for the rest', async () => {
    const plain = await g.admin('POST', '/accounts', { name: '  Ada  ' });
    assert.equal(plain.status, 201);
    assert.match(plain.body.id, /^acct_[0-9a-z]{26}$/);
    assert.deepEqual(plain.body, {
      id: plain.body.id,
      name: 'Ada',
      email: null,
      verified: false,
      status: 'active',
      statusReason: null,
      statusChangedAt: null,
      balanceYuan: '0',
      heldYuan: '0',
      spentTodayYuan: '0',
      dailySpendCapYuan: null,
      ownDailySpendCapYuan: null,
      priceFactorBasisPoints: 10_000,
      requestsPerMinute: null,
      tokensPerMinute: null,
      modelLimits: {},
      groupId: null,
      allowedModels: null,
      membersSeeBalance: true,
      recording: { clientAddress: false, program: false, endUser: false },
      buyer: null,
      createdAt: NOON,
    });
    const full = await g.admin('POST', '/accounts', {
      name: '名字 "quoted" \\ \u{1f4b0}',
      email: 'ada@example.com',
      verified: true,
      dailySpendCapYuan: '12.50',
    });
    assert.equal(full.status, 201);
    assert.deepEqual(
      [full.body.name, full.body.email, full.body.verified, full.body.dailySpendCapYuan],
      ['名字 "quoted" \\ \u{1f4b0}', 'ada@example.com', true, '12.5'],
    );
    assert.deepEqual((await g.admin('GET', `/accounts/${full.body.id}`)).body, full.body);
  });

  test('are not created from invalid fields, and the first invalid one is named', async () => {
    const before = (await readAll(g, '/accounts', 500)).length;
    for (const [fields, param] of [
      [{}, 'name'],
      [{ name: null }, 'name'],
      [{ name: 7 }, 'name'],
      [{ name: '' }, 'name'],
      [{ name: ' \n ' }, 'name'],
      [{ name: 'x'.repeat(201) }, 'name'],
      [{ name: 'a\0b' }, 'name'],
      [{ name: 'half a \ud83d' }, 'name'],
      [{ name: 'x', email: 'not an address' }, 'email'],
      [{ name: 'x', email: 'a\0@example.com' }, 'email'],
      [{ name: 'x', verified: 'yes' }, 'verified'],
      [{ name: 'x', verified: null }, 'verified'],
      [{ name: 'x', dailySpendCapYuan: 5 }, 'dailySpendCapYuan'],
      [{ name: 'x', dailySpendCapYuan: '-1' }, 'dailySpendCapYuan'],
      [{ name: 'x', dailySpendCapYuan: '1e3' }, 'dailySpendCapYuan'],
      [{ name: 'x', dailySpendCapYuan: '100000001' }, 'dailySpendCapYuan'],
      [{ name: 'x', balanceYuan: 'abc' }, 'balanceYuan'],
      [{ name: 'x', balanceYuan: 5 }, 'balanceYuan'],
      [{ name: 'x', balanceYuan: '-0.1' }, 'balanceYuan'],
      [{ name: 'x', balanceYuan: '100000001' }, 'balanceYuan'],
      [{ name: 'x', heldYuan: '5' }, 'heldYuan'],
      [{ name: 'x', __proto__x: 1 }, '__proto__x'],
    ] as const) {
      assertError(await g.admin('POST', '/accounts', fields), 400, 'invalid_request_error', param);
    }
    assert.equal((await readAll(g, '/accounts', 500)).length, before);
  });

  test('are changed field by field; omitted fields are kept', async () => {
    const { body: created } = await g.admin('POST', '/accounts', { name: 'before', email: 'before@example.com' });
    let expected = created;
    for (const change of [
      {},
      { name: 'after' },
      { email: 'after@example.com' },
      { verified: true },
      { dailySpendCapYuan: '0' },
      { dailySpendCapYuan: '7.5' },
      { status: 'suspended' },
      { dailySpendCapYuan: null, status: 'active', verified: false },
    ]) {
      const { status, body } = await g.admin('PATCH', `/accounts/${created.id}`, change);
      assert.equal(status, 200);
      const statusChangedAt = new Date(clock.nowMs()).toISOString();
      expected = { ...expected, ...change, ...('status' in change ? { statusChangedAt } : {}) };
      assert.deepEqual(body, expected);
      assert.deepEqual((await g.admin('GET', `/accounts/${created.id}`)).body, expected);
    }
    for (const [change, param] of [
      [{ name: '' }, 'name'],
      [{ name: 'a\0' }, 'name'],
      [{ email: 'nowhere' }, 'email'],
      [{ verified: 1 }, 'verified'],
      [{ status: 'closed' }, 'status'],
      [{ dailySpendCapYuan: '-0.1' }, 'dailySpendCapYuan'],
      [{ name: 'fine', id: 'acct_other' }, 'id'],
    ] as const) {
      assertError(await g.admin('PATCH', `/accounts/${created.id}`, change), 400, 'invalid_request_error', param);
    }
    assert.deepEqual((await g.admin('GET', `/accounts/${created.id}`)).body, expected);
  });

  test('are listed newest first, page by page without gap or repeat, while others are being created', async () => {
    const created: string[] = [];
    for (let i = 0; i < 23; i++) {
      clock.advance(1);
      created.unshift((await g.admin('POST', '/accounts', { name: `page ${i}` })).body.id);
    }
    for (const limit of [1, 7, 23, 500]) {
      const listed = idsOf(await readAll(g, '/accounts?search=page', limit));
      assert.deepEqual(listed, created, `limit ${limit}`);
    }
    const first = (await g.admin('GET', '/accounts?search=page&limit=10')).body;
    clock.advance(1);
    await g.admin('POST', '/accounts', { name: 'page late' });
    const all = await readAll(g, '/accounts?search=page', 500);
    const second = (await g.admin('GET', `/accounts?search=page&limit=100&cursor=${first.nextCursor}`)).body;
    assert.deepEqual([...idsOf(first.data), ...idsOf(second.data)], created);
    assert.equal(all.length, created.length + 1);
  });

  test('are found by a part of their name or e-mail in any case, or by their id', async () => {
    const create = async (name: string, email?: string) =>
      (await g.admin('POST', '/accounts', { name, email })).body.id;
    const percent = await create('100% Wool_Works');
    const mail = await create('Somebody', 'Billing@Wool.example');
    const chinese = await create('羊毛');
    const search = async (text: string) =>
      idsOf((await g.admin('GET', `/accounts?search=${encodeURIComponent(text)}`)).body.data).sort();
    assert.deepEqual(await search('wool'), [percent, mail].sort());
    assert.deepEqual(await search('0% wOOl_w'), [percent]);
    assert.deepEqual(await search('%'), [percent]);
    assert.deepEqual(await search('羊'), [chinese]);
    assert.deepEqual(await search('billing@'), [mail]);
    assert.deepEqual(await search(chinese), [chinese]);
    assert.deepEqual(await search("wool' or '1'='1"), []);
  });

  test('are not listed for an invalid query, and the invalid field is named', async () => {
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=501', 'limit'],
      ['limit=-1', 'limit'],
      ['limit=1.5', 'limit'],
      ['limit=ten', 'limit'],
      ['limit=', 'limit'],
      ['limit=1&limit=2', 'limit'],
      ['cursor=', 'cursor'],
      ['cursor=%00', 'cursor'],
      [`cursor=${'a'.repeat(201)}`, 'cursor'],
      ['search=', 'search'],
      ['search=a%00b', 'search'],
      ['search=a&search=b', 'search'],
      ['offset=5', 'offset'],
    ] as const) {
      assertError(await g.admin('GET', `/accounts?${query}`), 400, 'invalid_request_error', param);
    }
  });
});

describe(`keys`, { timeout: 60_000 }, () => {
  setUp();

  test('are shown once, when they are created, and never again', async () => {
    const account = await g.createAccount();
    const created = await g.admin('POST', `/accounts/${account.id}/keys`, {
      name: 'ci',
      expiresAt: '2026-12-01T08:00:00+08:00',
    });
    assert.equal(created.status, 201);
    const { key, ...rest } = created.body;
    assert.match(key, /^sk-fg-[0-9A-Za-z]{38}$/);
    assert.match(rest.id, /^key_[0-9a-z]{26}$/);
    assert.ok(rest.prefix.length < 14 && key.startsWith(rest.prefix.replace('…', '')));
    assert.deepEqual(rest, {
      id: rest.id,
      accountId: account.id,
      name: 'ci',
      prefix: rest.prefix,
      createdAt: NOON,
      expiresAt: '2026-12-01T00:00:00.000Z',
      revokedAt: null,
      lastUsedAt: null,
      dailySpendCapYuan: null,
      weeklySpendCapYuan: null,
      monthlySpendCapYuan: null,
      totalSpendCapYuan: null,
      dailyCalls: null,
      concurrency: null,
      allowedModels: null,
      allowedNetworks: null,
      scopes: ['calls'],
      userId: null,
      formerUserName: null,
      requestsPerMinute: null,
      tokensPerMinute: null,
      modelBudgets: {},
      modelLimits: {},
    });
    assert.equal(await state(g.url, key), 200);

    const listed = (await g.admin('GET', `/accounts/${account.id}/keys`)).body.data;
    assert.deepEqual(
      listed.find(({ id }: { id: string }) => id === rest.id),
      { ...rest, used: null, usedByModel: {} },
    );
    await chat({ key });
    const secret = key.slice(12);
    for (const path of [
      `/accounts/${account.id}/keys`,
      `/accounts/${account.id}`,
      '/accounts',
      '/calls',
      `/accounts/${account.id}/ledger`,
    ]) {
      assert.ok(!JSON.stringify((await g.admin('GET', path)).body).includes(secret), path);
    }
    const stored = await sql(g.database, 'select k::text from api_keys k');
    assert.ok(!JSON.stringify(stored).includes(secret));
  });

  test('have a given name or the default one, and all of them work', async () => {
    const account = await g.createAccount();
    const unnamed = (await g.admin('POST', `/accounts/${account.id}/keys`, {})).body;
    assert.equal(unnamed.name, 'default');
    assert.equal(unnamed.expiresAt, null);
    assert.equal((await chat(unnamed)).status, 200);
    assert.equal((await account.lastCall()).keyId, unnamed.id);
    assert.equal((await chat(account)).status, 200);
    assert.equal((await account.lastCall()).keyId, account.keyId);
  });

  test('are not created from invalid fields', async () => {
    const account = await g.createAccount();
    for (const [fields, param] of [
      [{ name: '' }, 'name'],
      [{ name: 'a\0b' }, 'name'],
      [{ expiresAt: 'tomorrow' }, 'expiresAt'],
      [{ expiresAt: '2026-12-01' }, 'expiresAt'],
      [{ expiresAt: '2026-02-30T00:00:00Z' }, 'expiresAt'],
      [{ expiresAt: '0000-01-01T00:00:00Z' }, 'expiresAt'],
      [{ expiresAt: '9999-12-31T23:59:59-12:00' }, 'expiresAt'],
      [{ expiresAt: 1_800_000_000 }, 'expiresAt'],
      [{ key: 'sk-fg-mine' }, 'key'],
    ] as const) {
      assertError(await g.admin('POST', `/accounts/${account.id}/keys`, fields), 400, 'invalid_request_error', param);
    }
    assert.equal((await g.admin('GET', `/accounts/${account.id}/keys`)).body.data.length, 1);
  });

  test('are listed newest first, page by page, each account’s separately', async () => {
    const [account, other] = [await g.createAccount(), await g.createAccount()];
    const created = [account.keyId];
    for (let i = 0; i < 11; i++) {
      clock.advance(1);
      created.unshift((await g.admin('POST', `/accounts/${account.id}/keys`, { name: `k${i}` })).body.id);
    }
    for (const limit of [1, 4, 12, 50]) {
      assert.deepEqual(idsOf(await readAll(g, `/accounts/${account.id}/keys`, limit)), created);
    }
    assert.deepEqual(idsOf(await readAll(g, `/accounts/${other.id}/keys`, 5)), [other.keyId]);
  });

  test('are refused at once and for good when they are revoked, and their account’s other keys are not', async () => {
    const account = await g.createAccount();
    const spare = (await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'spare' })).body;
    assert.deepEqual([await state(g.url, account.key), await state(g.url, spare.key)], [200, 200]);
    clock.advance(1_000);
    const revokedAt = new Date(clock.nowMs()).toISOString();
    assert.deepEqual(await g.admin('DELETE', `/keys/${account.keyId}`), { status: 204, body: null });
    const refused = await chat(account);
    assert.equal(refused.status, 401);
    assert.equal(refused.json.error.code, 'invalid_api_key');
    assert.match(refused.json.error.message, /revoked/);
    assert.equal(await state(g.url, spare.key), 200);

    clock.advance(1_000);
    assert.equal((await g.admin('DELETE', `/keys/${account.keyId}`)).status, 204);
    const listed = (await g.admin('GET', `/accounts/${account.id}/keys`)).body.data;
    assert.deepEqual(
      Object.fromEntries(listed.map((key: { id: string; revokedAt: string | null }) => [key.id, key.revokedAt])),
      { [account.keyId]: revokedAt, [spare.id]: null },
    );
  });

  test('expire by the clock, to the millisecond', async () => {
    const account = await g.createAccount();
    const expiresAtMs = clock.nowMs() + 60_000;
    const { key } = (
      await g.admin('POST', `/accounts/${account.id}/keys`, { expiresAt: new Date(expiresAtMs).toISOString() })
    ).body;
    assert.equal(await state(g.url, key), 200);
    clock.advance(59_999);
    assert.equal(await state(g.url, key), 200);
    clock.advance(1);
    assert.equal(await state(g.url, key), 401);
    assert.equal(await state(g.url, account.key), 200);
    const refused = await chat({ key });
    assert.match(refused.json.error.message, /expired/);
  });

  test('let a call that has begun finish when they are revoked', async () => {
    const account = await g.createAccount();
    const respond = g.provider.respond;
    const gate = Promise.withResolvers<void>();
    g.provider.respond = async (request, response) => {
      await gate.promise;
      await respond(request, response);
    };
    const received = g.provider.requests.length + 1;
    const running = chat(account);
    await g.provider.received(received);
    await g.admin('DELETE', `/keys/${account.keyId}`);
    assert.equal(await state(g.url, account.key), 401);
    gate.resolve();
    g.provider.respond = respond;
    assert.equal((await running).status, 200);
    assert.equal((await account.lastCall()).chargeYuan, formatYuan(callCost));
  });
});

describe(`the ledger of an account`, { timeout: 60_000 }, () => {
  setUp();

  const topUp = (id: string, amountYuan: unknown, more: object = {}, headers: Record<string, string> = {}) =>
    g.admin('POST', `/accounts/${id}/top-ups`, { amountYuan, ...more }, headers);
  const adjust = (id: string, amountYuan: unknown, memo: unknown = 'test', headers: Record<string, string> = {}) =>
    g.admin('POST', `/accounts/${id}/adjustments`, { amountYuan, memo }, headers);
  const entryId = (accountId: string, n: number) => `le_${accountId.slice('acct_'.length)}_${n}`;

  test('has an entry for every change, newest first, with a number, the balance after it and the reason', async () => {
    const account = await g.createAccount({ balanceYuan: '0' });
    assert.deepEqual(await topUp(account.id, '10.50', { memo: ' invoice 7 ' }), {
      status: 201,
      body: { entryId: entryId(account.id, 1), balanceYuan: '10.5' },
    });
    clock.advance(1_000);
    assert.deepEqual(await adjust(account.id, '-0.000000001', 'rounding'), {
      status: 201,
      body: { entryId: entryId(account.id, 2), balanceYuan: '10.499999999' },
    });
    await chat(account);
    const record = await account.lastCall();
    assert.deepEqual(await adjust(account.id, '-20', '退款'), {
      status: 201,
      body: {
        entryId: entryId(account.id, 4),
        balanceYuan: formatYuan(10_499_999_999n - callCost - 20_000_000_000n),
      },
    });
    const { data, nextCursor } = (await g.admin('GET', `/accounts/${account.id}/ledger`)).body;
    assert.equal(nextCursor, null);
    const after = new Date(clock.nowMs()).toISOString();
    assert.deepEqual(data, [
      {
        id: entryId(account.id, 4),
        kind: 'adjustment',
        amountYuan: '-20',
        balanceAfterYuan: formatYuan(-9_500_000_001n - callCost),
        callId: null,
        memo: '退款',
        reference: null,
        createdAt: after,
      },
      {
        id: entryId(account.id, 3),
        kind: 'charge',
        amountYuan: formatYuan(-callCost),
        balanceAfterYuan: formatYuan(10_499_999_999n - callCost),
        callId: record.id,
        memo: null,
        reference: null,
        createdAt: after,
      },
      {
        id: entryId(account.id, 2),
        kind: 'adjustment',
        amountYuan: '-0.000000001',
        balanceAfterYuan: '10.499999999',
        callId: null,
        memo: 'rounding',
        reference: null,
        createdAt: new Date(clock.nowMs() - 1).toISOString(),
      },
      {
        id: entryId(account.id, 1),
        kind: 'top_up',
        amountYuan: '10.5',
        balanceAfterYuan: '10.5',
        callId: null,
        memo: 'invoice 7',
        reference: null,
        createdAt: new Date(clock.nowMs() - 1_001).toISOString(),
      },
    ]);
  });

  test('accepts no amount but a decimal string in yuan within its limits', async () => {
    const account = await g.createAccount({ balanceYuan: '0' });
    for (const amount of [5, null, undefined, '1e3', '1.0000000001', '100000000.000000001']) {
      assertError(await topUp(account.id, amount), 400, 'invalid_request_error', 'amountYuan');
      assertError(await adjust(account.id, amount), 400, 'invalid_request_error', 'amountYuan');
    }
    for (const amount of ['0', '-0', '-1', '0.0']) {
      assertError(await topUp(account.id, amount), 400, 'invalid_request_error', 'amountYuan');
    }
    assertError(await adjust(account.id, '0.00'), 400, 'invalid_request_error', 'amountYuan');
    for (const memo of [null, undefined, '', '  ', 7, 'x'.repeat(201), 'a\0b', 'half a \udcb0']) {
      assertError(
        await g.admin('POST', `/accounts/${account.id}/adjustments`, { amountYuan: '1', memo }),
        400,
        'invalid_request_error',
        'memo',
      );
    }
    assertError(await topUp(account.id, '1', { memo: 'a\0b' }), 400, 'invalid_request_error', 'memo');
    assertError(await topUp(account.id, '1', { currency: 'CNY' }), 400, 'invalid_request_error', 'currency');
    assert.deepEqual((await g.admin('GET', `/accounts/${account.id}/ledger`)).body, { data: [], nextCursor: null });

    assert.equal((await topUp(account.id, '100000000', { memo: null })).body.balanceYuan, '100000000');
    assert.equal((await topUp(account.id, '0.000000001')).body.balanceYuan, '100000000.000000001');
    assert.equal((await adjust(account.id, '-100000000')).body.balanceYuan, '0.000000001');
  });

  test('does not let a balance grow beyond what can be stored', async () => {
    const account = await g.createAccount({ balanceYuan: '0' });
    let balance = 0n;
    let last = await topUp(account.id, '100000000');
    for (; last.status === 201; last = await topUp(account.id, '100000000')) balance += 100_000_000n;
    assertError(last, 422, 'unprocessable_entity', 'amountYuan');
    assert.equal((await g.admin('GET', `/accounts/${account.id}`)).body.balanceYuan, String(balance));
    assert.equal(balance, 9_200_000_000n);
  });

  test('is read page by page to the first entry, without gap or repeat, while entries are added', async () => {
    const account = await g.createAccount({ balanceYuan: '0' });
    for (let i = 1; i <= 23; i++) await topUp(account.id, '0.01');
    const expected = Array.from({ length: 23 }, (_, i) => entryId(account.id, 23 - i));
    for (const limit of [1, 5, 23, 500]) {
      assert.deepEqual(idsOf(await readAll(g, `/accounts/${account.id}/ledger`, limit)), expected);
    }
    const first = (await g.admin('GET', `/accounts/${account.id}/ledger?limit=10`)).body;
    await topUp(account.id, '0.01');
    const second = (await g.admin('GET', `/accounts/${account.id}/ledger?limit=100&cursor=${first.nextCursor}`)).body;
    assert.deepEqual([...idsOf(first.data), ...idsOf(second.data)], expected);
    for (const [query, param] of [
      ['cursor=abc', 'cursor'],
      ['cursor=-1', 'cursor'],
      ['cursor=1.5', 'cursor'],
      [`cursor=${'9'.repeat(30)}`, 'cursor'],
      ['limit=0', 'limit'],
      ['kind=unknown', 'kind'],
    ] as const) {
      assertError(await g.admin('GET', `/accounts/${account.id}/ledger?${query}`), 400, 'invalid_request_error', param);
    }
  });

  test('gets one entry for one Idempotency-Key, and every repeat gets the first response', async () => {
    const account = await g.createAccount({ balanceYuan: '0' });
    const key = { 'idempotency-key': 'invoice-7' };
    const first = await topUp(account.id, '5', { memo: 'paid' }, key);
    assert.deepEqual(first, { status: 201, body: { entryId: entryId(account.id, 1), balanceYuan: '5' } });
    await topUp(account.id, '1');
    assert.deepEqual(await topUp(account.id, '5.00', { memo: 'paid' }, key), first);

    for (const response of [
      await topUp(account.id, '6', { memo: 'paid' }, key),
      await topUp(account.id, '5', { memo: 'unpaid' }, key),
      await topUp(account.id, '5', {}, key),
      await adjust(account.id, '5', 'paid', key),
    ]) {
      assertError(response, 409, 'conflict_error');
    }
    const other = await g.createAccount({ balanceYuan: '0' });
    assert.equal((await adjust(other.id, '-3', 'x', key)).body.balanceYuan, '-3');
    assert.equal((await g.admin('GET', `/accounts/${account.id}`)).body.balanceYuan, '6');
    assert.equal((await readAll(g, `/accounts/${account.id}/ledger`, 10)).length, 2);
  });

  test('has one top-up for an account of one Idempotency-Key, however often that is created', async () => {
    const create = (body: object, key?: string) =>
      g.admin('POST', '/accounts', body, key === undefined ? {} : { 'idempotency-key': key });
    const body = { name: 'order 8', balanceYuan: '5' };
    const made = await Promise.all(Array.from({ length: 8 }, () => create(body, 'order-8')));
    assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]));
    const [id, ...others] = new Set(made.map((response) => response.body.id));
    assert.deepEqual(others, []);
    await topUp(id, '1');
    const repeat = await create({ ...body, balanceYuan: '5.00', email: null }, 'order-8');
    assert.deepEqual([repeat.status, repeat.body.id, repeat.body.balanceYuan], [201, id, '6']);
    for (const other of [{ name: 'order 9' }, { balanceYuan: '6' }, { verified: true }, { dailySpendCapYuan: '1' }]) {
      assertError(await create({ ...body, ...other }, 'order-8'), 409, 'conflict_error');
    }
    assert.equal((await g.admin('GET', '/accounts?search=order')).body.data.length, 1);
    const free = [await create(body), await create(body)];
    assert.equal(new Set([id, ...free.map((response) => response.body.id)]).size, 3);
  });

  test('accepts visible ASCII for an Idempotency-Key, and nothing else', async () => {
    const account = await g.createAccount({ balanceYuan: '0' });
    assert.equal((await topUp(account.id, '1', {}, { 'idempotency-key': '~"{}\\' })).status, 201);
    const refused = await topUp(account.id, '1', {}, { 'idempotency-key': 'a b' });
    assertError(refused, 400, 'invalid_request_error', 'Idempotency-Key');
    assert.equal((await g.admin('GET', `/accounts/${account.id}`)).body.balanceYuan, '1');
  });
});

describe(`calls`, { timeout: 60_000 }, () => {
  setUp();
  /** The calls that were made, oldest first. */
  const made: { id: string; accountId: string; keyId: string; model: string; status: string; startedAt: string }[] = [];
  let accounts: TestAccount[];

  before(async () => {
    accounts = [await g.createAccount(), await g.createAccount()];
    const spare = (await g.admin('POST', `/accounts/${accounts[0]!.id}/keys`, { name: 'spare' })).body;
    const callers = [accounts[0]!, { ...accounts[0]!, key: spare.key, keyId: spare.id }, accounts[1]!];
    const respond = g.provider.respond;
    for (let i = 0; i < 24; i++) {
      const caller = callers[i % 3]!;
      const model = i % 4 < 2 ? 'test-chat' : 'test-both';
      const status = i % 6 < 4 ? 'succeeded' : 'failed';
      g.provider.respond = status === 'succeeded' ? respond : json(500, {});
      clock.advance(60_000);
      const startedAt = new Date(clock.nowMs() + 1).toISOString();
      await chat(caller, model);
      const { id } = await caller.lastCall();
      made.push({ id, accountId: caller.id, keyId: caller.keyId, model, status, startedAt });
    }
    g.provider.respond = respond;
  });

  test('are recorded with route, usage, price, charge and timing', async () => {
    const [account] = accounts;
    const expected = made.findLast(
      ({ keyId, model, status }) => keyId === account!.keyId && model === 'test-chat' && status === 'succeeded',
    )!;
    const { status, body } = await g.admin('GET', `/calls/${expected.id}`);
    assert.equal(status, 200);
    assert.match(body.requestId, /^req_/);
    assert.deepEqual(body, {
      id: expected.id,
      accountId: account!.id,
      accountName: 'tester',
      keyId: account!.keyId,
      keyName: 'test',
      groupId: null,
      context: 'balance',
      operation: 'chat',
      model: 'test-chat',
      route: { provider: 'chatty', model: 'upstream-chat' },
      session: null,
      translation: null,
      fallback: null,
      failedRoutes: [],
      attempts: [],
      isStream: false,
      status: 'succeeded',
      httpStatus: 200,
      errorCode: null,
      requestId: body.requestId,
      gatewayRequestId: body.requestId,
      clientRequestId: null,
      clientAddress: null,
      program: null,
      endUser: null,
      tags: [],
      usage: {
        source: 'observed',
        inputTokens: 11,
        cachedInputTokens: 0,
        cacheWriteTokens: 0,
        cacheWrite1hTokens: 0,
        imageInputTokens: 0,
        audioInputTokens: 0,
        outputTokens: 7,
        reasoningTokens: 0,
        imageOutputTokens: 0,
        audioOutputTokens: 0,
        citationTokens: 0,
        separateReasoningTokens: 0,
        images: 0,
        searchUnits: 0,
        webSearches: 0,
        webFetches: 0,
        fileSearches: 0,
        codeExecutions: 0,
        containers: 0,
        otherToolUses: 0,
      },
      excessUsage: null,
      doubtedUsage: [],
      innerModels: [],
      pricedBy: null,
      unpriced: [],
      price: {
        rule: 'base',
        inputYuanPerMillion: '3',
        cachedInputYuanPerMillion: '0.7',
        cacheWriteYuanPerMillion: '5',
        cacheWrite1hYuanPerMillion: '11',
        imageInputYuanPerMillion: '3',
        outputYuanPerMillion: '13',
        imageOutputYuanPerMillion: '13',
      },
      chargeYuan: formatYuan(callCost),
      refundedYuan: '0',
      refunds: [],
      costYuan: null,
      reservedYuan: null,
      priceFactorBasisPoints: 10_000,
      heldYuan: null,
      heldTokens: null,
      resolution: null,
      startedAt: expected.startedAt,
      endedAt: expected.startedAt,
      durationMs: 0,
      firstByteMs: 0,
    });
  });

  test('are listed newest first from one time to another, in any offset, page by page', async () => {
    const at = (index: number) => encodeURIComponent(made[index]!.startedAt);
    const between = (from: number, to: number) => ({
      query: `from=${at(from)}&to=${at(to)}`,
      picks: (_call: (typeof made)[number], i: number) => i >= from && i < to,
    });
    const filters: { query: string; picks: (call: (typeof made)[number], index: number) => boolean }[] = [
      { query: `from=${at(10)}`, picks: (_call, i) => i >= 10 },
      { query: `to=${at(10)}`, picks: (_call, i) => i < 10 },
      between(5, 17),
      between(8, 8),
      {
        query: `from=${encodeURIComponent(made[10]!.startedAt.replace('04:', '12:').replace('Z', '+08:00'))}`,
        picks: (_call, i) => i >= 10,
      },
    ];
    for (const { query, picks } of filters) {
      const expected = idsOf(made.filter(picks)).reverse();
      for (const limit of [3, 100]) {
        assert.deepEqual(idsOf(await readAll(g, `/calls?${query}`, limit)), expected, `${query} by ${limit}`);
      }
    }
  });

  test('are not listed for an invalid filter, which is named', async () => {
    for (const [query, param] of [
      ['status=done', 'status'],
      ['from=yesterday', 'from'],
      ['from=2026-11-20', 'from'],
      ['from=0000-01-01T00:00:00Z', 'from'],
      ['to=1800000000', 'to'],
      ['model=', 'model'],
      ['model=%00', 'model'],
      ['accountId=%00', 'accountId'],
      ['keyId=', 'keyId'],
      ['cursor=%00', 'cursor'],
      ['limit=1000', 'limit'],
      ['user=me', 'user'],
    ] as const) {
      assertError(await g.admin('GET', `/calls?${query}`), 400, 'invalid_request_error', param);
    }
  });
});

describe('a change on one node', { timeout: 60_000 }, () => {
  const clock = createTestClock(NOON);
  let first: TestGateway;
  let second: TestGateway;
  before(async () => {
    first = await startGateway({ clock });
    second = await startGateway({ clock, stored: first.stored, database: first.stored.openAnother() });
  });
  after(async () => {
    await second?.stop();
    await first?.stop();
  });

  /** Polls the other node until it responds like this. Its clock stands still, so nothing in its cache expires. */
  async function untilSecondResponses(key: string, status: number): Promise<void> {
    await until(async () => (await state(second.url, key)) === status);
  }

  test('reaches the other: a revoked key, a suspended account, an account that may go on', async () => {
    const account = await first.createAccount();
    const spare = (await first.admin('POST', `/accounts/${account.id}/keys`, {})).body;
    assert.equal(await state(second.url, account.key), 200);
    await first.admin('DELETE', `/keys/${account.keyId}`);
    await untilSecondResponses(account.key, 401);
    assert.equal(await state(second.url, spare.key), 200);
    for (const [change, status] of [
      [{ status: 'suspended' }, 401],
      [{ status: 'active' }, 200],
      [{ verified: false }, 401],
      [{ verified: true }, 200],
    ] as const) {
      await first.admin('PATCH', `/accounts/${account.id}`, change);
      await untilSecondResponses(spare.key, status);
    }
  });

  // A node that relied on its cache without a listening connection would serve a stolen key for as long as that lasts.
  test('is noticed by a node that was not notified, within a second of its clock', async () => {
    const account = await first.createAccount();
    assert.equal(await state(second.url, account.key), 200);
    await sql(
      first.database,
      `select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and query ilike 'listen %'`,
    );
    await first.admin('DELETE', `/keys/${account.keyId}`);
    clock.advance(1_001);
    await untilSecondResponses(account.key, 401);
    await first.admin('PATCH', `/accounts/${account.id}`, { status: 'suspended' });
    assert.equal(await state(first.url, account.key), 401);
  });

  test('is not repeated on the other: an Idempotency-Key sent to both makes one entry', async () => {
    const account = await first.createAccount({ balanceYuan: '0' });
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 === 0 ? first : second).admin(
          'POST',
          `/accounts/${account.id}/top-ups`,
          { amountYuan: '5' },
          { 'idempotency-key': 'both' },
        ),
      ),
    );
    assert.equal(new Set(responses.map((response) => JSON.stringify(response))).size, 1);
    assert.deepEqual(await account.money(), { balanceNano: 5_000_000_000n, heldNano: 0n });
    assert.equal((await second.admin('GET', `/accounts/${account.id}/ledger`)).body.data.length, 1);
  });

  test('needs a token: without one configured every request is refused', async () => {
    const closed = await createGateway({
      config: parseConfig(testConfigText('http://127.0.0.1:9'), 'test.yaml', {}),
      databases: servedOf(first.stored.openAnother()),
      logger: silentLogger,
      adminTokens: [],
    });
    try {
      for (const authorization of ['', 'Bearer', 'Bearer undefined', `Bearer ${ADMIN_TOKEN}`]) {
        const response = await closed.app.inject({ url: '/admin/v1/accounts', headers: { authorization } });
        assert.equal(response.statusCode, 401);
      }
    } finally {
      await closed.close();
    }
  });
});
