import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseYuan } from '../../src/lib/yuan.ts';
import { plansText } from '../plans/coding.ts';
import { sumUsage } from '../retention/months.ts';
import { call, startCall } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse, liveResponse } from '../support/provider.ts';
import { sql } from '../support/sql.ts';

/** The management APIs over several partitions behave as over one. */

const PARTITIONS = 4;
const CHAT = { model: 'test-chat', messages: [] };

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
type Wire = any;

const newestFirst = (ids: readonly string[]): string[] => ids.toSorted().reverse();
const idsOf = (items: readonly Wire[]): string[] => items.map(({ id }) => id);
const keyed = (key: string): Record<string, string> => ({ 'idempotency-key': key.replaceAll(' ', '-') });

describe(`the admin API over ${PARTITIONS} partitions`, { timeout: 300_000 }, () => {
  let g: TestGateway;
  /** Makes ids sort in the order of their creation. */
  let nowMs = Date.UTC(2026, 10, 20, 4);
  /** The first four are in partitions 0, 1, 2 and 3, the last two in 0 and 1. */
  const accounts: TestAccount[] = [];
  /** All accounts, the oldest first. */
  const calls: Wire[] = [];

  const get = async (path: string): Promise<Wire> => {
    const { status, body } = await g.admin('GET', path);
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
    return body;
  };
  const post = async (path: string, body: object, key: string): Promise<Wire> => {
    const response = await g.admin('POST', path, body, keyed(key));
    assert.ok(response.status < 300, `${path}: ${JSON.stringify(response.body)}`);
    return response.body;
  };
  /** All items of a list, and the number of its pages. */
  async function pages(path: string): Promise<{ items: Wire[]; count: number }> {
    const items: Wire[] = [];
    let count = 0;
    for (let cursor: string | null = ''; cursor !== null; count++) {
      const page: Wire = await get(`${path}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
      items.push(...page.data);
      cursor = page.nextCursor;
    }
    return { items, count };
  }
  const own = async (account: TestAccount, path: string): Promise<{ status: number; body: Wire }> => {
    const response = await fetch(`${g.url}/account/v1${path}`, {
      headers: { authorization: `Bearer ${account.key}` },
    });
    return { status: response.status, body: await response.json() };
  };
  async function chat(account: TestAccount, model = CHAT.model): Promise<Wire> {
    const response = await call(`${g.url}/v1/chat/completions`, account.key, { ...CHAT, model });
    assert.equal(response.status, 200, response.text);
    const made = await account.lastCall();
    calls.push(made);
    return made;
  }
  const queried = async (path: string, { key }: TestAccount): Promise<Wire> =>
    (await fetch(g.url + path, { headers: { authorization: `Bearer ${key}` } })).json();
  const nanoOf = (yuan: string): bigint => parseYuan(yuan)!;

  before(async () => {
    g = await startGateway({
      partitions: PARTITIONS,
      plans: plansText({ coder: {} }),
      clock: { nowMs: () => nowMs++ },
    });
    g.provider.respond = chatResponse();
    for (let n = 0; n < 6; n++) accounts.push(await g.createAccount({ balanceYuan: String(100 + n) }));
    for (const account of accounts) {
      const key = await post(
        `/accounts/${account.id}/keys`,
        { name: 'all', scopes: ['calls', 'account'] },
        `scoped ${account.id}`,
      );
      Object.assign(account, { key: key.key, keyId: key.id });
    }
    for (let round = 0; round < 3; round++) {
      for (const [n, account] of accounts.entries())
        await chat(account, (n + round) % 2 === 0 ? 'test-chat' : 'test-both');
    }
    for (const { database } of g.partitions) await sumUsage(database);
  });
  after(() => g.stop());

  it('keeps the money of each account in its partition only, and changes it there once for each key', async () => {
    for (const [number, { database }] of g.partitions.entries()) {
      const rows = await sql<{ account_id: string }>(database, 'select account_id from balances');
      const expected = accounts.filter((_, n) => n % PARTITIONS === number).map(({ id }) => id);
      assert.deepEqual(rows.map((row) => row.account_id).sort(), expected.toSorted());
    }
    for (const { id } of accounts) {
      const toppedUp = await post(`/accounts/${id}/top-ups`, { amountYuan: '20', memo: 'gift' }, 'same for all');
      assert.deepEqual(
        await post(`/accounts/${id}/top-ups`, { amountYuan: '20', memo: 'gift' }, 'same for all'),
        toppedUp,
      );
      await post(`/accounts/${id}/adjustments`, { amountYuan: '-3', memo: 'mistake' }, 'corrected');
      assert.equal((await g.admin('PATCH', `/accounts/${id}`, { dailySpendCapYuan: '50' })).status, 200);
    }
    const { data } = await get('/accounts?limit=100');
    for (const [n, { id }] of accounts.entries()) {
      const listed = data.find((account: Wire) => account.id === id);
      const { items } = await pages(`/accounts/${id}/ledger?limit=2`);
      assert.deepEqual(
        items.map(({ kind }) => kind),
        ['adjustment', 'top_up', 'charge', 'charge', 'charge', 'top_up'],
      );
      const sum = items.reduce((all, { amountYuan }) => all + nanoOf(amountYuan), 0n);
      assert.equal(nanoOf(listed.balanceYuan), sum);
      assert.equal(nanoOf(items.at(-1).amountYuan), BigInt(100 + n) * 1_000_000_000n);
      assert.equal(listed.dailySpendCapYuan, '50');
      const free = await queried('/v1/user/balance', accounts[n]!);
      assert.equal(free.balance, Number(sum / 1_000n) / 1e6);
    }
  });

  it('stores limits of keys in the partition of their account, and finds keys by their prefix in all partitions', async () => {
    const made: string[] = [];
    for (const [n, { id }] of accounts.entries()) {
      const key = await post(
        `/accounts/${id}/keys`,
        { name: 'narrow', dailySpendCapYuan: String(n + 1), requestsPerMinute: 10 + n },
        `limited ${n}`,
      );
      const changed = await g.admin('PATCH', `/keys/${key.id}`, { concurrency: n + 1 });
      assert.equal(changed.status, 200, JSON.stringify(changed.body));
      const replaced = await g.admin('POST', `/keys/${key.id}/replacement`, {});
      assert.ok(replaced.status < 300, JSON.stringify(replaced.body));
      made.push(replaced.body.id);
    }
    await g.database.script(`update api_keys set prefix = 'sk-fg-zzzz…' where name = 'narrow' and revoked_at is null`);
    const found: Wire[] = [];
    let cursor: string | undefined;
    do {
      const { status, body } = await g.admin('POST', '/keys/search', { prefix: 'sk-fg-zzzz', limit: 4, cursor });
      assert.equal(status, 200, JSON.stringify(body));
      found.push(...body.data);
      cursor = body.nextCursor ?? undefined;
    } while (cursor !== undefined);
    assert.deepEqual(idsOf(found), newestFirst(made));
    for (const [n, id] of made.entries()) {
      const { dailySpendCapYuan, concurrency, requestsPerMinute, account } = found.find((key) => key.id === id);
      assert.deepEqual(
        [dailySpendCapYuan, concurrency, requestsPerMinute, account.id],
        [String(n + 1), n + 1, 10 + n, accounts[n]!.id],
      );
      const listed = (await get(`/accounts/${accounts[n]!.id}/keys`)).data.find((key: Wire) => key.id === id);
      assert.deepEqual([listed.dailySpendCapYuan, listed.concurrency], [String(n + 1), n + 1]);
    }
  });

  it('lists calls of all partitions once each, newest first, with any page size and filter', async () => {
    const ids = newestFirst(idsOf(calls));
    assert.equal(new Set(calls.map(({ accountId }) => accountId)).size, 6);
    for (const limit of [1, 4, 100]) assert.deepEqual(idsOf((await pages(`/calls?limit=${limit}`)).items), ids);
    const ofModel = newestFirst(idsOf(calls.filter(({ model }) => model === 'test-both')));
    assert.deepEqual(idsOf((await pages('/calls?limit=2&model=test-both')).items), ofModel);
    assert.deepEqual((await get('/calls?status=failed')).data, []);
    for (const account of accounts) {
      const expected = newestFirst(idsOf(calls.filter(({ accountId }) => accountId === account.id)));
      assert.deepEqual(idsOf((await pages(`/calls?limit=2&accountId=${account.id}`)).items), expected);
      assert.deepEqual(idsOf((await pages(`/calls?limit=2&keyId=${account.keyId}`)).items), expected);
      const { body } = await own(account, '/calls?limit=100');
      assert.deepEqual(idsOf(body.data), expected);
    }
  });

  it('finds a call, and all calls of a request, by an id alone', async () => {
    for (const made of calls) {
      assert.equal((await get(`/calls/${made.id}`)).accountId, made.accountId);
      assert.deepEqual(idsOf((await get(`/calls?requestId=${made.id}`)).data), [made.id]);
    }
    const headers = { 'x-client-request-id': 'same-at-all' };
    const ofRequest: string[] = [];
    for (const account of accounts) {
      const response = await call(`${g.url}/v1/chat/completions`, account.key, CHAT, { headers });
      assert.equal(response.status, 200, response.text);
      const made = await account.lastCall();
      calls.push(made);
      if (made.clientRequestId === 'same-at-all') ofRequest.push(made.id);
    }
    assert.equal(ofRequest.length, 6);
    assert.deepEqual(idsOf((await get('/calls?requestId=same-at-all')).data), newestFirst(ofRequest));
    assert.deepEqual(
      idsOf((await get('/calls?requestId=same-at-all&limit=2')).data),
      newestFirst(ofRequest).slice(0, 2),
    );
    const [first] = accounts;
    const ofOne = await own(first!, '/calls?requestId=same-at-all');
    assert.deepEqual(ofOne.body.data.length, 1);
    assert.equal((await g.admin('GET', '/calls/call_01kaaaaaaaaaaaaaaaaaaaaaaa')).status, 404);
    // An account does not find calls of another one, in any partition.
    assert.equal((await own(accounts[0]!, `/calls/${ofRequest[2]}`)).status, 404);
    assert.equal((await own(accounts[2]!, `/calls/${ofRequest[2]}`)).status, 200);
  });

  it('refunds charges in the partition of the charge, once for each key', async () => {
    for (const account of accounts) {
      const made = await account.lastCall();
      const { balanceNano } = await account.money();
      const refund = await post(`/calls/${made.id}/refunds`, { memo: 'sorry' }, 'refund of all');
      assert.deepEqual(await post(`/calls/${made.id}/refunds`, { memo: 'sorry' }, 'refund of all'), refund);
      assert.equal((await account.money()).balanceNano, balanceNano + nanoOf(made.chargeYuan));
      assert.deepEqual(
        (await account.lastCall()).refunds.map(({ entryId }: Wire) => entryId),
        [refund.entryId],
      );
      assert.equal((await g.admin('POST', `/calls/${made.id}/refunds`, {}, keyed('another'))).status, 409);
    }
    const listed = (await get('/calls?limit=6')).data;
    assert.ok(listed.every(({ refunds }: Wire) => refunds.length === 1));
    assert.equal((await g.admin('POST', '/calls/call_01kaaaaaaaaaaaaaaaaaaaaaaa/refunds', {})).status, 404);
  });

  it('resolves unresolved calls in their partition, once', async () => {
    for (const [n, account] of accounts.slice(0, PARTITIONS).entries()) {
      const id = `call_01kaw0000000000000000000${n}0`;
      await g.partitions[n]!.database.script(
        `insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model,
  is_stream, status, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
  reasoning_tokens, price_rule, reserved_nano)
values ('${account.id}', '${id}', '2026-11-20T03:00:00Z', '2026-11-20T03:00:00Z', '${account.keyId}', 'balance', 'chat', 'lost-model',
  'chatty', 'x', false, 'unresolved', 'r', 0, 0, 0, 0, 0, 0, 'base', 5000)`,
      );
      const unresolved = await get('/calls?status=unresolved');
      assert.deepEqual(idsOf(unresolved.data), [id]);
      const { balanceNano } = await account.money();
      const asked = { action: 'charge', chargeYuan: '0.000004', memo: 'by hand' };
      for (let time = 0; time < 2; time++) {
        const resolved = await post(`/calls/${id}/resolution`, asked, `resolved ${n}`);
        assert.deepEqual([resolved.status, resolved.chargeYuan], ['resolved', '0.000004']);
      }
      assert.equal((await account.money()).balanceNano, balanceNano - 4_000n);
    }
    assert.equal((await g.admin('POST', '/calls/call_none/resolution', { action: 'release' })).status, 404);
    for (const { database } of g.partitions) await sumUsage(database);
  });

  it('sums the usage of groups over partitions, with any page size', async () => {
    const all = (await pages('/calls?limit=100')).items.filter(({ model }) => model !== 'lost-model');
    const byModel = (await get('/usage?groupBy=model')).data;
    assert.deepEqual(
      byModel.map(({ model }: Wire) => model),
      ['lost-model', 'test-both', 'test-chat'],
    );
    for (const { model, calls: count, chargeYuan, refundYuan, usage } of byModel.slice(1)) {
      const ofModel = all.filter((made) => made.model === model);
      assert.equal(count, ofModel.length);
      const sum = (amount: (made: Wire) => string): bigint =>
        ofModel.reduce((sum, made) => sum + nanoOf(amount(made)), 0n);
      assert.equal(
        nanoOf(chargeYuan),
        sum((made) => made.chargeYuan),
      );
      assert.equal(
        nanoOf(refundYuan),
        sum((made) => made.refundedYuan),
      );
      assert.equal(
        usage.inputTokens,
        ofModel.reduce((tokens, made) => tokens + made.usage.inputTokens, 0),
      );
    }
    for (const groupBy of ['model', 'day,model', 'account', 'account,model', 'key', 'model,provider,status,context']) {
      const whole = (await get(`/usage?groupBy=${groupBy}&limit=100`)).data;
      const paged = await pages(`/usage?groupBy=${groupBy}&limit=2`);
      assert.deepEqual(paged.items, whole);
      assert.ok(paged.count >= whole.length / 2);
    }
    const [total] = (await get('/usage')).data;
    assert.equal(total.calls, all.length + PARTITIONS);
    const completeUntil = async (query: string): Promise<string | null> => (await get(`/usage${query}`)).completeUntil;
    assert.ok(Date.parse((await completeUntil(''))!) > 0);
    // Usage that one partition has not summed is missing from the total, but not from accounts of other partitions.
    const since = '2026-01-01T00:00:00.000Z';
    await g.partitions[2]!.database.script(`insert into usage_queue values ('${since}', '{}', '{}', '{}', null)`);
    assert.equal(await completeUntil(''), since);
    assert.equal(await completeUntil(`?accountId=${accounts[2]!.id}`), since);
    assert.notEqual(await completeUntil(`?accountId=${accounts[1]!.id}`), since);
    await g.partitions[2]!.database.script('delete from usage_queue');
  });

  it('has the statement of each account', async () => {
    for (const [n, account] of accounts.entries()) {
      const { kinds, models, closingYuan } = await get(`/accounts/${account.id}/statement?month=2026-11`);
      assert.deepEqual(
        kinds.map(({ kind }: Wire) => kind),
        ['adjustment', 'charge', 'refund', 'top_up'],
      );
      assert.equal(nanoOf(closingYuan), (await account.money()).balanceNano);
      assert.equal(models.length, n < PARTITIONS ? 3 : 2);
      assert.equal((await own(account, `/statement?month=2026-11`)).body.closingYuan, closingYuan);
    }
  });

  it('grants plans, finds subscriptions by their ids, and counts those of all partitions', async () => {
    for (const [n, { id }] of accounts.entries()) {
      const granted = await post(`/accounts/${id}/subscriptions`, { planId: 'coder' }, 'same for all');
      assert.deepEqual(await post(`/accounts/${id}/subscriptions`, { planId: 'coder' }, 'same for all'), granted);
      const renewed = await post(`/subscriptions/${granted.id}/renewals`, {}, 'renewed');
      assert.deepEqual(await post(`/subscriptions/${granted.id}/renewals`, {}, 'renewed'), renewed);
      assert.ok(renewed.endsAt > granted.endsAt);
      assert.deepEqual(idsOf((await get(`/accounts/${id}/subscriptions`)).data), [granted.id]);
      const { weekly, is_active: isActive } = await queried('/v1/coding/user/balance', accounts[n]!);
      assert.deepEqual([isActive, weekly.used], [true, 0]);
    }
    const { data } = await get('/plans');
    assert.deepEqual([data[0].id, data[0].activeSubscriptions], ['coder', 6]);
    const [{ id: canceled }] = (await get(`/accounts/${accounts[3]!.id}/subscriptions`)).data;
    assert.ok((await g.admin('DELETE', `/subscriptions/${canceled}`)).status < 300);
    assert.equal((await get('/plans')).data[0].activeSubscriptions, 5);
    assert.equal((await g.admin('DELETE', '/subscriptions/sub_none')).status, 404);
  });

  it('lists calls in flight of all partitions, newest first', async () => {
    const open = accounts.slice(0, PARTITIONS).map((account) => {
      const live = liveResponse();
      return { account, live };
    });
    const started = [];
    for (const { account, live } of open) {
      g.provider.respond = live.respond;
      started.push(startCall(`${g.url}/v1/chat/completions`, account.key, { ...CHAT, stream: true }));
      await live.opened;
    }
    g.provider.respond = chatResponse();
    const { items } = await pages('/calls?status=in_flight&limit=3');
    assert.deepEqual(
      items.map(({ accountId }) => accountId),
      accounts
        .slice(0, PARTITIONS)
        .map(({ id }) => id)
        .reverse(),
    );
    assert.deepEqual(idsOf(items), newestFirst(idsOf(items)));
    for (const { accountId, id } of items) {
      assert.deepEqual(idsOf((await get(`/calls?status=in_flight&accountId=${accountId}`)).data), [id]);
      assert.equal((await g.admin('POST', `/calls/${id}/resolution`, { action: 'release' })).status, 409);
    }
    for (const { live } of open) live.end();
    for (const { response } of started) await (await response).ended();
    for (const { account } of open) await g.observed.callsEnded(account.id, 1);
  });
});
