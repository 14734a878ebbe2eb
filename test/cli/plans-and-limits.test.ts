import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand, type ServedHere, serveHere } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ask, sessionOf, tokenOf } from '../support/people.ts';
import { type Finished, temporaryDirectory } from '../support/process.ts';
import { json as jsonResponse, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { sql } from '../support/sql.ts';

/** Stopped by SIGINT, which has no drain delay. */
const CONFIG = (providerUrl: string): string => `
server: { drainDelay: 1h }
providers:
  acme: { protocol: chat, baseUrl: "${providerUrl}/v1", apiKey: a-key }
models:
  large: { aliases: [lrg], operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: acme, model: m }] }
plans:
  pro: { name: Coding Pro, fiveHourCalls: 9, weeklyCalls: 9, concurrency: 2, quotaTokens: 1000, periodDays: 30, models: [large], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;

const directory = temporaryDirectory();
after(() => directory.remove());

/** The exit code for the kind of failure that a message describes. */
function exitCodeFor(message: string): number {
  if (/^(error: |--|<)/.test(message)) return 2;
  return /^(database: .*\n)?(gateway: .*\n)?(There is no|Nobody)/.test(message) ? 3 : 4;
}

describe('the command line with a running gateway', { timeout: 240_000 }, () => {
  const file = join(directory.path, 'plans.yaml');
  const environment: Record<string, string> = {
    FAREGATE_DATA_DIR: join(directory.path, 'data'),
    FAREGATE_CONFIG: file,
    FAREGATE_ADMIN_TOKEN: 'an-admin-token-of-a-test',
    PORT: '0',
  };
  let stored: TestDatabase;
  let provider: ScriptedProvider;
  let gateway: ServedHere;
  let url = '';

  const cli = (...given: string[]): Promise<Finished> => withInput(undefined, ...given);
  /** Runs a command with standard input. */
  const withInput = (stdin: string | undefined, ...given: string[]): Promise<Finished> =>
    runCommand(['--gateway', url, ...given], environment, stdin);
  /** The output of a command that must succeed. On standard error, a reading command prints only what it reads. */
  async function printed(...given: string[]): Promise<string> {
    const { code, stdout, stderr } = await cli(...given);
    assert.equal(code, 0, stderr);
    const isReading = ['list', 'show'].includes(given[1]!);
    assert.equal(stderr, isReading ? `gateway: ${url}\n` : '');
    return stdout;
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  const json = async (...given: string[]): Promise<any> => JSON.parse(await printed(...given, '--json'));
  /** The message of a command that must fail: one line, or two for a usage error. */
  async function complaint(...given: string[]): Promise<string> {
    const { code, stdout, stderr } = await cli(...given);
    assert.equal(code, exitCodeFor(stderr), stderr);
    assert.equal(stdout, '');
    assert.ok(!stderr.includes('    at '), stderr);
    return stderr;
  }
  async function call(path: string, key: string): Promise<number> {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'large', messages: [] }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  before(async () => {
    provider = await startProvider();
    writeFileSync(file, CONFIG(provider.url));
    stored = await createTestDatabase();
    gateway = await serveHere([], { ...environment, DATABASE_URL: stored.url });
    url = gateway.url;
    await printed('account', 'create', 'erin', '--verified', '--balance', '5');
  });
  after(async () => {
    await gateway.stop();
    await stored.remove();
    await provider.close();
  });

  it('grants a plan, shows it, renews it and cancels it', async () => {
    assert.equal(
      await printed('plan', 'show', 'erin'),
      'The account has no Coding Plan. Grant one: faregate plan grant erin <plan>\n',
    );
    assert.deepEqual((await json('plan', 'show', 'erin')).subscriptions, []);
    assert.match(await printed('plan', 'list'), /^pro +Coding Pro +0 +9 +9 +2 +1000 in 30 days +large$/m);
    const { key } = await json('key', 'create', 'erin');
    assert.equal(await call('/v1/coding/chat/completions', key), 402);

    const granted = await printed('plan', 'grant', 'erin', 'pro');
    const id = /^subscription +(sub_\w+)$/m.exec(granted)![1]!;
    assert.match(granted, /^plan +Coding Pro$/m);
    assert.match(granted, /^status +active$/m);
    assert.match(granted, /^from +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d$/m);
    assert.equal(await call('/v1/coding/chat/completions', key), 200);

    const {
      subscriptions: [shown],
      remainder,
    } = await json('plan', 'show', 'erin');
    assert.deepEqual([remainder.planId, remainder.isUsable], ['pro', true]);
    assert.equal((await json('plan', 'list'))[0].activeSubscriptions, 1);
    assert.deepEqual([shown.id, shown.planId, shown.status], [id, 'pro', 'active']);
    const text = await printed('plan', 'show', 'erin');
    assert.match(text, new RegExp(`^ID +PLAN +STATUS +FROM +TO\n${id} +Coding Pro +active +`, 'm'));
    assert.match(
      text,
      /^five hours +1 of 9 calls used, 8 left, more at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d$/m,
    );
    assert.match(text, /^week +1 of 9 calls used, 8 left, resets at \d{4}-/m);
    assert.match(text, /^tokens +\d+ of 1000 used, \d+ left, resets at \d{4}-/m);

    const renewed = await json('plan', 'renew', id);
    assert.equal(Date.parse(renewed.endsAt) - Date.parse(shown.endsAt), 30 * 24 * 3_600_000);
    assert.match(await printed('plan', 'renew', id), new RegExp(`^subscription +${id}$`, 'm'));

    assert.equal(await printed('plan', 'cancel', id), `Canceled ${id}.\n`);
    assert.deepEqual(await json('plan', 'cancel', id), { id, canceled: true });
    assert.equal(await call('/v1/coding/chat/completions', key), 402);
    assert.equal((await json('plan', 'show', 'erin')).subscriptions[0].status, 'canceled');
  });

  it('creates users with a link that works once, and manages them', async () => {
    const created = await printed(
      'user',
      'create',
      'Lin',
      '--email',
      'lin@people.example',
      '--auditor',
      '--account',
      'erin',
    );
    const link = /^(http:\S+\/console#\/welcome\?token=[\w-]{43})$/m.exec(created)![1]!;
    assert.ok(link.startsWith(`${url}/console#`), link);
    assert.match(created, /^operator +auditor$/m);
    assert.match(created, /^member +erin \(acct_\w+\)$/m);
    assert.match(created, /server\.publicUrl is not configured/);
    assert.match(
      await printed('user', 'list'),
      /^usr_\w+ +Lin +lin@people\.example +auditor +erin +has no password yet +never$/m,
    );

    const used = await ask({ url }, 'POST', '/links/use', { token: tokenOf(link), password: 'a long enough password' });
    assert.equal(used.status, 201);
    const headers = sessionOf(used);
    const isSignedIn = async () => (await ask({ url }, 'GET', '/session', undefined, headers)).status === 200;
    assert.equal(await isSignedIn(), true);
    assert.match(await printed('user', 'sign-out', 'LIN@people.example'), /^Ended all sessions of usr_\w+\.\n$/);
    assert.equal(await isSignedIn(), false);

    assert.match(
      await printed('account', 'member', 'add', 'erin', 'lin@people.example', '--role', 'owner'),
      /^Lin is owner of acct_/,
    );
    assert.deepEqual(
      JSON.parse((await cli('account', 'member', 'list', 'erin', '--json')).stdout).map(
        ({ role }: { role: string }) => role,
      ),
      ['owner'],
    );
    await printed('account', 'member', 'remove', 'erin', 'lin@people.example');
    // The token of a remote gateway can remove the role of an operator, but not assign it.
    assert.match(
      await complaint('user', 'role', 'lin@people.example', 'operator'),
      /^An admin token cannot grant a role to a user/,
    );
    await sql(stored.database, `update users set operator_role = 'operator' where email = 'lin@people.example'`);
    const { id, operatorRole, memberships } = await json('user', 'role', 'lin@people.example', 'none');
    assert.deepEqual([operatorRole, memberships], [null, []]);
    assert.equal((await json('user', 'suspend', id)).status, 'suspended');
    assert.equal(await complaint('user', 'reset', id), 'The user is suspended and cannot use a link.\n');
    assert.equal((await json('user', 'resume', id)).status, 'active');
    const reset = await json('user', 'reset', id);
    assert.deepEqual([reset.linkKind, tokenOf(reset.link) === tokenOf(link)], ['reset', false]);
    assert.equal(await printed('user', 'delete', id), `Deleted ${id}.\n`);
    assert.match(await complaint('user', 'show', 'lin@people.example'), /^Nobody signs in as "lin@people\.example"\./m);
    const both = await cli('user', 'create', 'Wei', '--operator', '--auditor');
    assert.deepEqual([both.code, both.stdout, both.stderr], [2, '', 'Choose --operator or --auditor.\n']);
  });

  it('suspends an account with a reason, and resumes it', async () => {
    await printed('account', 'create', 'late payer', '--verified', '--balance', '1');
    const { key } = await json('key', 'create', 'late payer');
    const suspended = await printed('account', 'suspend', 'late payer', '--reason', 'invoice 7');
    const says = /^status +suspended since \d{4}-\S+ \S+ \S+: invoice 7 \(faregate account resume acct_\w+\)$/m;
    assert.match(suspended, says);
    assert.match(await printed('account', 'show', 'late payer'), says);
    assert.equal(await call('/v1/chat/completions', key), 401);
    assert.match(await printed('account', 'resume', 'late payer'), /^status +active since \S+ \S+ \S+$/m);
    assert.equal(await call('/v1/chat/completions', key), 200);
  });

  it('finds a key by standard input or its first characters, and refuses a whole key as an argument', async () => {
    await printed('account', 'create', 'keeper', '--verified');
    const { key, id, prefix } = await json('key', 'create', 'keeper', '--name', 'laptop');
    const byKey = await withInput(`${key}\nmore`, 'key', 'find');
    assert.equal(byKey.code, 0, byKey.stderr);
    for (const text of [byKey.stdout, (await cli('key', 'find', prefix)).stdout]) {
      assert.match(text, /^account +keeper \(acct_\w+\)$/m);
      assert.match(text, new RegExp(`^key +laptop \\(${id}\\)$`, 'm'));
      assert.match(text, /^key is +active$/m);
      assert.ok(!text.includes(key.slice(10)));
    }
    const refused = await cli('key', 'find', key);
    assert.deepEqual([refused.code, refused.stdout], [2, '']);
    assert.match(refused.stderr, /Do not give a whole key as an argument: .*revoke it/);
    assert.ok(!refused.stderr.includes(key.slice(10)));
    const unknown = await cli('key', 'find', 'sk-fg-00');
    assert.deepEqual([unknown.code, unknown.stdout], [1, 'No account has such a key.\n']);
    const empty = await withInput('\n', 'key', 'find');
    assert.equal(empty.code, 2);
    assert.match(empty.stderr, /Standard input is empty/);
  });

  it('settles and refunds calls, and reports missing options', async () => {
    assert.match(
      (await cli('calls', 'resolve', 'call_1')).stderr,
      /one of --charge <yuan>, --tokens <count> .* --release/,
    );
    assert.match((await cli('calls', 'resolve', 'call_1', '--release')).stderr, /^There is no call call_1\.$/m);
    await printed('account', 'create', 'refunded', '--verified', '--balance', '1');
    const { key } = await json('key', 'create', 'refunded');
    assert.equal(await call('/v1/chat/completions', key), 200);
    const [{ id, chargeYuan }] = JSON.parse((await cli('calls', '--account', 'refunded', '--json')).stdout);
    assert.match(await printed('calls', 'show', id), /^status +succeeded 200$/m);
    const resolved = await cli('calls', 'resolve', id, '--charge', '1');
    assert.match(resolved.stderr, /already ended: it is succeeded/);
    assert.equal(
      (await cli('calls', 'refund', id, '--memo', 'sorry')).stdout,
      `Refunded ¥${chargeYuan}, in all ¥${chargeYuan} of the charge of ¥${chargeYuan}. The balance is ¥1.\n`,
    );
    assert.match((await cli('calls', 'refund', id)).stderr, /has been refunded already/);
    assert.ok((await cli('calls', '--account', 'refunded')).stdout.includes(`${chargeYuan} (-${chargeYuan})`));
    assert.equal((await cli('calls', '--status', 'in_flight')).stdout, 'No calls are in flight.\n');
  });

  it('shows why a call failed', async () => {
    await printed('account', 'create', 'failing', '--verified', '--balance', '1');
    const { key } = await json('key', 'create', 'failing');
    const { respond } = provider;
    provider.respond = jsonResponse(400, { error: { message: 'Too many images.' } });
    assert.equal(await call('/v1/chat/completions', key), 400);
    provider.respond = respond;
    const [{ id, gatewayRequestId }] = JSON.parse((await cli('calls', '--account', 'failing', '--json')).stdout);
    const attempt = /^ *1 +acme · m +apiKey +refused +400 +\d+ +Too many images\.$/m;
    assert.match(await printed('calls', 'show', id), attempt);
    assert.match((await cli('calls', '--request-id', gatewayRequestId)).stdout, attempt);
    const [shown] = (await json('calls', 'show', id)).attempts;
    assert.deepEqual([shown.failure, shown.words], ['refused', 'Too many images.']);
  });

  it('drains routes, lists them and resumes them', async () => {
    await printed('account', 'create', 'drainer', '--verified', '--balance', '1');
    const { key } = await json('key', 'create', 'drainer');
    const drained = await cli('route', 'drain', 'acme/large', '--reason', 'maintenance', '--by', 'alice');
    assert.equal(
      drained.stdout,
      'Drained acme/large. Routes without new calls: 1.\nTo resume: faregate route resume acme/large\n',
    );
    assert.equal(
      drained.stderr,
      'Warning: this was the only available route of large: its calls are now refused with 503.\n',
    );
    assert.equal(await call('/v1/chat/completions', key), 503);
    assert.match(
      await printed('route', 'list'),
      /^large +acme +m +0 +1 +closed +acme\/large\n\nDRAINED.*\nacme\/large +\d{4}-\d\d-\d\d \S+ [+-]\d\d:\d\d +alice +1 +maintenance\n$/m,
    );
    const { data, drains } = await json('route', 'list');
    assert.equal(data[0].drained.reason, 'maintenance');
    assert.equal(drains[0].by, 'alice');
    assert.match(
      await printed('route', 'resume', 'acme/large'),
      /^Resumed acme\/large, which was drained since \d{4}-\d\d-\d\d \S+ [+-]\d\d:\d\d by alice\.\n$/,
    );
    assert.equal(await call('/v1/chat/completions', key), 200);
    assert.match(
      await complaint('route', 'drain', 'amce'),
      /^There is no provider or route "amce"\. Did you mean "acme"\? Give PROVIDER, /,
    );
    assert.match(await complaint('route', 'resume', 'acme'), /^There is no drain of provider acme\.\n$/);
  });

  it('grants a plan that begins later', async () => {
    await printed('account', 'create', 'later');
    const granted = await json('plan', 'grant', 'later', 'pro', '--starts', '2999-01-01T00:00:00+01:00');
    assert.deepEqual([granted.status, granted.startsAt], ['scheduled', '2998-12-31T23:00:00.000Z']);
  });

  it('explains why a plan cannot be granted, renewed or canceled', async () => {
    assert.equal(await complaint('plan', 'grant', 'erin', 'ultra'), '<plan>: There is no plan "ultra". Known: pro.\n');
    assert.equal(
      await complaint('plan', 'grant', 'nobody', 'pro'),
      'There is no account called "nobody". See: faregate account list\n',
    );
    assert.match(
      await complaint('plan', 'grant', 'erin', 'pro', '--starts', 'tomorrow'),
      /^--starts: Expected an instant in ISO 8601, such as \d{4}-/,
    );
    assert.match(
      await complaint('plan', 'grant', 'erin', 'pro', '--starts', '2020-01-01T00:00:00Z'),
      /^--starts: The period would end in the past\.\n$/,
    );
    await printed('account', 'create', 'twice');
    await printed('plan', 'grant', 'twice', 'pro');
    assert.match(
      await complaint('plan', 'grant', 'twice', 'pro'),
      /another subscription in that period\. Cancel it, or start this one at its end\.\n$/,
    );
    for (const command of ['renew', 'cancel']) {
      assert.equal(await complaint('plan', command, 'sub_none'), 'There is no subscription sub_none.\n');
      assert.match(await complaint('plan', command), /^error: missing required argument 'subscription'\n/);
    }
    assert.match(await complaint('plan', 'grant', 'erin'), /^error: missing required argument 'plan'\n/);
  });

  it('creates a key with limits that apply, and lists them', async () => {
    const limited = await json(
      'key',
      'create',
      'erin',
      '--name',
      'limited',
      '--daily-spend',
      '2.50',
      '--daily-calls',
      '1',
      '--concurrency',
      '3',
    );
    assert.deepEqual([limited.dailySpendCapYuan, limited.dailyCalls, limited.concurrency], ['2.5', 1, 3]);
    assert.equal(await call('/v1/chat/completions', limited.key), 200);
    assert.equal(await call('/v1/chat/completions', limited.key), 429);
    assert.match(
      await printed('key', 'create', 'erin', '--name', 'free', '--concurrency', 'none'),
      /^sk-fg-\w+\n\nThis is the only time the key is shown\. Its id is key_\w+\.\n$/,
    );
    const listed = await printed('key', 'list', 'erin');
    assert.match(listed, /^ID +NAME +KEY +CREATED +EXPIRES +LAST USED +REVOKED +SCOPES +WHOSE +LIMITS +USED$/m);
    assert.match(
      listed,
      / limited .* ¥2\.5 a day, 1 calls a day, 3 at a time +¥[\d.]+ of 2\.5 today, 1 of 1 calls today$/m,
    );
    assert.match(listed, / free .* none$/m);
    const stored = (await json('key', 'list', 'erin')).find(({ id }: { id: string }) => id === limited.id);
    assert.deepEqual([stored.dailySpendCapYuan, stored.dailyCalls, stored.concurrency], ['2.5', 1, 3]);
  });

  it('changes single limits of a key, and removes them with "none"', async () => {
    const { id, key } = await json('key', 'create', 'erin', '--daily-calls', '0');
    assert.equal(await call('/v1/chat/completions', key), 429);
    assert.equal(await printed('key', 'limit', id, '--concurrency', '4'), `${id}: 0 calls a day, 4 at a time\n`);
    assert.equal(await printed('key', 'limit', id), `${id}: 0 calls a day, 4 at a time\n`);
    const changed = await json('key', 'limit', id, '--daily-calls', 'none', '--daily-spend', '0.5');
    assert.deepEqual([changed.dailySpendCapYuan, changed.dailyCalls, changed.concurrency], ['0.5', null, 4]);
    assert.equal(await call('/v1/chat/completions', key), 200);
    assert.equal(await printed('key', 'limit', id, '--daily-spend', 'none', '--concurrency', 'none'), `${id}: none\n`);
  });

  it('accepts budgets of several periods, and removes one of them', async () => {
    const key = await json(
      'key',
      'create',
      'erin',
      '--budget',
      '5/day',
      '--budget',
      '20.50/week',
      '--budget',
      '1000/total',
    );
    assert.deepEqual(
      [key.dailySpendCapYuan, key.weeklySpendCapYuan, key.monthlySpendCapYuan, key.totalSpendCapYuan],
      ['5', '20.5', null, '1000'],
    );
    assert.equal(
      await printed('key', 'limit', key.id, '--budget', '60/month', '--budget', 'none/week'),
      `${key.id}: ¥5 a day, ¥60 a month, ¥1000 in all\n`,
    );
    assert.match(
      await complaint('key', 'limit', key.id, '--budget', '5/year'),
      /^error: option '--budget <yuan\/period>' argument '5\/year' is invalid\. Expected an amount and a period, such as 100\/month/,
    );
    assert.match(await complaint('key', 'limit', key.id, '--budget', 'lots/week'), /^--budget: Expected a decimal/);
  });

  it('restricts a key to models and networks, and removes the lists with an empty text or "none"', async () => {
    const { id, key, allowedModels } = await json(
      'key',
      'create',
      'erin',
      '--models',
      'lrg, large',
      '--name',
      'listed',
    );
    assert.deepEqual(allowedModels, ['large']);
    assert.equal(await call('/v1/chat/completions', key), 200);
    assert.equal(
      await printed('key', 'set', id, '--networks', '10.0.0.0/8,2001:DB8::/32'),
      `${id}: only large, only from 10.0.0.0/8 2001:db8::/32\n`,
    );
    assert.match(
      await printed('key', 'list', 'erin'),
      / listed .* only large, only from 10\.0\.0\.0\/8 2001:db8::\/32$/m,
    );
    assert.equal(await call('/v1/chat/completions', key), 403);
    assert.equal(await printed('key', 'set', id, '--networks='), `${id}: only large\n`);
    assert.equal(await call('/v1/chat/completions', key), 200);
    assert.equal(
      await complaint('key', 'set', id, '--models', 'lagre'),
      '--models: There is no model "lagre" that may be called. Did you mean "large"?\n',
    );
    assert.match(await complaint('key', 'set', id, '--networks', '10.0.0.0/40'), /^--networks: Expected an address/);
    assert.match(
      await complaint('key', 'set', id, '--models', 'large,,'),
      /Expected names between commas, such as a,b\./,
    );
    assert.equal(await printed('key', 'limit', id, '--models', 'none'), `${id}: none\n`);
  });

  it('sets the price factor of an account in basis points or percent', async () => {
    for (const [given, basisPoints, shown] of [
      ['8000', 8_000, '8000 (80% of the list price)'],
      ['80%', 8_000, '8000 (80% of the list price)'],
      ['87.5%', 8_750, '8750 (87.5% of the list price)'],
      ['0.05%', 5, '5 (0.05% of the list price)'],
      ['1000%', 100_000, '100000 (1000% of the list price)'],
    ] as const) {
      const set = await json('account', 'set', 'erin', '--price-factor', given);
      assert.equal(set.priceFactorBasisPoints, basisPoints);
      const text = await printed('account', 'show', 'erin');
      assert.ok(text.includes(shown), text);
    }
    for (const given of ['', 'x', '80.5', '-1', '1.234%', '%', '80 %']) {
      assert.match(
        await complaint('account', 'set', 'erin', `--price-factor=${given}`),
        /Expected basis points such as 8000, or a percentage such as 80% or 87\.5%\./,
      );
    }
    assert.match(
      await complaint('account', 'set', 'erin', '--price-factor', '100001'),
      /^--price-factor: .* from 0 to 100000/,
    );
    await json('account', 'set', 'erin', '--price-factor', '100%');
  });

  it('limits requests and tokens per minute of accounts and keys, for all models and for one', async () => {
    const [id] = (await json('account', 'list', '--search', 'erin')).map((account: { id: string }) => account.id);
    const limited = ['--requests-per-minute', '600', '--tokens-per-minute', '90000', '--model-limit'];
    assert.match(
      await printed('account', 'limit', 'erin', ...limited, 'large:requests=10,tokens=2000'),
      /^limits +600 requests a minute, 90000 tokens a minute, 10 requests a minute for large, 2000 tokens a minute for large$/m,
    );
    await printed('account', 'limit', id, '--tokens-per-minute', 'none', '--model-limit', 'large:requests=none');
    assert.match(
      await printed('account', 'show', 'erin'),
      /^limits +600 requests a minute, 2000 tokens a minute for large$/m,
    );
    assert.match(
      await printed('account', 'limit', id, '--requests-per-minute', 'none', '--model-limit', 'large:none'),
      /^limits +as configured$/m,
    );
    const key = await json('key', 'create', 'erin', '--model-limit', 'large:requests=1');
    assert.equal(await call('/v1/chat/completions', key.key), 200);
    assert.equal(await call('/v1/chat/completions', key.key), 429);
    assert.equal(
      await printed('key', 'limit', key.id, '--tokens-per-minute', '5'),
      `${key.id}: 5 tokens a minute, 1 requests a minute for large\n`,
    );
    for (const value of ['large', 'large:', 'large:calls=1', 'large:requests=many']) {
      assert.match(await complaint('key', 'limit', key.id, '--model-limit', value), /^error: option '--model-limit/);
    }
    assert.equal(
      await complaint('key', 'limit', key.id, '--model-limit', 'gone:requests=1'),
      '--model-limit: There is no model "gone".\n',
    );
  });

  it('limits what a key and a member spend on one model', async () => {
    const key = await json('key', 'create', 'erin', '--budget', '9/day', '--model-budget', 'large=5/month');
    assert.equal(key.modelBudgets.large.monthlySpendCapYuan, '5');
    assert.equal(
      await printed('key', 'limit', key.id, '--model-budget', 'large=none/month', '--model-budget', 'large=7/total'),
      `${key.id}: ¥9 a day, ¥7 in all for large\n`,
    );
    assert.equal(await call('/v1/chat/completions', key.key), 200);
    const listed = (await printed('key', 'list', 'erin')).split('\n').find((line) => line.includes(key.id));
    assert.match(listed!, /¥[\d.]+ of 9 today, ¥[\d.]+ of 7 in all for large/);
    assert.equal(
      await printed('key', 'limit', key.id, '--budget', 'none/day', '--model-budget', 'large=none'),
      `${key.id}: none\n`,
    );
    for (const value of ['large', 'large=', '=5/day', 'large=5', 'large=5/year']) {
      assert.match(
        await complaint('key', 'limit', key.id, `--model-budget=${value}`),
        /^error: option '--model-budget/,
      );
    }
    assert.match(
      await complaint('key', 'limit', key.id, '--model-budget', 'larg=1/day'),
      /^--model-budget: There is no model "larg"\. Did you mean "large"\?/,
    );
    await printed('user', 'create', 'Mia', '--account', 'erin', '--role', 'member');
    assert.equal(
      await printed('account', 'member', 'limit', 'erin', 'Mia', '--model-budget', 'large=3/week'),
      'Mia: ¥3 a week for large\n',
    );
  });

  it('sets and lists budgets of end users and tags', async () => {
    const budget = (...args: string[]) => ['account', 'budget', ...args];
    const every = budget('set', 'erin', '--every', 'tag', '--budget', '5/day', '--budget', '9/month');
    assert.equal(await printed(...every), 'every tag: ¥5 a day, ¥9 a month\n');
    const named = budget('set', 'erin', '--end-user', 'ann b', '--budget', '7/week');
    assert.equal(await printed(...named), 'end user ann b: ¥7 a week\n');
    const { stdout: listed } = await cli(...budget('list', 'erin'));
    assert.match(
      listed,
      /every tag +¥5 a day, ¥9 a month +yes +¥0 of 5 today, ¥0 of 9 this month, shared by those beyond the daily maximum/,
    );
    assert.match(listed, /end user ann b +¥7 a week +yes +¥0 of 7 this week/);
    assert.equal(
      await printed(...budget('set', 'erin', '--end-user', 'ann b', '--budget', 'none/week')),
      'end user ann b: none\n',
    );
    for (const [wrong, reason] of [
      [['--tag', 'a', '--every', 'tag', '--budget', '5/day'], /Specify one of --end-user, --tag and --every\./],
      [['--tag', 'a', '--budget', '5/total'], /Expected an amount per day, week or month/],
      [['--tag', 'a b', '--budget', '5/day'], /--tag: No call can have this value/],
    ] as const) {
      const { code, stderr } = await cli(...budget('set', 'erin', ...wrong));
      assert.equal(code, 2, stderr);
      assert.match(stderr, reason);
    }
  });

  // Number("abc") is NaN, JSON writes NaN as null, and null removes the limit.
  it('refuses a limit that is not a number, and does not change the key', async () => {
    const { id } = await json('key', 'create', 'erin', '--daily-calls', '5', '--concurrency', '5');
    for (const [option, values] of [
      ['--daily-calls', ['abc']],
      ['--concurrency', ['abc', '', '1.5', '1e3', '-1', ' 7', 'NaN', 'None', '99999999999']],
    ] as const) {
      for (const value of values) {
        assert.match(
          await complaint('key', 'limit', id, `${option}=${value}`),
          new RegExp(
            `^error: option '${option} <count>' argument '${value}' is invalid\\. Expected a whole number such as 10`,
          ),
        );
      }
      assert.match(await complaint('key', 'limit', id, option), /^error: option .* argument missing\n/);
    }
    assert.match(
      await complaint('key', 'limit', id, '--daily-calls', '1000000001'),
      /^--daily-calls: Expected a whole number from 0 to 1000000000, or "none" for no limit\.\n$/,
    );
    assert.match(await complaint('key', 'limit', id, '--daily-spend', 'lots'), /^--daily-spend: Expected a decimal/);
    assert.match(await complaint('key', 'create', 'erin', '--concurrency', 'abc'), /argument 'abc' is invalid/);
    assert.equal(await complaint('key', 'limit', 'key_none', '--concurrency', '1'), 'There is no key key_none.\n');
    assert.equal(await printed('key', 'limit', id), `${id}: 5 calls a day, 5 at a time\n`);
  });
});

