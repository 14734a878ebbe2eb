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

/** From LiteLLM to a running gateway: the clients' keys keep working. */

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
/**
 * 7.15 yuan per dollar, for 100 dollars less 0.11189665, 5 less 0.00015000000000000001, and 12.345678 less 0.1162219, rounded to
 * nano-yuan.
 */
const RESEARCH = 714_199_938_953n;
const OLD = 35_748_927_500n;
const LIN = 87_440_611_115n;

const SUSPENDED = '401 The account of this API key is suspended.';
const REVOKED = '401 The API key has been revoked.';
const UNKNOWN = '401 The API key is unknown.';

const RESPONSES: readonly (readonly [key: string, model: string, response: string])[] = [
  ['sk-research-notebook-1a2b3c4d', 'gpt-4o', '200'],
  ['sk-research-notebook-1a2b3c4d', 'deepseek-chat', '403 permission_denied'],
  ['sk-research-ci-5e6f7a8b', 'gpt-4o-mini', '200'],
  ['sk-research-ci-5e6f7a8b', 'gpt-4o', '403 permission_denied'],
  ['sk-support-9c0d1e2f', 'gpt-4o', '402 insufficient_balance'],
  ['sk-support-pattern-3a4b5c6d', 'deepseek-chat', '403 permission_denied'],
  ['sk-6g0Iu4XKF7oZCGMr7XSeOg', 'gpt-4o', '402 insufficient_balance'],
  ['sk-old-team-7e8f9a0b', 'gpt-4o', SUSPENDED],
  ['sk-lin-laptop-1c2d3e4f', 'deepseek-chat', '200'],
  ['sk-lin-in-research-1f2e3d4c', 'gpt-4o', '200'],
  ['sk-lin-in-research-1f2e3d4c', 'deepseek-chat', '403 permission_denied'],
  ['sk-lin-windows-5d6c7b8a', 'gpt-4o', '200'],
  ['sk-lin-llm-only-2b3d4f5a', 'gpt-4o', '200'],
  ['sk-ad7ekMKS6xKdYcuW3erpjA', 'gpt-4o', '200'],
  ['sk-lin-no-team-9a8b7c6d', 'gpt-4o', REVOKED],
  ['sk-lin-manages-1a2c3e4f', 'gpt-4o', UNKNOWN],
  ['sk-lin-dropped-0f1e2d3c', 'gpt-4o', UNKNOWN],
  ['sk-gone-0f1e2d3c4b5a', 'gpt-4o', UNKNOWN],
  ['sk-UzbuBMOxKMeXkrcLMYJItg', 'gpt-4o', '402 insufficient_balance'],
  ['sk-stranger-6e5f4a3b', 'gpt-4o', '402 insufficient_balance'],
  ['sk-script-7a8b9c0d', 'gpt-4o', '402 insufficient_balance'],
  ['sk-wang-blocked-9e0f1a2b', 'gpt-4o', REVOKED],
  ['sk-wang-expired-3c4d5e6f', 'gpt-4o', '401 The API key has expired.'],
  ['sk-6f4aqZxyKnPgtjFFFAKxlA', 'gpt-4o', UNKNOWN],
  ['sk-nobody-has-it-0000', 'gpt-4o', UNKNOWN],
];

const LIN_KEYS: ReadonlySet<string> = new Set([
  'sk-lin-laptop-1c2d3e4f',
  'sk-lin-windows-5d6c7b8a',
  'sk-lin-llm-only-2b3d4f5a',
  'sk-ad7ekMKS6xKdYcuW3erpjA',
]);

const LEFT_OUT = [
  '1  budgets of accounts that are renewed after a period',
  '1  keys whose model lists lose their patterns',
  '4  accounts without a budget',
  '2  budgets of keys that are renewed after another period than a day, a week or a month',
  '1  keys that are imported as revoked, because their team does not exist',
  '4  keys that are not stored as a SHA-256, sign-ins to the dashboard, and keys for its administration only',
  '2  users without a key of their own',
  '1  users with a password or a single sign-on',
  '1  limits per minute of teams and users',
  '1  keys with budgets or limits for single models',
  '1  teams with several budgets',
  '1  members of teams with a budget or limits of their own',
  '2  keys and teams with model aliases',
  '1  keys that are limited to some routes',
  '1  keys with tags or guardrails',
  '5  memberships of teams',
  '1  end users',
  '3  models with their prices and routes',
];

