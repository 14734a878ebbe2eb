import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { REFUSALS_PER_SECOND } from '../../src/http/refusal-throttle.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse } from '../support/provider.ts';

/** Callers who are refused repeatedly. The tests control the clock that measures the rate. */

const CHAT = '/v1/chat/completions';
const ADMISSION = 'reservations.admit';
const LOOK_UP = 'accounts.select-standings';

describe(`floods of refusals`, { timeout: 120_000 }, () => {
  let monotonicMs = 0;
  let gateway: TestGateway;
  let poor: TestAccount;
  before(async () => {
    gateway = await startGateway({ monotonicMs: () => monotonicMs });
    gateway.provider.respond = chatResponse();
  });
  after(() => gateway?.stop());
  beforeEach(async () => {
    monotonicMs += 10_000;
    poor = await gateway.createAccount({ balanceYuan: '0' });
  });

  const ask = (key: string): Promise<ClientResponse> => call(gateway.url + CHAT, key, requestOf(false, 'test-chat'));
  const askedOf = (name: string): number => gateway.observed.statement(name).asked;

  async function assertRefused(key: string, status: number, code: string): Promise<void> {
    const response = await ask(key);
    assert.equal(response.status, status, response.text);
    assert.equal(response.json.error.code, code);
  }
  /** Sends as many calls as are refused without delay. */
  async function flood(key: string, status: number, code: string): Promise<void> {
    for (let i = 0; i < REFUSALS_PER_SECOND; i++) await assertRefused(key, status, code);
  }

  test('of an account get their responses from memory, and are checked again after a second', async () => {
    await flood(poor.key, 402, 'insufficient_balance');
    const asked = askedOf(ADMISSION);
    for (let i = 0; i < 5; i++) await assertRefused(poor.key, 402, 'insufficient_balance');
    assert.equal(askedOf(ADMISSION), asked);
    monotonicMs += 1_000;
    await assertRefused(poor.key, 402, 'insufficient_balance');
    assert.equal(askedOf(ADMISSION), asked + 1);
  });

  test('of an account get their responses from memory even with a new Idempotency-Key, while repeats get their stored responses', async () => {
    const capped = await gateway.createAccount({ dailySpendCapYuan: '0.00001' });
    const send = (key: string): Promise<ClientResponse> =>
      call(gateway.url + CHAT, capped.key, requestOf(false, 'test-chat'), { headers: { 'idempotency-key': key } });
    const first = await send('known');
    assert.equal(first.status, 200, first.text);
    await flood(capped.key, 429, 'balance_daily_limit_exceeded');
    await assertRefused(capped.key, 429, 'balance_daily_limit_exceeded');
    const asked = askedOf(ADMISSION);
    for (let i = 0; i < 5; i++) assert.equal((await send(`fresh-${i}`)).status, 429);
    assert.equal(askedOf(ADMISSION), asked);
    const repeat = await send('known');
    assert.deepEqual([repeat.status, repeat.text], [200, first.text]);
  });

  test('of an account end immediately with a top-up', async () => {
    await flood(poor.key, 402, 'insufficient_balance');
    await assertRefused(poor.key, 402, 'insufficient_balance');
    await gateway.admin('POST', `/accounts/${poor.id}/top-ups`, { amountYuan: '1' });
    assert.equal((await ask(poor.key)).status, 200);
  });

  test('of an account do not affect other accounts or other addresses', async () => {
    const other = await gateway.createAccount();
    await flood(poor.key, 402, 'insufficient_balance');
    assert.equal((await ask(other.key)).status, 200);
    const balance = await fetch(`${gateway.url}/user/balance`, { headers: { authorization: `Bearer ${poor.key}` } });
    assert.equal(balance.status, 200);
    await balance.text();
  });

  test('of an unknown key do not each reach the database, and do not affect a valid key', async () => {
    const unknown = `${poor.key.slice(0, -4)}${poor.key.endsWith('aaaa') ? 'bbbb' : 'aaaa'}`;
    await flood(unknown, 401, 'invalid_api_key');
    const asked = askedOf(LOOK_UP);
    for (let i = 0; i < 5; i++) await assertRefused(unknown, 401, 'invalid_api_key');
    assert.equal(askedOf(LOOK_UP), asked);
    const other = await gateway.createAccount();
    assert.equal((await ask(other.key)).status, 200);
  });

  test('of wrong admin tokens do not delay the right one', async () => {
    const guess = async (): Promise<number> => {
      const response = await fetch(`${gateway.url}/admin/v1/accounts`, {
        headers: { authorization: 'Bearer guess' },
      });
      await response.text();
      return response.status;
    };
    for (let i = 0; i < 20; i++) assert.equal(await guess(), 401);
    // With a stopped clock, each of these is delayed for a second; the right token gets its response before them.
    const guesses = Array.from({ length: 40 }, guess);
    const first = await Promise.race([
      Promise.all(guesses).then(() => 'guesses'),
      gateway.admin('GET', '/routes').then(({ status }) => status),
    ]);
    assert.equal(first, 200);
    assert.deepEqual(new Set(await Promise.all(guesses)), new Set([401]));
  });
});
