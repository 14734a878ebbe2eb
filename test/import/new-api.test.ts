import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { AccountResponse } from '../../src/api/management/wire.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { fillPostgresBooks } from '../fixtures/foreign-books/databases.ts';
import { createBareDatabase, type TestDatabase } from '../support/database.ts';
import { costNano, PRICE, startGateway, type TestGateway } from '../support/gateway.ts';
import { type MovingIn, movingIn } from '../support/moving-in.ts';
import { chatUsage } from '../support/provider.ts';

/** The models in token limits of the fixture. */
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'deepseek-chat']
  .map((name) => `  ${name}: { operations: [chat], price: ${PRICE}, routes: [{ provider: chatty, model: ${name} }] }`)
  .join('\n');
const CALL_COST = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
/** 7.15 yuan / 500,000. */
const UNIT_NANO = 14_300n;
const LIN_NANO = 12_343_627n * UNIT_NANO;

/** The results of calls with the keys: a status, and the reason of a failure. */
const EXPECTED: readonly (readonly [name: string, model: string, result: string])[] = [
  ['notebook', 'deepseek-chat', '200'],
  ['ci', 'gpt-4o', '200'],
  ['ci', 'deepseek-chat', '403 permission_denied'],
  ['later', 'gpt-4o', '200'],
  ['off', 'gpt-4o', '401 The API key has been revoked.'],
  ['old', 'gpt-4o', '401 The API key has expired.'],
  ['中文 key', 'gpt-4o-mini', '200'],
  ['phone', 'gpt-4o', '401 The account of this API key is suspended.'],
  ['empty', 'gpt-4o', '429 key_total_spend_limit_exceeded'],
  ['ops', 'gpt-4o', '402 insufficient_balance'],
  ['gone', 'gpt-4o', '401 The API key is unknown.'],
  ['dropped', 'gpt-4o', '401 The API key is unknown.'],
];

describe('import from new-api v1.0.0-rc.24 on PostgreSQL', { timeout: 60_000 }, () => {
  let source: TestDatabase;
  let g: TestGateway;
  let moving: MovingIn;
  /** The keys that clients send, by name of the token. */
  let sent: Map<string, string>;

  before(async () => {
    source = await createBareDatabase();
    await fillPostgresBooks('new-api-1.0.0-rc.24', source.url);
    const client = new pg.Client({ connectionString: source.url });
    await client.connect();
    const { rows } = await client.query('select name, key from tokens');
    await client.end();
    sent = new Map(rows.map(({ name, key }) => [name, `sk-${key}`]));
    g = await startGateway({ models: MODELS });
    moving = movingIn('new-api', source.url, g);
  });
  after(async () => {
    await g.stop();
    await source.remove();
  });

  const ask = (name: string, model: string): Promise<string> => moving.responseTo(sent.get(name)!, model);

  it('creates nothing without --apply, and prints what it would create and skip', async () => {
    const before = await moving.counts();
    const printed = await moving.move();
    assert.match(printed, /^6 accounts with 10 keys and ¥\d+\.\d+ would be created\. Nothing was/m);
    assert.match(printed, /^ *1 +balance of root, 100000000 units/m);
    assert.match(printed, /^ *3 +codes that nobody has redeemed, 105000 units/m);
    assert.deepEqual(await moving.counts(), before);
  });

  it('imports balances to the nano-yuan, and passes the audit', async () => {
    await moving.move('--apply');
    const { body } = await g.admin('GET', '/accounts');
    const balances = body.data.map(({ name, balanceYuan }: AccountResponse) => [name, parseYuan(balanceYuan)!]);
    assert.deepEqual(Object.fromEntries(balances), {
      root: 0n,
      lin: LIN_NANO,
      wang: 100_684n * UNIT_NANO,
      chen: 499_884n * UNIT_NANO,
      zhao: UNIT_NANO,
      ops: 0n,
    });
    assert.equal((await g.admin('POST', '/audit')).body.isSound, true);
  });

  it('accepts the keys that new-api accepted, and refuses the keys that it refused', async () => {
    const results: string[][] = [];
    for (const [name, model] of EXPECTED) results.push([name, model, await ask(name, model)]);
    assert.deepEqual(results, EXPECTED);
    const [lin] = (await g.admin('GET', '/accounts?search=lin')).body.data;
    await g.observed.callsEnded(lin.id, 3);
    const { body } = await g.admin('GET', `/accounts/${lin.id}`);
    assert.equal(parseYuan(body.balanceYuan), LIN_NANO - 3n * CALL_COST);
  });

  it('writes nothing when it is repeated, even after calls', async () => {
    const before = await moving.counts();
    await moving.move('--apply');
    assert.deepEqual(await moving.counts(), before);
  });

  it('stops at an account whose balance has changed there, and says what to do', async () => {
    const client = new pg.Client({ connectionString: source.url });
    await client.connect();
    await client.query("update users set quota = quota + 1 where username = 'wang'");
    await client.end();
    const before = await moving.counts();
    const { code, stderr } = await moving.run('--apply');
    assert.equal(code, 4);
    assert.match(
      stderr,
      /^wang: The account was imported before, and its name, e-mail address or balance has changed.*account adjust/m,
    );
    assert.deepEqual(await moving.counts(), before);
  });
});
