import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { AccountResponse } from '../../src/api/management/wire.ts';
import { openForeignDatabase } from '../../src/cli/import/foreign-database.ts';
import { readBooks } from '../../src/cli/import/litellm/read-books.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { fillPostgresBooks, makeSqliteBooks } from '../fixtures/foreign-books/databases.ts';
import { createBareDatabase } from '../support/database.ts';
import { costNano, PRICE, startGateway, type TestGateway } from '../support/gateway.ts';
import { type MovingIn, movingIn } from '../support/moving-in.ts';
import { temporaryDirectory } from '../support/process.ts';
import { chatUsage } from '../support/provider.ts';

/** From LiteLLM to a gateway that serves: what its clients sent goes on working. */

const MODELS = ['gpt-4o', 'gpt-4o-mini', 'deepseek-chat']
  .map(
    (name) => `
  ${name}:
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: chatty, model: ${name} }]`,
  )
  .join('');

const CALL_COST = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
/** 7.15 yuan for each of 100 dollars less 0.30000015, and of 12.345678 less 0.10021650000000001, to the nearest nano-yuan. */
const RESEARCH = 712_854_998_928n;
const LIN = 87_555_049_725n;

const SUSPENDED = '401 The account of this API key is suspended.';

const RESPONSES: readonly (readonly [key: string, model: string, response: string])[] = [
  ['sk-research-notebook-1a2b3c4d', 'gpt-4o', '200'],
  ['sk-research-notebook-1a2b3c4d', 'deepseek-chat', '403 permission_denied'],
  ['sk-research-ci-5e6f7a8b', 'gpt-4o-mini', '200'],
  ['sk-research-ci-5e6f7a8b', 'gpt-4o', '403 permission_denied'],
  ['sk-support-9c0d1e2f', 'gpt-4o', '402 insufficient_balance'],
  ['sk-support-pattern-3a4b5c6d', 'deepseek-chat', '403 permission_denied'],
  ['sk-old-7e8f9a0b', 'gpt-4o', SUSPENDED],
  ['sk-lin-laptop-1c2d3e4f', 'deepseek-chat', '200'],
  ['sk-wang-blocked-9e0f1a2b', 'gpt-4o', '401 The API key has been revoked.'],
  ['sk-wang-expired-3c4d5e6f', 'gpt-4o', '401 The API key has expired.'],
  ['sk-ui-session-0000', 'gpt-4o', '401 The API key is unknown.'],
  ['sk-nobody-has-it-0000', 'gpt-4o', '401 The API key is unknown.'],
];

