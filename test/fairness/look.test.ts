import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { plansText, subscribe } from '../conformance/plans.ts';
import { call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { requestOf } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, chatResponse, liveResponse } from '../support/provider.ts';
import { openConnection, type RawResponse, requestBytes, sendRaw } from '../support/raw.ts';

/** The gateway does not read large bodies of accounts that could not pay for any call. */

const CHAT = '/v1/chat/completions';
const CODING = '/v1/coding/chat/completions';
const MEBIBYTE = 2 ** 20;

/** Heads of requests whose body is not sent. */
const LARGE = [['content-length', String(2 * MEBIBYTE)]] as const;
const COMPRESSED = [
  ['content-length', '100'],
  ['content-encoding', 'gzip'],
] as const;

describe(`the precheck before a large body is read`, { timeout: 300_000 }, () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let gateway: TestGateway;
  before(async () => {
    const one = { fiveHourCalls: 1, inputByteLimit: '4MiB' };
    gateway = await startGateway({
      clock,
      plans: plansText({
        roomy: { inputByteLimit: '4MiB' },
        one,
        'one-a-week': { ...one, fiveHourCalls: 9, weeklyCalls: 1 },
        'few-tokens': { quotaTokens: 10, periodDays: 1 },
      }),
    });
    gateway.provider.respond = chatResponse();
  });
  after(() => gateway.stop());

  /** The gateway's response to a head whose body is not sent. */
  async function responseToHead(
    path: string,
    key: string,
    headers: readonly (readonly [string, string])[],
    begin = '',
  ): Promise<RawResponse> {
    const type = path.endsWith('/edits') ? 'multipart/form-data; boundary=b' : 'application/json';
    const connection = await openConnection(gateway.url);
    connection.write(
      requestBytes({ path, headers: [['authorization', `Bearer ${key}`], ['content-type', type], ...headers] }),
    );
    if (begin !== '') connection.write(begin);
    try {
      return await connection.response();
    } finally {
      connection.destroy();
    }
  }

  const small = (account: TestAccount, path = CHAT) =>
    call(gateway.url + path, account.key, { ...requestOf(false), model: 'test-chat' });

  /** Checks that a head gets the same refusal as a complete small call, and that this changes nothing. */
  async function assertRefusedAlike(account: TestAccount, path: string, status: number, code: string) {
    const asked = gateway.provider.requests.length;
    const admission = await small(account, path);
    assert.deepEqual([admission.status, admission.headers['x-error-code']], [status, code], admission.text);
    for (const headers of [LARGE, COMPRESSED]) {
      const look = await responseToHead(path, account.key, headers);
      const refusalHeaders = (from: { readonly headers: Readonly<Record<string, string | string[] | undefined>> }) =>
        ['x-error-code', 'retry-after', 'x-should-retry', 'x-faregate-reset-at'].map((name) => from.headers[name]);
      assert.equal(look.status, status, look.body.toString());
      assert.deepEqual(refusalHeaders(look), refusalHeaders(admission));
      assert.equal(JSON.parse(look.body.toString()).error.message, admission.json.error.message);
    }
    assert.equal(gateway.provider.requests.length, asked);
  }

  it('refuses an account without money, with the status of its address', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    await assertRefusedAlike(poor, CHAT, 402, 'insufficient_balance');
    for (const [path, status] of [
      ['/v1/messages', 402],
      ['/v1/responses/compact', 429],
      ['/v1/images/generations', 429],
      ['/v1/images/edits', 429],
    ] as const) {
      const response = await responseToHead(path, poor.key, LARGE);
      assert.deepEqual([response.status, response.headers['x-error-code']], [status, 'insufficient_balance']);
    }
  });

  it('refuses a chunked body as soon as more than 1 MiB of it has arrived', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const begin = `100001\r\n${' '.repeat(MEBIBYTE + 1)}\r\n`;
    const response = await responseToHead(CHAT, poor.key, [['transfer-encoding', 'chunked']], begin);
    assert.deepEqual([response.status, response.headers['x-error-code']], [402, 'insufficient_balance']);
  });

  it('refuses an account that has reached its daily limit', async () => {
    const capped = await gateway.createAccount({ dailySpendCapYuan: '0.00001' });
    assert.equal((await small(capped)).status, 200);
    await assertRefusedAlike(capped, CHAT, 429, 'balance_daily_limit_exceeded');
  });

  it('refuses a key that has reached its daily spend limit or its daily calls', async () => {
    for (const [limits, code] of [
      [{ dailySpendCapYuan: '0.00001' }, 'key_daily_spend_limit_exceeded'],
      [{ dailyCalls: 1 }, 'key_daily_calls_limit_exceeded'],
    ] as const) {
      const account = await gateway.createAccount();
      const { status } = await gateway.admin('PATCH', `/keys/${account.keyId}`, limits);
      assert.equal(status, 200);
      assert.equal((await small(account)).status, 200);
      await assertRefusedAlike(account, CHAT, 429, code);
    }
  });

  it('refuses an account without a plan, with an expired plan, and with exhausted windows or tokens', async () => {
    const without = await gateway.createAccount();
    await assertRefusedAlike(without, CODING, 402, 'insufficient_package');
    const past = await gateway.createAccount();
    await subscribe(gateway, past, 'few-tokens', '2026-11-19T04:00:01Z');
    clock.advance(1_000);
    await assertRefusedAlike(past, CODING, 402, 'package_expired');
    const future = await gateway.createAccount();
    await subscribe(gateway, future, 'roomy', '2027-01-01T00:00:00Z');
    await assertRefusedAlike(future, CODING, 402, 'insufficient_package');
    for (const [plan, status, code] of [
      ['one', 429, 'package_5h_quota_exhausted'],
      ['one-a-week', 429, 'package_weekly_quota_exhausted'],
      ['few-tokens', 402, 'insufficient_package'],
    ] as const) {
      const account = await gateway.createAccount({ balanceYuan: '0' });
      await subscribe(gateway, account, plan);
      assert.equal((await small(account, CODING)).status, 200);
      await assertRefusedAlike(account, CODING, status, code);
    }
  });

  it('admits accounts that can pay, and reserves nothing', async () => {
    const account = await gateway.createAccount();
    const body = JSON.stringify({ ...requestOf(false), user: 'u'.repeat(2 * MEBIBYTE) });
    assert.equal((await call(gateway.url + CHAT, account.key, JSON.parse(body))).status, 200);
    const compressed = await sendRaw(gateway.url, {
      path: CHAT,
      headers: [
        ['authorization', `Bearer ${account.key}`],
        ['content-type', 'application/json'],
        ['content-encoding', 'gzip'],
      ],
      body: gzipSync(body),
    });
    assert.equal(compressed.status, 200, compressed.body.toString());
    await assertSpent(account, 2n * costNano({ input: 11, output: 7 }));
  });

  it('refuses a new Idempotency-Key with each upload as it refuses none', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    let keys = 0;
    const fresh = () => ['idempotency-key', `fresh-${++keys}`] as const;
    for (const [path, status] of [
      [CHAT, 402],
      ['/v1/messages', 402],
      ['/v1/images/edits', 429],
      [CODING, 402],
    ] as const) {
      for (const headers of [LARGE, COMPRESSED, [...LARGE, ['expect', '100-continue']] as const]) {
        assert.equal((await responseToHead(path, poor.key, [...headers, fresh()])).status, status, path);
      }
    }
    const begin = `100001\r\n${' '.repeat(MEBIBYTE + 1)}\r\n`;
    const chunked = await responseToHead(CHAT, poor.key, [['transfer-encoding', 'chunked'], fresh()], begin);
    assert.equal(chunked.status, 402);
    // An invalid key belongs to no call.
    assert.equal((await responseToHead(CHAT, poor.key, [...LARGE, ['idempotency-key', 'a b']])).status, 402);
  });

  it('reads the body of a repeat, which gets its response even without balance', async () => {
    const account = await gateway.createAccount({ dailySpendCapYuan: '0.00001' });
    const body = JSON.stringify({ ...requestOf(false), user: 'u'.repeat(2 * MEBIBYTE) });
    const send = (key: string) => call(gateway.url + CHAT, account.key, body, { headers: { 'idempotency-key': key } });
    const first = await send('known');
    assert.equal(first.status, 200, first.text);
    await assertRefusedAlike(account, CHAT, 429, 'balance_daily_limit_exceeded');
    const fresh = await responseToHead(CHAT, account.key, [...LARGE, ['idempotency-key', 'fresh']]);
    assert.equal(fresh.status, 429);
    const asked = await responseToHead(CHAT, account.key, [
      ...LARGE,
      ['idempotency-key', 'known'],
      ['expect', '100-continue'],
    ]);
    assert.equal(asked.status, 100);
    const repeat = await send('known');
    assert.deepEqual([repeat.status, repeat.headers['x-faregate-repeated']], [200, 'true']);
    assert.equal(repeat.text, first.text);
    // The same key of another account is unrelated.
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    assert.equal((await responseToHead(CHAT, poor.key, [...LARGE, ['idempotency-key', 'known']])).status, 402);
  });

  it('reads the body of a repeat while the first call runs', async () => {
    const account = await gateway.createAccount();
    assert.equal((await small(account)).status, 200);
    const live = liveResponse({ 'content-type': 'application/json' });
    const respond = gateway.provider.respond;
    gateway.provider.respond = live.respond;
    const headers = { 'idempotency-key': 'running' };
    const started = startCall(gateway.url + CHAT, account.key, requestOf(false), { headers });
    await live.opened;
    gateway.provider.respond = respond;
    await gateway.admin('PATCH', `/accounts/${account.id}`, { dailySpendCapYuan: '0.00001' });
    assert.equal((await responseToHead(CHAT, account.key, [...LARGE, ['idempotency-key', 'fresh']])).status, 429);
    const asked = await responseToHead(CHAT, account.key, [
      ...LARGE,
      ['idempotency-key', 'running'],
      ['expect', '100-continue'],
    ]);
    assert.equal(asked.status, 100);
    await live.write(JSON.stringify(chatCompletion()));
    live.end();
    assert.equal((await started.response).status, 200);
  });

  it('does not apply to token counting, whatever the size of the body', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const response = await responseToHead('/v1/messages/count_tokens', poor.key, [
      ...LARGE,
      ['expect', '100-continue'],
    ]);
    assert.equal(response.status, 100);
  });
});
