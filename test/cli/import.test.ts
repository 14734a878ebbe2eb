import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Finished, temporaryDirectory } from '../support/process.ts';
import { sql } from '../support/sql.ts';

const CONFIG = `
providers:
  acme: { protocol: chat, baseUrl: "http://127.0.0.1:9/v1", apiKey: a-key }
models:
  large: { operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: acme, model: m }] }
plans:
  pro: { name: Coding Pro, fiveHourCalls: 9, weeklyCalls: 9, concurrency: 2, quotaTokens: 1000, periodDays: 30, models: [large], inputByteLimit: 1MiB, outputTokenLimit: 100 }
groups:
  resellers: { name: Resellers, priceFactorBasisPoints: 8000 }
`;

describe('accounts from a CSV file', { timeout: 120_000 }, () => {
  const directory = temporaryDirectory();
  const pathOf = (name: string): string => join(directory.path, name);
  let stored: TestDatabase;
  let environment: Record<string, string>;
  before(async () => {
    stored = await createTestDatabase();
    writeFileSync(pathOf('config.yaml'), CONFIG);
    environment = {
      DATABASE_URL: stored.url,
      FAREGATE_CONFIG: pathOf('config.yaml'),
      FAREGATE_DATA_DIR: pathOf('data'),
    };
  });
  after(async () => {
    await stored.remove();
    directory.remove();
  });

  const cli = (...given: string[]): Promise<Finished> => runCommand(given, environment);
  function file(name: string, content: string | Uint8Array): string {
    writeFileSync(pathOf(name), content);
    return pathOf(name);
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function json(...given: string[]): Promise<any> {
    const { code, stdout, stderr } = await cli(...given, '--json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  }
  const accounts = (search: string) => json('account', 'list', '--search', search);
  const counts = async () => {
    const [row] = await sql<Record<string, bigint>>(
      stored.database,
      `select (select count(*) from accounts) as accounts, (select count(*) from api_keys) as keys,
        (select count(*) from ledger_entries) as entries, (select count(*) from subscriptions) as subscriptions`,
    );
    return row!;
  };

  it('are created once with balances, plans and keys, even if the command is repeated', async () => {
    const rows = Array.from(
      { length: 20 },
      (_, n) => `user ${n},user${n}@example.com,yes,${n},${n % 2 ? 'pro' : ''},laptop`,
    );
    const path = file('twenty.csv', `name,email,verified,balance,plan,key\n${rows.join('\n')}\n`);
    const dry = await cli('account', 'import', path, '--dry-run');
    assert.equal(dry.stdout, 'All 20 rows can be imported. Nothing was created.\n', dry.stderr);
    assert.equal((await counts()).accounts, 0n);

    const first = await cli('account', 'import', path);
    const keysPath = pathOf('twenty.keys.csv');
    assert.equal(
      first.stdout,
      `Imported 20 accounts.\n20 new keys are in ${keysPath}, which only you can read.\n`,
      first.stderr,
    );
    assert.equal(statSync(keysPath).mode & 0o777, 0o600);
    const keys = readFileSync(keysPath, 'utf8');
    const [head, ...lines] = keys.trimEnd().split('\n');
    assert.equal(head, 'name,account_id,key_name,key_id,key');
    assert.equal(lines.length, 20);
    for (const [n, line] of lines.entries()) {
      assert.match(line, new RegExp(`^user ${n},acct_\\w+,laptop,key_\\w+,sk-fg-\\w{38}$`));
    }
    const [third] = await accounts('user3@example.com');
    assert.deepEqual([third.name, third.verified, third.balanceYuan], ['user 3', true, '3']);
    assert.equal((await json('plan', 'show', third.id)).remainder.planId, 'pro');
    const made = await counts();
    assert.deepEqual(made, { accounts: 20n, keys: 20n, entries: 19n, subscriptions: 10n });

    const second = await cli('account', 'import', path);
    assert.equal(
      second.stdout,
      `Imported 20 accounts.\n20 keys exist already in ${keysPath}, which only you can read.\n`,
    );
    assert.deepEqual(await counts(), made);
    assert.equal(readFileSync(keysPath, 'utf8'), keys);
  });

  it('are in the group of their row, and stay in the one that they were moved to', async () => {
    const path = file('groups.csv', 'name,group\nrita,resellers\nronny,\n');
    assert.equal((await cli('account', 'import', path)).code, 0);
    const groupOf = async (name: string) => (await json('account', 'show', name)).groupId;
    assert.deepEqual([await groupOf('rita'), await groupOf('ronny')], ['resellers', null]);
    await json('account', 'set', 'rita', '--group', 'none');
    assert.equal((await cli('account', 'import', path)).code, 0);
    assert.equal(await groupOf('rita'), null);
    const other = await cli('account', 'import', file('groups.csv', 'name,group\nronny,resellers\n'));
    assert.match(other.stderr, /ronny: The account was imported before with other values/);

    assert.equal((await json('account', 'create', 'renate', '--group', 'resellers')).groupId, 'resellers');
    const wrong = await cli('account', 'create', 'rolf', '--group', 'reseller');
    assert.match(wrong.stderr, /There is no group "reseller"\. Did you mean "resellers"\?/);
  });

  it('have key names that look like formulas written as text, and found again', async () => {
    const path = file('formula.csv', `name,key\n=1+1,@x\n-2,"=HYPERLINK(""http://x"",""y"")"\n`);
    assert.equal((await cli('account', 'import', path)).code, 0);
    const keysPath = pathOf('formula.keys.csv');
    const keys = readFileSync(keysPath, 'utf8');
    assert.match(keys, /^'=1\+1,acct_\w+,'@x,key_/m);
    assert.match(keys, /^'-2,acct_\w+,"'=HYPERLINK\(""http:\/\/x"",""y""\)",key_/m);
    assert.match((await cli('account', 'import', path)).stdout, /^2 keys exist already/m);
    // Files of earlier versions have the names unchanged.
    writeFileSync(keysPath, keys.replaceAll("'", ''));
    assert.match((await cli('account', 'import', path)).stdout, /^2 keys exist already/m);
  });

  it('continue after a failed run, and do not get a second key if the text of the first is lost', async () => {
    const head = 'name;key;verified\n';
    const path = file('half.csv', `${head}half one;a;1\nhalf two;a;\n`);
    assert.equal((await cli('account', 'import', path)).code, 0);
    // A changed row is refused; rows before it stay imported.
    file('half.csv', `${head}half zero;a;\nhalf two;a;yes\nhalf three;a;\n`);
    const refused = await cli('account', 'import', path);
    assert.equal(refused.code, 4);
    assert.match(refused.stderr, /half\.csv:3: half two: The account was imported before with other values/);
    assert.match(refused.stderr, /^1 of 3 rows are done; run the command again to continue\.$/m);
    file('half.csv', `${head}half zero;a;\nhalf two;a;\nhalf three;a;\n`);
    const keysPath = pathOf('half.keys.csv');
    const mended = await cli('account', 'import', path);
    assert.match(mended.stdout, /^1 new key is in .*\n2 keys exist already/m);

    // As if a run was stopped between a key and its line in the file, and in the middle of another line.
    const keys = readFileSync(keysPath, 'utf8');
    const cut = keys.split('\n').filter((line) => !line.startsWith('half two'));
    writeFileSync(keysPath, `${cut.join('\n').trimEnd()}\n"half tw`);
    const lost = await cli('account', 'import', path);
    assert.equal(lost.code, 1);
    const [, keyId] = /^Line 3: The key (key_\w+) of half two exists already, and its text is not in the file/m.exec(
      lost.stdout,
    )!;
    assert.equal((await cli('key', 'revoke', keyId!)).code, 0);
    assert.equal((await cli('account', 'import', path)).code, 0);
    assert.match(readFileSync(keysPath, 'utf8'), /^"half tw\nhalf two,acct_\w+,a,key_\w+,sk-fg-\w{38}\n$/m);
    assert.equal((await accounts('half')).length, 4);
  });

  it('are not created if a row is invalid, and every invalid one is reported with line and column', async () => {
    const before = await counts();
    const path = file(
      'wrong.csv',
      '\ufeffname,email,verified,balance,plan,key,group\n' +
        'fine,,yes,1,,,resellers\n' +
        '\n' +
        ',nobody@example.com,,,,,\n' +
        'bad,nowhere,maybe,1e3,gold,"a\tb",friends\n' +
        'fine,,,,,,\n' +
        '" fine ",,,,,,\n',
    );
    const { code, stdout, stderr } = await cli('account', 'import', path);
    assert.deepEqual([code, stdout], [1, '']);
    const said = stderr.replaceAll(`${path}:`, '').trimEnd().split('\n');
    assert.deepEqual(said.slice(0, 2), ['4: name: Must not be empty.', '5: email: Expected an e-mail address.']);
    assert.match(said[2]!, /^5: balance: Expected a decimal string in yuan/);
    assert.deepEqual(said.slice(3), [
      '5: verified: Expected yes or no.',
      '5: plan: There is no such plan. Known: pro.',
      '5: group: There is no such group. Known: resellers.',
      '5: key: Must not contain control characters or bidirectional marks.',
      '6: name: Line 2 has the same name and e-mail. Remove one of them.',
      '7: name: Line 2 has the same name and e-mail. Remove one of them.',
      'Nothing was created. Correct the file and run the command again.',
    ]);
    for (const [content, complaint] of [
      ['', /The file is empty\. Its first line names columns: name,email/],
      ['name,mail\nx,y\n', /:1: There is no column "mail". Known columns: name, email/],
      ['name,name\nx,y\n', /:1: The column "name" occurs twice/],
      ['email\nx@example.com\n', /:1: The column "name" is missing/],
      ['name\n', /There are no rows below/],
      ['name,key\nx\n', /:2: Expected 2 columns, as in the first line, not 1\./],
      ['name\n"x\n', /The file is not CSV: /],
      [Buffer.from([0x6e, 0x61, 0x6d, 0x65, 0x0a, 0xc4, 0xe3, 0x0a]), /The file is not UTF-8/],
    ] as const) {
      const response = await cli('account', 'import', file('wrong.csv', content));
      assert.equal(response.code, 1);
      assert.match(response.stderr, complaint);
    }
    assert.match((await cli('account', 'import', pathOf('absent.csv'))).stderr, /There is no file .*absent\.csv/);
    assert.deepEqual(await counts(), before);
  });

  it('have their keys printed on request, and no other file overwritten', async () => {
    const path = file('printed.csv', 'name,key\n"Li, Wei",main\nplain,\n');
    const refused = await cli('account', 'import', path, '--keys', file('notes.txt', 'mine\n'));
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /notes\.txt exists already, and it is not a file of keys of an import/);
    assert.equal(readFileSync(pathOf('notes.txt'), 'utf8'), 'mine\n');
    // As if an earlier run was stopped after it had created the file.
    const begun = await cli('account', 'import', file('begun.csv', 'name,key\nbegun,a\n'), '--keys', file('begun', ''));
    assert.equal(begun.code, 0, begun.stderr);
    assert.match(readFileSync(pathOf('begun'), 'utf8'), /^name,account_id,key_name,key_id,key\nbegun,acct_/);
    const printed = await cli('account', 'import', path, '--keys', '-');
    assert.match(
      printed.stdout,
      /^name,account_id,key_name,key_id,key\n"Li, Wei",acct_\w+,main,key_\w+,sk-fg-\w{38}\n$/,
    );
    assert.match(printed.stderr, /^Imported 2 accounts\.\n1 new key is printed\.\n$/m);
  });
});