describe('an import of litellm-1.108.7', { timeout: 60_000 }, () => {
  let stored: Awaited<ReturnType<typeof createBareDatabase>>;
  let client: pg.Client;
  let g: TestGateway;
  let moving: MovingIn;

  before(async () => {
    stored = await createBareDatabase();
    await fillPostgresBooks('litellm-1.108.7', stored.url);
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

  /** A digest of all rows of the source. */
  async function sourceDigest(): Promise<string> {
    const digest = createHash('sha256');
    for (const table of ['TeamTable', 'UserTable', 'VerificationToken', 'BudgetTable', 'BudgetWindowSpend']) {
      const { rows } = await client.query(`select t::text as row, xmin::text from "LiteLLM_${table}" t order by 1`);
      digest.update(JSON.stringify(rows));
    }
    return digest.digest('hex');
  }
  it('creates nothing without --apply, and prints what it would create and skip', async () => {
    const before = await moving.counts();
    const digest = await sourceDigest();
    const printed = await moving.move();
    assert.match(printed, /^\s*9 accounts with 19 keys and ¥837\.389477568 would be created\. Nothing was/m);
    for (const line of LEFT_OUT) assert.ok(printed.includes(`\n    ${line}  `), printed);
    assert.deepEqual(await moving.counts(), before);
    assert.equal(await sourceDigest(), digest);
  });

  it('imports the rest of budgets to the nano-yuan, and passes the audit', async () => {
    await moving.move('--apply');
    const { body } = await g.admin('GET', '/accounts');
    const balances = body.data.map(({ name, balanceYuan }: AccountResponse) => [name, parseYuan(balanceYuan)!]);
    assert.deepEqual(Object.fromEntries(balances), {
      research: RESEARCH,
      support: 0n,
      old: OLD,
      '6f1f1c2e-0004-4b1e-9c2a-000000000004': 0n,
      Lin: LIN,
      'wang@example.com': 0n,
      'mei@example.com': 0n,
      stranger: 0n,
      'LiteLLM keys of nobody': 0n,
    });
    assert.equal((await g.admin('POST', '/audit')).body.isSound, true);
  });

  it('imports the limits of keys: budgets by period, calls and tokens per minute, and concurrency', async () => {
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
    has((await limits('support')).get('desk'), {
      dailySpendCapYuan: '17.875',
      requestsPerMinute: 30,
      concurrency: null,
    });
    has((await limits('stranger')).get('of a user without a row'), { totalSpendCapYuan: '28.5723295' });
    has((await limits('Lin')).get('weekly'), { weeklySpendCapYuan: '14.3', totalSpendCapYuan: null });
    has((await limits('Lin')).get('laptop'), { totalSpendCapYuan: '20.73190977', allowedModels: null });
    has((await limits('Lin')).get('sk-...7c8d'), { totalSpendCapYuan: '7.149445875', prefix: 'sk-…7c8d' });
    has((await limits('Lin')).get('windows'), {
      dailySpendCapYuan: '5.005',
      weeklySpendCapYuan: null,
      monthlySpendCapYuan: '35.75',
      totalSpendCapYuan: '3.5473295',
    });
  });

  it('accepts the keys that LiteLLM accepted, and refuses the keys that it refused', async () => {
    const responses: string[][] = [];
    for (const [key, model] of RESPONSES) responses.push([key, model, await moving.responseTo(key, model)]);
    assert.deepEqual(responses, RESPONSES);
    const [lin] = (await g.admin('GET', '/accounts?name=Lin')).body.data;
    const calls = RESPONSES.filter(([key, , response]) => LIN_KEYS.has(key) && response === '200').length;
    await g.observed.callsEnded(lin.id, calls);
    const { body } = await g.admin('GET', `/accounts/${lin.id}`);
    assert.equal(parseYuan(body.balanceYuan), LIN - BigInt(calls) * CALL_COST);
  });

  it('writes nothing when it is repeated, even after calls, and nothing to the source', async () => {
    const before = await moving.counts();
    const digest = await sourceDigest();
    await moving.move('--apply');
    assert.deepEqual(await moving.counts(), before);
    assert.equal(await sourceDigest(), digest);
  });

  it('is refused if the last migration is unknown, with that migration and the tested versions', async () => {
    await client.query(`insert into _prisma_migrations (id, checksum, migration_name, finished_at)
      values ('later', '', '20991231000000_later', now())`);
    const { code, stderr } = await moving.run('--apply');
    assert.equal(code, 1);
    assert.match(stderr, /20991231000000_later.*not tested.*LiteLLM 1\.108\.7/);
    await client.query(`update _prisma_migrations set finished_at = null where id = 'later'`);
    assert.match((await moving.run()).stderr, /is incomplete/);
    await client.query(`delete from _prisma_migrations where id = 'later'`);
  });

  it('is refused for the database of another program', async () => {
    const directory = temporaryDirectory();
    try {
      const path = join(directory.path, 'one-api.db');
      makeSqliteBooks('one-api-0.6.10', path);
      const database = await openForeignDatabase(path);
      const reading = readBooks({ database, usdCny: { digits: 715n, scale: 2 } });
      await assert.rejects(reading, /not a database of LiteLLM/);
      await database.close();
    } finally {
      directory.remove();
    }
  });
});
