import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  ADMIN_TOKEN,
  type AdminResponse,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';

/** Coding Plans and the limits of keys as an operator's script sets them. */

const NOON = '2026-11-20T04:00:00.000Z';
const DAY_MS = 24 * 3_600_000;
const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 10, weeklyCalls: 50, concurrency: 3, quotaTokens: 1000, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
  short: { name: Short, fiveHourCalls: 10, weeklyCalls: 50, concurrency: 3, quotaTokens: 1000, periodDays: 3, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;

const later = (instant: string, days: number): string => new Date(Date.parse(instant) + days * DAY_MS).toISOString();

function assertError(response: AdminResponse, status: number, code: string, param: string | null = null): void {
  assert.equal(response.status, status, JSON.stringify(response.body));
  assert.deepEqual(Object.keys(response.body), ['error']);
  const { error } = response.body;
  assert.deepEqual([error.code, error.param], [code, param], error.message);
  assert.ok(typeof error.message === 'string' && error.message.length > 0 && error.message.length < 1_000);
}

describe(`subscriptions`, { timeout: 300_000 }, () => {
  let clock: TestClock;
  let g: TestGateway;
  before(async () => {
    clock = createTestClock(NOON);
    g = await startGateway({ clock, plans: PLANS });
  });
  after(() => g?.stop());

  const keyed = (key?: string): Record<string, string> => (key === undefined ? {} : { 'idempotency-key': key });
  const grant = (account: TestAccount, body: unknown, key?: string) =>
    g.admin('POST', `/accounts/${account.id}/subscriptions`, body, keyed(key));
  const renew = (id: string, key?: string) => g.admin('POST', `/subscriptions/${id}/renewals`, undefined, keyed(key));
  const cancel = (id: string) => g.admin('DELETE', `/subscriptions/${id}`);
  const list = async (account: TestAccount, query = '') =>
    (await g.admin('GET', `/accounts/${account.id}/subscriptions${query}`)).body;
  const coding = async (account: TestAccount): Promise<string> => {
    const body = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
    const response = await call(`${g.url}/v1/coding/chat/completions`, account.key, body);
    return response.status === 200 ? 'served' : response.json.error.code;
  };

  it('are granted for one period from now on, and take effect at once', async () => {
    const account = await g.createAccount();
    assert.equal(await coding(account), 'insufficient_package');
    const now = new Date(clock.nowMs()).toISOString();
    const granted = await grant(account, { planId: 'coder' });
    assert.equal(granted.status, 201);
    assert.match(granted.body.id, /^sub_[0-9a-z]{26}$/);
    assert.deepEqual(granted.body, {
      id: granted.body.id,
      accountId: account.id,
      planId: 'coder',
      planName: 'Coder',
      status: 'active',
      startsAt: now,
      endsAt: later(now, 30),
      canceledAt: null,
      createdAt: now,
    });
    assert.deepEqual(await list(account), { data: [granted.body], nextCursor: null });
    assert.equal(await coding(account), 'served');
  });

  it('are granted from a past or future instant, which is their anchor', async () => {
    const now = clock.nowMs();
    const past = await g.createAccount();
    const startedAt = new Date(now - 2 * DAY_MS).toISOString();
    const running = await grant(past, { planId: 'short', startsAt: startedAt });
    assert.deepEqual(
      [running.status, running.body.status, running.body.startsAt, running.body.endsAt],
      [201, 'active', startedAt, later(startedAt, 3)],
    );
    assert.equal(await coding(past), 'served');

    const future = await g.createAccount();
    const scheduled = await grant(future, { planId: 'short', startsAt: '2027-01-01T08:00:00+08:00' });
    assert.deepEqual(
      [scheduled.status, scheduled.body.status, scheduled.body.startsAt],
      [201, 'scheduled', '2027-01-01T00:00:00.000Z'],
    );
    assert.equal(await coding(future), 'insufficient_package');
    clock.set('2027-01-01T00:00:00.000Z');
    assert.equal(await coding(future), 'served');
    assert.equal((await list(future)).data[0].status, 'active');
    clock.set('2027-01-04T00:00:00.000Z');
    assert.equal(await coding(future), 'package_expired');
    assert.equal((await list(future)).data[0].status, 'expired');
    clock.set(NOON);
  });

  it('are refused if the period would already be over', async () => {
    const account = await g.createAccount();
    const exactly = new Date(clock.nowMs() - 3 * DAY_MS).toISOString();
    for (const startsAt of [exactly, '2000-01-01T00:00:00Z', '0001-01-01T00:00:00Z']) {
      assertError(await grant(account, { planId: 'short', startsAt }), 400, 'invalid_request_error', 'startsAt');
    }
    const justNot = new Date(clock.nowMs() - 3 * DAY_MS + 1).toISOString();
    assert.equal((await grant(account, { planId: 'short', startsAt: justNot })).status, 201);
  });

  it('are granted and renewed as long as their end has a year of four digits', async () => {
    const account = await g.createAccount();
    const last = '9999-12-31T23:59:59.999Z';
    for (const startsAt of [last, later(last, -30 + 1 / DAY_MS)]) {
      assertError(await grant(account, { planId: 'coder', startsAt }), 400, 'invalid_request_error', 'startsAt');
    }
    const granted = await grant(account, { planId: 'coder', startsAt: later(last, -30) });
    assert.deepEqual([granted.status, granted.body.endsAt], [201, last]);
    assert.deepEqual((await list(account)).data, [granted.body]);
    assertError(await renew(granted.body.id), 409, 'conflict_error');
  });

  it('never overlap: a second one is 409, and one that begins with the end of the first is not', async () => {
    const account = await g.createAccount();
    const first = (await grant(account, { planId: 'short' })).body;
    for (const startsAt of [undefined, first.startsAt, later(first.endsAt, -1 / DAY_MS), later(first.startsAt, -2)]) {
      const response = await grant(account, { planId: 'coder', startsAt });
      assertError(response, 409, 'conflict_error');
      assert.match(response.body.error.message, /Cancel it, or start this one at its end/);
    }
    const next = await grant(account, { planId: 'coder', startsAt: first.endsAt });
    assert.equal(next.status, 201);
    // The next one prevents a longer first one, until it is canceled.
    assertError(await renew(first.id), 409, 'conflict_error');
    await cancel(next.body.id);
    assert.equal((await renew(first.id)).status, 201);
  });

  it('are granted once by concurrent equal requests', async () => {
    const account = await g.createAccount();
    const responses = await Promise.all(Array.from({ length: 10 }, () => grant(account, { planId: 'coder' })));
    assert.equal(responses.filter(({ status }) => status === 201).length, 1);
    for (const response of responses) if (response.status !== 201) assertError(response, 409, 'conflict_error');
    assert.equal((await list(account)).data.length, 1);
  });

  it('require a configured plan; the error lists the configured ones', async () => {
    const account = await g.createAccount();
    for (const planId of ['no-such-plan', 'Coder', 'coder ,', 'x'.repeat(200), '__proto__', 'constructor']) {
      const response = await grant(account, { planId });
      assertError(response, 400, 'invalid_request_error', 'planId');
      assert.match(response.body.error.message, /Known: coder, short\.$/);
    }
  });

  it('are refused with a reason if no plan is configured', async () => {
    const account = await g.createAccount();
    const reload = (plans: string): void =>
      g.gateway.reload(parseConfig(testConfigText(g.provider.url, { plans }), 'test.yaml', {}));
    reload('');
    try {
      const response = await grant(account, { planId: 'coder' });
      assertError(response, 400, 'invalid_request_error', 'planId');
      assert.match(response.body.error.message, /There is no plan "coder"\. No plan is configured\.$/);
    } finally {
      reload(PLANS);
    }
  });

  it('are not granted from invalid fields, and the first one is named', async () => {
    const account = await g.createAccount();
    for (const [body, param] of [
      [{}, 'planId'],
      [{ planId: null }, 'planId'],
      [{ planId: 7 }, 'planId'],
      [{ planId: '' }, 'planId'],
      [{ planId: '  ' }, 'planId'],
      [{ planId: 'x'.repeat(201) }, 'planId'],
      [{ planId: 'coder\0' }, 'planId'],
      [{ planId: ['coder'] }, 'planId'],
      [{ planId: 'coder', startsAt: 'tomorrow' }, 'startsAt'],
      [{ planId: 'coder', startsAt: '2027-01-01' }, 'startsAt'],
      [{ planId: 'coder', startsAt: 1_800_000_000 }, 'startsAt'],
      [{ planId: 'coder', startsAt: '' }, 'startsAt'],
      [{ planId: 'coder', startsAt: '2027-02-29T00:00:00Z' }, 'startsAt'],
      [{ planId: 'coder', startsAt: '10000-01-01T00:00:00Z' }, 'startsAt'],
      [{ planId: 'coder', endsAt: '2027-01-01T00:00:00Z' }, 'endsAt'],
      [{ planId: 'coder', periodDays: 1 }, 'periodDays'],
      [[], null],
      ['coder', null],
      [null, null],
    ] as const) {
      assertError(await grant(account, body), 400, 'invalid_request_error', param);
    }
    const send = async (body: string, contentType: string): Promise<AdminResponse> => {
      const response = await fetch(`${g.url}/admin/v1/accounts/${account.id}/subscriptions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': contentType },
        body,
      });
      return { status: response.status, body: await response.json() };
    };
    assertError(await send('{"planId":"coder"', 'application/json'), 400, 'invalid_request_error');
    assertError(await send('', 'application/json'), 400, 'invalid_request_error');
    assertError(await send('planId=coder', 'application/x-www-form-urlencoded'), 415, 'unsupported_media_type');
    assert.deepEqual(await list(account), { data: [], nextCursor: null });
    // An explicit null is "now".
    assert.equal((await grant(account, { planId: 'coder', startsAt: null })).status, 201);
  });

  it('are renewed by one period each time, from the same anchor, also shortly after their end', async () => {
    const account = await g.createAccount();
    const { id, startsAt, endsAt } = (await grant(account, { planId: 'short' })).body;
    for (const periods of [2, 3]) {
      const { status, body } = await renew(id);
      assert.equal(status, 201);
      assert.deepEqual([body.id, body.startsAt, body.endsAt], [id, startsAt, later(startsAt, 3 * periods)]);
    }
    clock.set(later(endsAt, 6));
    assert.equal(await coding(account), 'package_expired');
    assert.deepEqual((await renew(id)).body.status, 'active');
    assert.equal(await coding(account), 'served');
    clock.set(later(endsAt, 12));
    assertError(await renew(id), 409, 'conflict_error');
    clock.set(NOON);
  });

  it('are renewed once for each request, also concurrently', async () => {
    const account = await g.createAccount();
    const { id, startsAt } = (await grant(account, { planId: 'short' })).body;
    const responses = await Promise.all(Array.from({ length: 6 }, () => renew(id)));
    const renewals = responses.filter(({ status }) => status === 201).length;
    assert.ok(renewals >= 1);
    for (const response of responses) if (response.status !== 201) assertError(response, 409, 'conflict_error');
    assert.equal((await list(account)).data[0].endsAt, later(startsAt, 3 * (1 + renewals)));
  });

  it('are granted once for each Idempotency-Key, and every repeat gets the first one', async () => {
    const account = await g.createAccount();
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => grant(account, { planId: 'short' }, 'order-1')),
    );
    for (const response of responses) assert.deepEqual(response, responses[0]);
    assert.equal(responses[0]!.status, 201);
    assert.equal((await list(account)).data.length, 1);
    // The same grant at another time is the same request, whatever its state by then.
    clock.set(later(NOON, 2));
    assert.deepEqual(await grant(account, { planId: 'short' }, 'order-1'), responses[0]);
    await cancel(responses[0]!.body.id);
    assert.equal((await grant(account, { planId: 'short' }, 'order-1')).body.status, 'canceled');
    clock.set(NOON);
    for (const body of [{ planId: 'coder' }, { planId: 'short', startsAt: later(NOON, 5) }]) {
      assertError(await grant(account, body, 'order-1'), 409, 'conflict_error');
    }
    assert.equal((await grant(account, { planId: 'short' }, 'order-2')).status, 201);
    // Another account has keys of its own.
    assert.equal((await grant(await g.createAccount(), { planId: 'coder' }, 'order-1')).status, 201);
  });

  it('are renewed once for each Idempotency-Key, and every repeat gets the same end', async () => {
    const account = await g.createAccount();
    const { id, startsAt } = (await grant(account, { planId: 'short' }, 'order-1')).body;
    const responses = await Promise.all(Array.from({ length: 6 }, () => renew(id, 'renewal-1')));
    for (const { status, body } of responses) assert.deepEqual([status, body.endsAt], [201, later(startsAt, 6)]);
    assert.equal((await renew(id, 'renewal-1')).body.endsAt, later(startsAt, 6));
    assert.equal((await renew(id, 'renewal-2')).body.endsAt, later(startsAt, 9));
    assertError(await renew(id, 'order-1'), 409, 'conflict_error');
    assertError(
      await grant(account, { planId: 'short', startsAt: later(startsAt, 9) }, 'renewal-1'),
      409,
      'conflict_error',
    );
  });

  it('whose grant or renewal was refused may be requested again with the same Idempotency-Key', async () => {
    const account = await g.createAccount();
    const first = (await grant(account, { planId: 'short' })).body;
    assertError(await grant(account, { planId: 'coder' }, 'order'), 409, 'conflict_error');
    await cancel(first.id);
    assert.equal((await grant(account, { planId: 'coder' }, 'order')).status, 201);
  });

  it('end at once and permanently when they are canceled; repeats have no effect', async () => {
    const account = await g.createAccount();
    const { id } = (await grant(account, { planId: 'coder' })).body;
    assert.equal(await coding(account), 'served');
    clock.advance(1_000);
    const canceledAt = new Date(clock.nowMs()).toISOString();
    assert.deepEqual(await cancel(id), { status: 204, body: null });
    assert.equal(await coding(account), 'insufficient_package');
    clock.advance(1_000);
    assert.deepEqual(await cancel(id), { status: 204, body: null });
    const [shown] = (await list(account)).data;
    assert.deepEqual([shown.status, shown.canceledAt], ['canceled', canceledAt]);
    assertError(await renew(id), 409, 'conflict_error');
    assert.equal((await grant(account, { planId: 'coder' })).status, 201);
    assert.equal(await coding(account), 'served');
  });

  it('can be canceled before they begin, so that another one may be granted', async () => {
    const account = await g.createAccount();
    const startsAt = later(NOON, 10);
    const scheduled = (await grant(account, { planId: 'coder', startsAt })).body;
    assertError(await grant(account, { planId: 'coder' }), 409, 'conflict_error');
    assert.equal((await cancel(scheduled.id)).status, 204);
    assert.equal((await grant(account, { planId: 'coder' })).status, 201);
  });

  it('let a running call complete when they are canceled', async () => {
    const account = await g.createAccount();
    const { id } = (await grant(account, { planId: 'coder' })).body;
    const respond = g.provider.respond;
    const gate = Promise.withResolvers<void>();
    g.provider.respond = async (request, response) => {
      await gate.promise;
      await respond(request, response);
    };
    const received = g.provider.requests.length;
    const running = coding(account);
    await g.provider.received(received + 1);
    assert.equal((await cancel(id)).status, 204);
    gate.resolve();
    g.provider.respond = respond;
    assert.equal(await running, 'served');
    assert.equal((await account.lastCall()).chargeYuan, null);
  });

  it('are listed newest first, page by page, each account’s separately, also those of a plan that is no longer configured', async () => {
    const [account, other] = [await g.createAccount(), await g.createAccount()];
    await grant(other, { planId: 'coder' });
    const granted: string[] = [];
    for (let n = 0; n < 7; n++) {
      clock.advance(1);
      const { body } = await grant(account, { planId: 'short', startsAt: later(NOON, 100 + 3 * n) });
      granted.unshift(body.id);
    }
    for (const limit of [1, 3, 7, 500]) {
      const listed: string[] = [];
      let cursor: string | null = null;
      do {
        const page: { data: { id: string }[]; nextCursor: string | null } = await list(
          account,
          `?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`,
        );
        assert.ok(page.data.length <= limit);
        listed.push(...page.data.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      assert.deepEqual(listed, granted, `limit ${limit}`);
    }
    for (const [query, param] of [
      ['?limit=0', 'limit'],
      ['?limit=ten', 'limit'],
      ['?cursor=', 'cursor'],
      ['?status=active', 'status'],
    ] as const) {
      const response = await g.admin('GET', `/accounts/${account.id}/subscriptions${query}`);
      assertError(response, 400, 'invalid_request_error', param);
    }
    await g.database.query({
      name: 'test.plan-is-gone',
      text: `update subscriptions set plan_id = 'gone' where id = '${granted[0]}'`,
    });
    const gone = (await list(account)).data[0];
    assert.deepEqual([gone.planId, gone.planName, gone.status], ['gone', null, 'scheduled']);
    assertError(await renew(granted[0]!), 400, 'invalid_request_error', 'planId');
    assert.equal((await cancel(granted[0]!)).status, 204);
  });

  it('are 404 for an unknown account or subscription', async () => {
    const missing = 'sub_00000000000000000000000000';
    assertError(await renew(missing), 404, 'not_found');
    assertError(await cancel(missing), 404, 'not_found');
    assertError(await g.admin('GET', '/accounts/acct_none/subscriptions'), 404, 'not_found');
    assertError(await g.admin('POST', '/accounts/acct_none/subscriptions', { planId: 'coder' }), 404, 'not_found');
  });

  const limitsOf = ({ dailySpendCapYuan, dailyCalls, concurrency }: AdminResponse['body']) => ({
    dailySpendCapYuan,
    dailyCalls,
    concurrency,
  });
  const none = { dailySpendCapYuan: null, dailyCalls: null, concurrency: null };

  it('limits of keys are set with the key, and shown with it from then on', async () => {
    const account = await g.createAccount();
    const limits = { dailySpendCapYuan: '12.50', dailyCalls: 100, concurrency: 4 };
    const created = await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'limited', ...limits });
    assert.equal(created.status, 201);
    assert.deepEqual(limitsOf(created.body), { ...limits, dailySpendCapYuan: '12.5' });
    const explicit = await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'free', ...none });
    assert.deepEqual(limitsOf(explicit.body), none);
    const { data } = (await g.admin('GET', `/accounts/${account.id}/keys`)).body;
    assert.deepEqual(Object.fromEntries(data.map((key: { name: string }) => [key.name, limitsOf(key)])), {
      test: none,
      free: none,
      limited: { ...limits, dailySpendCapYuan: '12.5' },
    });
  });

  it('limits of keys are changed one by one; omitted ones are kept, and null removes a limit', async () => {
    const account = await g.createAccount();
    let expected: object = none;
    for (const change of [
      {},
      { dailyCalls: 5 },
      {},
      { concurrency: 2 },
      { dailySpendCapYuan: '0' },
      { dailySpendCapYuan: '0.000000001', dailyCalls: 0 },
      { dailyCalls: null },
      { concurrency: 1_000_000_000, dailySpendCapYuan: '100000000' },
      { concurrency: 0 },
      none,
    ]) {
      const { status, body } = await g.admin('PATCH', `/keys/${account.keyId}`, change);
      assert.equal(status, 200, JSON.stringify(body));
      expected = { ...expected, ...change };
      assert.deepEqual(limitsOf(body), expected);
      assert.equal(body.key, undefined);
      const [listed] = (await g.admin('GET', `/accounts/${account.id}/keys`)).body.data;
      assert.deepEqual(listed, body);
    }
  });

  it('limits of keys are neither set nor changed by bad values, and the bad field is named', async () => {
    const account = await g.createAccount();
    const before = (await g.admin('PATCH', `/keys/${account.keyId}`, { dailyCalls: 3, concurrency: 3 })).body;
    const bad: [object, string][] = [
      ...['5', 1.5, -1, 1_000_000_001, 1e300, true, [], {}, ''].flatMap((value): [object, string][] => [
        [{ dailyCalls: value }, 'dailyCalls'],
        [{ concurrency: value }, 'concurrency'],
      ]),
      ...[5, '-1', '-0.000000001', '1e3', '', ' 1', 'abc', '100000000.000000001', '0.0000000001', true, {}].map(
        (value): [object, string] => [{ dailySpendCapYuan: value }, 'dailySpendCapYuan'],
      ),
      [{ dailyCalls: 7, name: '' }, 'name'],
      [{ dailyCalls: 7, dailyTokens: 1 }, 'dailyTokens'],
    ];
    for (const [fields, param] of bad) {
      assertError(await g.admin('PATCH', `/keys/${account.keyId}`, fields), 400, 'invalid_request_error', param);
      if (param === 'name') continue;
      assertError(await g.admin('POST', `/accounts/${account.id}/keys`, fields), 400, 'invalid_request_error', param);
    }
    for (const body of [[], null, 'x', 7]) {
      assertError(await g.admin('PATCH', `/keys/${account.keyId}`, body), 400, 'invalid_request_error');
    }
    assert.deepEqual((await g.admin('GET', `/accounts/${account.id}/keys`)).body.data, [before]);
  });

  it('limits of keys can be changed on a revoked key, which stays revoked', async () => {
    const account = await g.createAccount();
    await g.admin('DELETE', `/keys/${account.keyId}`);
    const { status, body } = await g.admin('PATCH', `/keys/${account.keyId}`, { dailyCalls: 5 });
    assert.equal(status, 200);
    assert.notEqual(body.revokedAt, null);
    const response = await fetch(`${g.url}/v1/user/balance`, { headers: { authorization: `Bearer ${account.key}` } });
    await response.text();
    assert.equal(response.status, 401);
  });
});
