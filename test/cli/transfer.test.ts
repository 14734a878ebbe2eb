import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { writeExport } from '../../src/cli/commands/export-file.ts';
import { acquireDataDir } from '../../src/db/data-dir.ts';
import { UPGRADE_FIRST } from '../../src/lib/earliest.ts';
import { LineDigest, TransferError } from '../../src/transfer/format.ts';
import { runCommand } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ADMIN_TOKEN, startGateway } from '../support/gateway.ts';
import { placeLocal } from '../support/local-database.ts';
import { type Finished, temporaryDirectory } from '../support/process.ts';

describe('faregate db export and import', { timeout: 300_000 }, () => {
  const directory = temporaryDirectory();
  const dataDir = join(directory.path, 'data');
  const file = (name: string): string => join(directory.path, name);
  let source: TestDatabase;
  let target: TestDatabase;
  let text = '';

  const onServer = (...given: string[]): Promise<Finished> =>
    runCommand(given, { DATABASE_URL: source.url, FAREGATE_DATA_DIR: dataDir });
  const onTarget = (...given: string[]): Promise<Finished> =>
    runCommand(given, { DATABASE_URL: target.url, FAREGATE_DATA_DIR: dataDir });

  before(async () => {
    source = await createTestDatabase();
    target = await createTestDatabase();
    await onServer('account', 'create', 'alice', '--verified', '--balance', '12.5');
    await onServer('account', 'create', 'bob', '--balance', '0.25');
    await onServer('key', 'create', 'alice');
  });
  after(async () => {
    await source.remove();
    await target.remove();
    directory.remove();
  });

  it('write a file that only its owner can read, and print its contents in numbers', async () => {
    const { code, stdout, stderr } = await onServer('db', 'export', file('plain.jsonl'));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Exported 2 accounts, 10 rows \(0\.0 MB of text\) to \S+plain\.jsonl\.\n/);
    assert.match(stdout, /^Balances ¥12\.75, ledger entries ¥12\.75, charges of calls ¥0\.$/m);
    assert.match(stderr, /^database: PostgreSQL, test_\w+ at \S+\n$/);
    assert.equal(statSync(file('plain.jsonl')).mode & 0o777, 0o600);
    text = readFileSync(file('plain.jsonl'), 'utf8');
    const compressed = await onServer('db', 'export', file('small.jsonl.gz'), '--json');
    assert.equal(JSON.parse(compressed.stdout).end.accounts, 2);
    const withoutTime = (lines: string): string[] => lines.split('\n').slice(1, -2);
    assert.deepEqual(withoutTime(gunzipSync(readFileSync(file('small.jsonl.gz'))).toString()), withoutTime(text));
    assert.deepEqual(readdirSync(directory.path).sort(), ['plain.jsonl', 'small.jsonl.gz']);
  });

  /** Damaged files and their messages. */
  const damaged: readonly (readonly [string, () => string | Buffer, RegExp])[] = [
    [
      'cut at a line',
      () => text.trimEnd().split('\n').slice(0, -1).join('\n'),
      /^The file is not complete: its last line is missing/,
    ],
    [
      'cut in a line',
      () => text.slice(0, -100),
      /^The file is not a Faregate export: one of its lines has an unknown format\.\n$/,
    ],
    ['compressed and cut', () => gzipSync(text).subarray(0, -20), /^The file is damaged or incomplete/],
    ['empty', () => '', /^The file is not complete/],
    [
      'with another name in it',
      () => text.replace('"alice"', '"mallo"'),
      /^The file is damaged: .*Its digest does not match\.\n$/,
    ],
    ['not an export', () => '{"a":{}}\n', /^The file is not a Faregate export\.\n$/],
    [
      'of a newer schema',
      () => text.replace(/"schema":\d+/, '"schema":9999'),
      /^The file has schema version 9999, but this program supports only \d+\. Use a newer version of Faregate\.\n$/,
    ],
    [
      'of an older schema',
      () => text.replace(/"schema":\d+/, '"schema":1'),
      new RegExp(
        `^The file has schema version 1, but this program reads only version 44 and later\\. Import it with the version of Faregate that wrote it\\. ${UPGRADE_FIRST}\n$`,
      ),
    ],
    [
      'of another format',
      () => text.replace('"format":1', '"format":2'),
      /^The file has format 2, but this version reads only format 1\./,
    ],
    [
      'whose sums do not fit, with a digest that does',
      () => resigned(text.replace(/("account_end":\{"account":"\w+","balance":")12500000000"/, '$112500000001"')),
      /^The sums of account acct_\w+ differ: balance 12500000001 in the file, 12500000000 in this database\. Nothing was imported\.\n$/,
    ],
  ];
  for (const [kind, content, message] of damaged) {
    it(`refuse a file that is ${kind}, and import nothing`, async () => {
      writeFileSync(file('damaged'), content());
      const { code, stdout, stderr } = await onTarget('db', 'import', file('damaged'));
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr.replace(/^database: .*\n/, ''), message);
      assert.equal((await onTarget('account', 'list', '--json')).stdout, '[]\n');
    });
  }

  it('fill a database after refused files, and print its contents in numbers', async () => {
    const { code, stdout, stderr } = await onTarget('db', 'import', file('small.jsonl.gz'));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^TABLE +IN THE FILE +HERE\n/);
    assert.match(stdout, /^accounts +2 +2$/m);
    assert.match(stdout, /^ledger_entries +2 +2$/m);
    assert.match(stdout, /^Imported 2 accounts; the balance, ledger and charges of each match the file\.$/m);
    assert.equal((await onTarget('audit')).code, 0);
    assert.match((await onTarget('account', 'show', 'alice')).stdout, /^balance +¥12\.5$/m);
  });

  it('spread accounts over the configured number of partitions', async () => {
    writeFileSync(
      file('config.yaml'),
      `database: { partitions: 2 }
providers:
  acme: { protocol: chat, baseUrl: "http://127.0.0.1:9/v1", apiKey: a-key }
models:
  large: { operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: acme, model: m }] }
`,
    );
    const target = await createTestDatabase();
    const there = (...given: string[]): Promise<Finished> =>
      runCommand(given, { DATABASE_URL: target.url, FAREGATE_DATA_DIR: dataDir, FAREGATE_CONFIG: file('config.yaml') });
    try {
      const { code, stderr } = await there('db', 'import', file('plain.jsonl'));
      assert.equal(code, 0, stderr);
      const partitions = JSON.parse((await there('db', 'partitions', '--json')).stdout) as { accounts: number }[];
      assert.deepEqual(
        partitions.map(({ accounts }) => accounts),
        [1, 1],
      );
      for (const [name, balance] of [
        ['alice', '12.5'],
        ['bob', '0.25'],
      ] as const) {
        assert.ok((await there('account', 'show', name)).stdout.includes(`¥${balance}`), name);
      }
      assert.equal((await there('audit')).code, 0);
      assert.equal((await there('db', 'export', file('again.jsonl'))).code, 0);
      const again = readFileSync(file('again.jsonl'), 'utf8');
      assert.equal(again.split('\n').filter((line) => line.startsWith('{"accounts"')).length, 2);
    } finally {
      await target.remove();
      for (const name of ['config.yaml', 'again.jsonl']) rmSync(file(name));
    }
  });

  it('refuse a database that is not empty', async () => {
    const { code, stderr } = await onTarget('db', 'import', file('plain.jsonl'));
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^This database is not empty: accounts, balances, api_keys, ledger_entries, changes\. An import requires an empty one: specify another directory with --data-dir/m,
    );
  });

  it('refuse a database that gateways use', async () => {
    await using target = await createTestDatabase();
    await using _g = await startGateway({ stored: target, database: target.openAnother() });
    const { code, stderr } = await runCommand(['db', 'import', file('plain.jsonl')], { DATABASE_URL: target.url });
    assert.equal(code, 1);
    assert.match(stderr, /^Gateways are running on this database: node_\w+\. Stop them first/m);
  });

  it('refuse a local database that another process has open', async () => {
    placeLocal(dataDir);
    const lock = await acquireDataDir(dataDir);
    try {
      const { code, stderr } = await runCommand(['db', 'import', file('plain.jsonl')], { FAREGATE_DATA_DIR: dataDir });
      assert.equal(code, 5);
      assert.match(stderr, /is in use by process \d+/);
    } finally {
      lock.release();
    }
  });

  it('keep an earlier file if an export ends early', async () => {
    writeFileSync(file('earlier'), 'what was there');
    const process = { environment: {}, writeOut: () => undefined, writeError: () => undefined };
    async function* cut(): AsyncIterable<string> {
      yield text.slice(0, 200);
    }
    await assert.rejects(
      writeExport(file('earlier'), cut(), process, () => undefined),
      TransferError,
    );
    assert.equal(readFileSync(file('earlier'), 'utf8'), 'what was there');
    assert.ok(!readdirSync(directory.path).includes('earlier.unfinished'));
  });

  it('refer to the backup tools of a server', async () => {
    const { code, stderr } = await onServer('db', 'backup', file('backup'));
    assert.equal(code, 1);
    assert.match(stderr, /pg_dump.*docs\/moving\.md/s);
  });
});

/** The text with a valid digest. */
function resigned(text: string): string {
  const lines = text.trimEnd().split('\n');
  const digest = new LineDigest();
  for (const line of lines.slice(0, -1)) digest.add(`${line}\n`);
  return [...lines.slice(0, -1), lines.at(-1)!.replace(/"sha256":"\w+"/, `"sha256":"${digest.sha256}"`), ''].join('\n');
}

describe('the address of exports', () => {
  it('refuses the operators’ token without a sign-in', async () => {
    await using g = await startGateway();
    const response = await fetch(`${g.url}/admin/v1/export`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    assert.equal(response.status, 403);
    assert.match(await response.text(), /Only a signed-in operator, the command line/);
  });
});