describe('an import of litellm-1.110.2', { timeout: 60_000 }, () => {
  let stored: Awaited<ReturnType<typeof createBareDatabase>>;
  let client: pg.Client;
  let g: TestGateway;
  let moving: MovingIn;

  before(async () => {
    stored = await createBareDatabase('postgresql');
    await fillPostgresBooks('litellm-1.110.2', stored.url);
    client = new pg.Client({ connectionString: stored.url });
    await client.connect();
    g = await startGateway({ models: MODELS });
    moving = movingIn('litellm', stored.url, g);
  });
  after(async () => {
    await g.stop();
    await client.end();
    await stored.remove();
  });

  /** All rows of the source, digested. */
  async function sourceDigest(): Promise<string> {
    const digest = createHash('sha256');
    for (const table of ['TeamTable', 'UserTable', 'VerificationToken', 'BudgetTable', 'ProxyModelTable']) {
      const { rows } = await client.query(`select t::text as row, xmin::text from "LiteLLM_${table}" t order by 1`);
      digest.update(JSON.stringify(rows));
    }
    return digest.digest('hex');
  }
  it('makes nothing without --apply, and says what it would make and what it leaves out', async () => {
    const before = await moving.counts();
    const digest = await sourceDigest();
    const printed = await moving.move();
    assert.match(printed, /^\s*7 accounts with 10 keys and ¥836\.160048653 would be made\. Nothing was/m);
    for (const text of ['budgets of accounts that are renewed', 'models with their prices', 'keys with tags']) {
      assert.ok(printed.includes(text), printed);
    }
    assert.deepEqual(await moving.counts(), before);
    assert.equal(await sourceDigest(), digest);
  });

  it('brings what is left of budgets to the nano-yuan, and proves it', async () => {
    await moving.move('--apply');
    const { body } = await g.admin('GET', '/accounts');
    const balances = body.data.map(({ name, balanceYuan }: AccountResponse) => [name, parseYuan(balanceYuan)!]);
    assert.deepEqual(Object.fromEntries(balances), {
      research: RESEARCH,
      support: 0n,
      old: 35_750_000_000n,
      '6f1f1c2e-0004-4b1e-9c2a-000000000004': 0n,
      Lin: LIN,
      'wang@example.com': 0n,
      'LiteLLM keys of nobody': 0n,
    });
    assert.equal((await g.admin('GET', '/audit')).body.isSound, true);
  });

  it('keeps the limits of keys: budgets by their periods, calls and tokens by the minute, and parallel ones', async () => {
    const limits = async (accountName: string) => {
      const [account] = (await g.admin('GET', `/accounts?name=${accountName}`)).body.data;
      const { data } = (await g.admin('GET', `/accounts/${account.id}/keys`)).body;
      return new Map(data.map((key: { name: string }) => [key.name, key]));
    };
    const has = (key: unknown, expected: object) => assert.partialDeepStrictEqual(key, expected);
    has((await limits('research')).get('ci'), {
      weeklySpendCapYuan: '71.5',
      totalSpendCapYuan: null,
      concurrency: 4,
      requestsPerMinute: 60,
      tokensPerMinute: 100_000,
      allowedModels: ['gpt-4o-mini'],
    });
    has((await limits('support')).get('desk'), { dailySpendCapYuan: '17.875', requestsPerMinute: 30 });
    has((await limits('Lin')).get('laptop'), { totalSpendCapYuan: '20.733452025', allowedModels: null });
    has((await limits('Lin')).get('sk-...7c8d'), { totalSpendCapYuan: '7.15', prefix: 'sk-…7c8d' });
  });

  it('keeps keys working with what their clients have sent before, and refuses those that were refused', async () => {
    const responses: string[][] = [];
    for (const [key, model] of RESPONSES) responses.push([key, model, await moving.responseTo(key, model)]);
    assert.deepEqual(responses, RESPONSES);
    const [lin] = (await g.admin('GET', '/accounts?name=Lin')).body.data;
    await g.observed.callsEnded(lin.id, 1);
    const { body } = await g.admin('GET', `/accounts/${lin.id}`);
    assert.equal(parseYuan(body.balanceYuan), LIN - CALL_COST);
  });

  it('writes nothing when it is repeated, whatever was spent since, and nothing to the source', async () => {
    const before = await moving.counts();
    const digest = await sourceDigest();
    await moving.move('--apply');
    assert.deepEqual(await moving.counts(), before);
    assert.equal(await sourceDigest(), digest);
  });

  it('is refused where the last migration is another one, with what was found and what was tried', async () => {
    await client.query(`insert into _prisma_migrations (id, checksum, migration_name, finished_at)
      values ('later', '', '20991231000000_later', now())`);
    const { code, stderr } = await moving.run('--apply');
    assert.equal(code, 1);
    assert.match(stderr, /20991231000000_later.*not tried.*LiteLLM 1\.110\.2/);
    await client.query(`update _prisma_migrations set finished_at = null where id = 'later'`);
    assert.match((await moving.run()).stderr, /has not ended/);
    await client.query(`delete from _prisma_migrations where id = 'later'`);
  });

  it('is refused for the database of another program', async () => {
    const directory = temporaryDirectory();
    try {
      const path = join(directory.path, 'one-api.db');
      makeSqliteBooks('one-api-0.6.10', path);
      const database = await openForeignDatabase(path);
      const reading = readBooks({ database, usdCny: { digits: 715n, scale: 2 } });
      await assert.rejects(reading, /no database of LiteLLM/);
      await database.close();
    } finally {
      directory.remove();
    }
  });
});