describe('the command line on plans and limits, with nothing else running', { timeout: 240_000 }, () => {
  const environment = { FAREGATE_DATA_DIR: join(directory.path, 'alone') };
  const cli = (...given: string[]): Promise<Finished> => runCommand(given, environment);

  it('explains every command and option in its help', async () => {
    for (const [given, expected] of [
      [['--help'], [/^ {2}plan +list, grant, renew, cancel and show Coding Plans$/m, /^ {2}key +create, list/m]],
      [
        ['plan', '--help'],
        ['grant', 'renew', 'cancel', 'show'].map((command) => new RegExp(`^ {2}${command} .*\\w{4}`, 'm')),
      ],
      [
        ['plan', 'grant', '--help'],
        [/^ {2}account +id or name$/m, /--starts <instant> +when the subscription/],
      ],
      [
        ['key', 'create', '--help'],
        [
          /--budget <yuan\/period> +maximum/,
          /--daily-spend <yuan> +maximum/,
          /--daily-calls <count> +maximum/,
          /--concurrency <count> +maximum/,
        ],
      ],
      [
        ['key', 'limit', '--help'],
        [/"none" removes a limit/, /--daily-spend <yuan>/, /--daily-calls <count>/, /--concurrency <count>/],
      ],
    ] as const) {
      const { code, stdout } = await cli(...given);
      assert.equal(code, 0);
      for (const pattern of expected) assert.match(stdout, pattern);
    }
  });

  it('reports wrong counts of a plan and a key in the audit, with exit code 1', async (context) => {
    const provider = await startProvider();
    const file = join(directory.path, 'alone.yaml');
    writeFileSync(file, CONFIG(provider.url));
    await provider.close();
    const stored = await createTestDatabase();
    context.after(() => stored.remove());
    const run = (...given: string[]) =>
      runCommand([...given, '--config', file], { ...environment, DATABASE_URL: stored.url });
    await run('db', 'migrate');
    await run('account', 'create', 'frank');
    const { id: subscriptionId, accountId } = JSON.parse((await run('plan', 'grant', 'frank', 'pro', '--json')).stdout);
    const { id: keyId } = JSON.parse((await run('key', 'create', 'frank', '--concurrency', '1', '--json')).stdout);
    assert.equal((await run('audit')).code, 0);

    await stored.database.script(
      'update subscriptions set in_flight = 1, slots = 3; update key_limits set in_flight = 2',
    );
    const audit = await run('audit');
    assert.equal(audit.code, 1);
    for (const line of [
      'BROKEN  subscriptions correctly count their coding calls in flight',
      `          ${accountId}: ${subscriptionId} counts 1, reservations 0`,
      'BROKEN  subscriptions correctly count the slots of their five-hour windows',
      `          ${accountId}: ${subscriptionId} counts 3, slots 0`,
      'BROKEN  keys with limits correctly count their calls in flight and the amounts reserved by these calls',
      `          ${accountId}: ${keyId} counts 2, reservations 0`,
      'ok      a coding call has no charge',
    ]) {
      assert.ok(audit.stdout.split('\n').includes(line), `${line}\n\n${audit.stdout}`);
    }
    const asJson = await run('audit', '--json');
    assert.equal(asJson.code, 1);
    assert.equal(JSON.parse(asJson.stdout).isSound, false);
  });
});
