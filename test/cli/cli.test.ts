import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCli } from '../../src/cli/program.ts';
import { acquireDataDir, announceGateway } from '../../src/db/data-dir.ts';
import { describePostgres } from '../../src/db/postgres.ts';
import { runCommand } from '../support/command.ts';
import { createAccountIn } from '../support/created-accounts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { placeLocal } from '../support/local-database.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { type Finished, runProgram, startProgram, temporaryDirectory } from '../support/process.ts';
import { inFullRunsOnly } from '../support/scope.ts';
import { until } from '../support/until.ts';

const directory = temporaryDirectory();
const dataDir = join(directory.path, 'data');
const environment: Record<string, string> = { FAREGATE_DATA_DIR: dataDir };
/** Runs a command in this process; `program` runs it in a process of its own. */
const cli = (...given: string[]): Promise<Finished> => runCommand(given, environment);
const program = (...given: string[]): Promise<Finished> =>
  runProgram(given, { environment, directory: directory.path });
/** For `serve`, which would create a demo without a configuration. */
const ownConfig = join(directory.path, 'own.yaml');
writeFileSync(ownConfig, 'providers: {}\n');
after(() => directory.remove());

describe('the command line on a database that no gateway serves', () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
    environment.DATABASE_URL = stored.url;
  });
  after(async () => {
    await stored.remove();
    delete environment.DATABASE_URL;
  });

  it('creates a funded account and a key, and shows both', async () => {
    const created = await program(
      'account',
      'create',
      'alice',
      '--verified',
      '--balance',
      '12.50',
      '--email',
      'a@example.com',
    );
    assert.equal(created.code, 0, created.stderr);
    assert.match(created.stdout, /balance +¥12\.5$/m);

    const key = await cli('key', 'create', 'alice', '--name', 'laptop');
    const text = /^sk-fg-\w+$/m.exec(key.stdout)?.[0];
    assert.ok(text);

    const listed = await cli('key', 'list', 'alice', '--json');
    const [stored] = JSON.parse(listed.stdout);
    assert.equal(stored.name, 'laptop');
    assert.ok(!listed.stdout.includes(text));

    const revoked = await cli('key', 'revoke', stored.id);
    assert.equal(revoked.code, 0);
    assert.match((await cli('key', 'list', 'alice')).stdout, /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d.*){2}/);
  });

  it('tops up by name and prints the ledger', async () => {
    assert.match((await cli('account', 'top-up', 'alice', '7.5', '--memo', 'thanks')).stdout, /The balance is ¥20\./);
    const shown = await cli('account', 'show', 'alice');
    assert.match(shown.stdout, /top_up +7\.5 +20 +thanks/);
  });

  it('corrects a balance up and down, with a required reason', async () => {
    const refused = await cli('account', 'adjust', 'alice', '1');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /--memo/);
    const once = ['account', 'adjust', 'alice', '-2.5', '--memo', 'paid twice', '--idempotency-key', 'a-1'];
    for (const said of [await cli(...once), await cli(...once)]) {
      assert.equal(said.stdout, 'Corrected by -2.5 yuan. The balance is ¥17.5.\n', said.stderr);
    }
    assert.match(
      (await cli('account', 'adjust', 'alice', '2.5', '--memo', 'after all')).stdout,
      /The balance is ¥20\./,
    );
    assert.match((await cli('account', 'show', 'alice')).stdout, /adjustment +-2\.5 +17\.5 +paid twice/);
  });

  it('renames accounts and keys', async () => {
    const { id } = JSON.parse((await cli('account', 'create', 'before', '--json')).stdout);
    assert.match((await cli('account', 'rename', 'before', 'after')).stdout, /^name +after$/m);
    assert.equal((await cli('account', 'show', 'before')).code, 3);
    await cli('key', 'create', 'after', '--name', 'laptop', '--daily-calls', '3');
    const [key] = JSON.parse((await cli('key', 'list', 'after', '--json')).stdout);
    const renamed = await cli('key', 'rename', key.id, 'desktop');
    assert.equal(renamed.stdout, `${key.id} is called desktop now.\n`, renamed.stderr);
    const [stored] = JSON.parse((await cli('key', 'list', id, '--json')).stdout);
    assert.deepEqual(stored, { ...key, name: 'desktop' });
    assert.match((await cli('key', 'rename', 'key_1', 'x')).stderr, /key_1/);
  });

  it('creates no account with an invalid balance', async () => {
    const refused = await cli('account', 'create', 'half', '--balance', 'abc');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^--balance: Expected a decimal string/);
    assert.deepEqual(JSON.parse((await cli('account', 'list', '--search', 'half', '--json')).stdout), []);
  });

  it('reads the files of provider credentials only for commands that need them', async () => {
    const config = join(directory.path, 'with-key-file.yaml');
    const credentialFile = join(directory.path, 'provider-key');
    writeFileSync(
      config,
      `providers:\n  acme:\n    protocol: chat\n    baseUrl: https://acme.example/v1\n    apiKeys: [{ file: ${credentialFile} }]\n`,
    );
    const absent = await cli('check', '--config', config);
    assert.equal(absent.code, 1);
    assert.match(absent.stderr, /with-key-file\.yaml:5: providers\.acme\.apiKeys\.0\.file: There is no such file\.\n$/);
    assert.equal((await cli('account', 'list', '--config', config)).code, 0);
    writeFileSync(credentialFile, 'canary key');
    const unusable = await cli('check', '--config', config);
    assert.match(unusable.stderr, /:5: providers\.acme\.apiKeys\.0\.file: The file must contain one credential /);
    writeFileSync(credentialFile, 'canary-key\n');
    const valid = await cli('check', '--config', config);
    assert.deepEqual([valid.code, valid.stderr], [0, '']);
    assert.doesNotMatch(unusable.stderr + unusable.stdout + valid.stdout, /canary/);
  });

  it('creates an account once for each idempotency key', async () => {
    const create = () => cli('account', 'create', 'keyed', '--balance', '1', '--idempotency-key', 'order-6');
    await create();
    assert.match((await create()).stdout, /balance +¥1$/m);
    assert.equal((await cli('account', 'list', '--search', 'keyed', '--json')).stdout.match(/"id"/g)?.length, 1);
  });

  it('tops up once for each idempotency key', async () => {
    await cli('account', 'create', 'carol', '--balance', '1');
    const topUp = (amount: string) => cli('account', 'top-up', 'carol', amount, '--idempotency-key', 'order-7');
    assert.match((await topUp('2')).stdout, /The balance is ¥3\./);
    assert.match((await topUp('2')).stdout, /The balance is ¥3\./);
    assert.match((await topUp('4')).stderr, /^This Idempotency-Key was used for another amount/);
    const wrong = await cli('account', 'top-up', 'carol', '2', '--idempotency-key', 'no spaces');
    assert.equal(wrong.stderr, '--idempotency-key: Expected 1 to 255 visible ASCII characters.\n');
    assert.match((await cli('account', 'show', 'carol')).stdout, /balance +¥3$/m);
  });

  it('verifies an account and revokes that', async () => {
    await cli('account', 'create', 'bob');
    assert.match((await cli('account', 'verify', 'bob')).stdout, /verified +yes/);
    assert.match((await cli('account', 'verify', 'bob', '--revoke')).stdout, /verified +no/);
  });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    assert.equal((await cli('--version')).stdout, `${version}\n`);
  });

  it('exits with code 2 if it is used wrongly', async () => {
    for (const [given, message] of [
      [['account', 'create'], /missing required argument 'name'/],
      [['calls', '--since', 'today'], /unknown option '--since'/],
      [['key', 'create', 'alice', '--daily-calls', 'many'], /Expected a whole number such as 10/],
      [['account', 'top-up', 'alice', '1', '--idempotency-key', ' '], /--idempotency-key: Expected 1 to 255 visible/],
      [['serve', '--port', '99999'], /"99999" is not a port/],
    ] as const) {
      const { code, stdout, stderr } = await cli(...given);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, message);
    }
  });

  it('prints errors as JSON if it prints JSON', async () => {
    for (const [given, code, error] of [
      [
        ['account', 'show', 'nobody'],
        3,
        { message: 'There is no account called "nobody". See: faregate account list' },
      ],
      [
        ['account', 'top-up', 'alice', '0'],
        2,
        {
          message: '<yuan>: Expected an amount above zero.',
          code: 'invalid_request_error',
          param: 'amountYuan',
          option: '<yuan>',
        },
      ],
      [['calls', '--since', 'today'], 2, { message: "unknown option '--since'" }],
    ] as const) {
      const printed = await cli(...given, '--json');
      assert.equal(printed.code, code, printed.stderr);
      assert.deepEqual(JSON.parse(printed.stdout), { error });
      assert.ok(!printed.stderr.includes('nknown option'), printed.stderr);
    }
  });

  it('reports an invalid value and the allowed ones', async () => {
    for (const [given, message] of [
      [['calls', '--limit', '1000'], '--limit: At most 500, not 1000.'],
      [['calls', '--limit', 'all'], '--limit: Expected a number.'],
    ] as const) {
      const refused = await cli(...given);
      assert.equal(refused.code, 2);
      assert.equal(refused.stderr, `database: ${describePostgres(stored.url)}\n${message}\n`);
    }
    const lost = await cli('calls', '--status', 'lost');
    assert.equal(lost.code, 2);
    assert.match(
      lost.stderr,
      /^error: option '--status <status>' argument 'lost' is invalid. Allowed choices are succ/,
    );
  });

  it('explains a failure in one line, with an exit code for its kind', async () => {
    const absent = await cli('account', 'show', 'nobody');
    assert.equal(absent.code, 3);
    assert.equal(
      absent.stderr,
      `database: ${describePostgres(stored.url)}\nThere is no account called "nobody". See: faregate account list\n`,
    );
    const wrong = await cli('account', 'top-up', 'alice', 'lots');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^<yuan>: Expected a decimal string/);
    assert.equal((await cli('calls', 'refund', 'call_01')).code, 3);
    assert.equal((await cli('account', 'adjust', 'alice', '-1', '--memo', 'x', '--idempotency-key', 'k-9')).code, 0);
    const other = await cli('account', 'adjust', 'alice', '-2', '--memo', 'x', '--idempotency-key', 'k-9');
    assert.equal(other.code, 4, other.stderr);
    const away = await runCommand(['account', 'list', '--gateway', 'http://127.0.0.1:9'], {
      FAREGATE_ADMIN_TOKEN: 'a-token-of-many-letters-7',
    });
    assert.deepEqual(
      [away.code, away.stderr.split('\n')[1]],
      [5, 'The gateway at http://127.0.0.1:9 cannot be reached.'],
    );
  });

  it('suggests similar names of accounts, users and tokens', async () => {
    await cli('account', 'create', 'Blue Harbor');
    for (const name of ['blue harbour', 'Bleu Harbor', 'lue Harbor']) {
      assert.match((await cli('account', 'show', name)).stderr, /Did you mean "Blue Harbor"\?/, name);
    }
    assert.doesNotMatch((await cli('account', 'show', 'nothing like it')).stderr, /Did you mean/);
    await cli('user', 'create', 'Lin', '--email', 'lin@people.example');
    assert.match((await cli('user', 'show', 'lin@people.exmaple')).stderr, /Did you mean "lin@people\.example"\?/);
    await cli('token', 'create', 'grafana');
    const token = await cli('token', 'revoke', 'gravana');
    assert.deepEqual([token.code, /Did you mean "grafana"\?/.test(token.stderr)], [3, true]);
  });

  it('lists models with prices and providers with their routes', async () => {
    const models = await cli('models', 'list');
    assert.match(models.stdout, /^MODEL +NAME +OPERATIONS +INPUT ¥\/M +CACHED ¥\/M +OUTPUT ¥\/M/);
    assert.match(models.stdout, /^demo-chat +Demo Chat +chat responses +4 +0\.4 +16 +simulated-chat +yes/m);
    const [chat] = JSON.parse((await cli('models', 'list', '--json')).stdout);
    assert.deepEqual([chat.id, chat.price.output, chat.routes[0].provider], ['demo-chat', '16', 'simulated-chat']);
    const providers = await cli('provider', 'list');
    assert.match(providers.stdout, /^simulated-chat +chat +https:\S+ +3 +3 of 3/m);
    const [first] = JSON.parse((await cli('provider', 'list', '--json')).stdout);
    assert.deepEqual([first.id, first.routes, first.unused], ['simulated-chat', 3, {}]);
  });

  it('refuses control characters, and names the field', async () => {
    const refused = await cli('account', 'create', 'eve\u001b[2J');
    assert.equal(refused.code, 2);
    assert.equal(refused.stderr, '<name>: Must not contain control characters or bidirectional marks.\n');
    const memo = await cli('account', 'top-up', 'alice', '1', '--memo', 'a\nb');
    assert.equal(memo.stderr, '--memo: Must not contain control characters or bidirectional marks.\n');
  });

  it('escapes control characters in stored names', async () => {
    await createAccountIn(stored.database, {
      id: 'acct_old',
      name: 'old\u001b[2J\nacct_forged  forged\u202e',
      email: null,
      verified: true,
      dailyCapNano: null,
      at: new Date(0),
    });
    const listed = await cli('account', 'list', '--search', 'old');
    assert.match(listed.stdout, /^ID .*\nacct_old +old\\u001b\[2J\\u000aacct_forged {2}forged\\u202e +active .*\n$/);
    const shown = await cli('account', 'show', 'acct_old');
    assert.match(shown.stdout, /^name +old\\u001b\[2J\\u000aacct_forged {2}forged\\u202e$/m);
    const json = await cli('account', 'list', '--search', 'old', '--json');
    assert.equal(JSON.parse(json.stdout)[0].name, 'old\u001b[2J\nacct_forged  forged\u202e');
    assert.ok(!json.stdout.includes('\u202e'));
  });

  it('explains an unreachable database in one sentence', async () => {
    for (const [address, message] of [
      ['postgres://u:p@h:99999/d', /database\.url: Expected a postgres:\/\/ address .* with a port from 1 to 65535 /],
      ['postgres://u:p@h:abc/d', /database\.url: Expected a postgres:\/\/ address /],
      ['mysql://u:p@h/d', /database\.url: Expected a postgres:\/\/ address /],
      ['postgres://u:p@h/d\n', /database\.url: Expected a postgres:\/\/ address /],
      // Without a network, an unknown name causes one of two errors.
      [
        'postgres://u:p@faregate.invalid/d',
        /^The (host of the database is not known|database did not respond in time)/,
      ],
    ] as const) {
      const { code, stderr } = await runCommand(['serve', '--config', ownConfig], {
        ...environment,
        DATABASE_URL: address,
      });
      assert.equal(code, address.includes('faregate.invalid') ? 5 : 1, address);
      assert.match(stderr, message);
      assert.ok(!stderr.includes('    at ') && !stderr.includes('u:p'), stderr);
    }
  });

  it('does not serve with an admin token that is too short', async () => {
    const { code, stdout, stderr } = await runCommand(['serve', '--config', ownConfig], {
      ...environment,
      PORT: '0',
      FAREGATE_ADMIN_TOKEN: 'x'.repeat(15),
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^FAREGATE_ADMIN_TOKEN has 15 characters; .* needs at least 16\. .*\n$/);
    assert.doesNotMatch(stderr, /xxxx/);
  });

  it('neither serves with nor accepts an admin token that is a placeholder or repeats itself', async () => {
    const weak = [
      ['replace-me-by-openssl-rand', /^FAREGATE_ADMIN_TOKEN is a placeholder; .* a random text\. .*\n$/],
      ['k8Zqk8Zqk8Zqk8Zqk8Zq', /^FAREGATE_ADMIN_TOKEN repeats itself; .* a random text\. .*\n$/],
    ] as const;
    for (const [token, message] of weak) {
      for (const command of ['serve', 'check']) {
        const variables = { ...environment, PORT: '0', FAREGATE_ADMIN_TOKEN: token };
        const { code, stdout, stderr } = await runCommand([command, '--config', ownConfig], variables);
        assert.deepEqual([code, stdout], [1, ''], command);
        assert.match(stderr, message);
        assert.ok(!stderr.includes(token), stderr);
      }
    }
  });

  it('waits for a gateway that is starting, and uses it', async (context) => {
    const tokens: unknown[] = [];
    const gateway = createServer((request, response) => {
      tokens.push(request.headers.authorization);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"data":[],"nextCursor":null}');
    });
    const { port, close } = await listenOnLoopback(gateway);
    context.after(close);
    const url = `http://127.0.0.1:${port}`;
    placeLocal(dataDir);
    const starting = await acquireDataDir(dataDir);
    context.after(() => starting.release());
    let said = '';
    const umask = process.umask();
    context.after(() => void process.umask(umask));
    const code = await runCli(['account', 'list', '--json'], {
      environment: { FAREGATE_DATA_DIR: dataDir },
      writeOut: () => undefined,
      writeError(text) {
        said += text;
        if (text.startsWith('Waiting up to 10 seconds for process')) {
          announceGateway(dataDir, { url, adminToken: 'a-token-of-this-machine', databaseUrl: 'postgres://' });
        }
      },
    });
    assert.equal(code, 0, said);
    assert.match(said, new RegExp(`^Waiting .*\\ndatabase: .*, through the gateway on ${url}\\n$`));
    assert.deepEqual(tokens, ['Bearer a-token-of-this-machine']);
  });

  it('asks for an id if two accounts have the name', async () => {
    await cli('account', 'create', 'twin');
    await cli('account', 'create', 'twin');
    const { code, stderr } = await cli('account', 'top-up', 'twin', '1');
    assert.equal(code, 2);
    assert.match(stderr, /^2 accounts are called "twin"; use an id: acct_\w+, acct_\w+\n$/);
  });

  it('audits the ledger and shows the schema', async () => {
    const audit = await cli('audit');
    assert.equal(audit.code, 0);
    assert.match(audit.stdout, /^(ok {6}.*\n)+$/);
    assert.match((await cli('db', 'status')).stdout, /^ +44 {2}baseline +\d{4}-/m);
    assert.match((await cli('db', 'migrate')).stdout, /up to date/);
  });

  it('reports a port that is in use', async () => {
    const { port, close } = await listenOnLoopback(createServer());
    const result = await cli('serve', '--config', ownConfig, '--port', String(port));
    await close();
    assert.equal(result.code, 1);
    assert.ok(result.stderr.includes(`The address 127.0.0.1:${port} is in use.`), result.stderr);
  });

  it('prints help with every command, and reports an unknown one', async () => {
    const help = await cli('--help');
    assert.equal(help.code, 0);
    for (const command of ['serve', 'init', 'check', 'account', 'key', 'calls', 'audit', 'db']) {
      assert.match(help.stdout, new RegExp(`^ {2}${command}\\b`, 'm'));
    }
    const unknown = await cli('frobnicate');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /unknown command 'frobnicate'/);
    assert.match((await cli('acount', 'list')).stderr, /Did you mean account\?/);
  });
});

describe('a configuration of one’s own', () => {
  const keys = { ACME_API_KEY: 'a-key', OTHER_API_KEY: 'another-key' };

  it('is written by init, which does not overwrite a file', async () => {
    const written = await cli('init', join(directory.path, 'mine.yaml'));
    assert.equal(written.code, 0, written.stderr);
    const again = await cli('init', join(directory.path, 'mine.yaml'));
    assert.equal(again.code, 1);
    assert.match(again.stderr, /mine\.yaml exists already\. Name another file, or overwrite it with --force\.\n$/);
  });

  it('is printed by init to standard output, as one file', async () => {
    const printed = await cli('init', '-');
    assert.deepEqual([printed.code, printed.stderr], [0, '']);
    const file = join(directory.path, 'printed.yaml');
    await cli('init', '--catalog', 'file', file);
    assert.equal(printed.stdout, readFileSync(file, 'utf8'));
    assert.match((await cli('init', '-', '--provider', 'deepseek')).stdout, /^ {2}deepseek:$/m);
    const two = await cli('init', '-', '--catalog', 'database');
    assert.deepEqual([two.code, two.stdout], [2, '']);
  });

  it('overwrites a file with --force, also for a vendor', async () => {
    const file = join(directory.path, 'over.yaml');
    for (const [options, text] of [
      [[], /^ {2}acme-large:$/m],
      [['--provider', 'deepseek'], /^ {2}deepseek:$/m],
    ] as const) {
      for (const [place, written] of [
        ['file', file],
        ['database', join(directory.path, 'over.catalog.yaml')],
      ] as const) {
        writeFileSync(written, 'what was there before, longer than nothing\n');
        assert.equal((await cli('init', ...options, '--catalog', place, file)).code, 1);
        assert.match(readFileSync(written, 'utf8'), /^what was there before/);
        const forced = await cli('init', ...options, '--catalog', place, '--force', file);
        assert.equal(forced.code, 0, forced.stderr);
        assert.match(readFileSync(written, 'utf8'), text);
        assert.doesNotMatch(readFileSync(written, 'utf8'), /what was there before/);
      }
    }
    const nowhere = await cli('init', join(directory.path, 'no-such', 'mine.yaml'));
    assert.deepEqual([nowhere.code, /^.*mine\.yaml cannot be written: ENOENT.*\n$/.test(nowhere.stderr)], [1, true]);
  });

  it('is valid as written by init, once its variables are set', async () => {
    const names = [...readFileSync(join(directory.path, 'mine.catalog.yaml'), 'utf8').matchAll(/\$\{([A-Z_]+)\}/g)];
    const set = Object.fromEntries(names.map((match) => [match[1]!, 'some-key']));
    const check = await runCommand(['check', '--config', join(directory.path, 'mine.yaml')], {
      ...environment,
      ...set,
    });
    assert.equal(check.code, 0, check.stderr);
    assert.match(check.stdout, /mine\.yaml is valid/);
    assert.match(check.stdout, /at the first start +.*mine\.catalog\.yaml is valid/);
    assert.match(check.stdout, /warning +models\.acme-large\.price: .* perWebSearch/);
  });

  it('prevents the start with one readable message and exit code 1 if it is invalid', async () => {
    writeFileSync(
      join(directory.path, 'wrong.yaml'),
      'server:\n  prot: 8080\nproviders:\n  p: { protocol: chat, baseUrl: "not a url", apiKey: "${ACME_API_KEY}" }\n',
    );
    for (const command of [['check'], ['serve']]) {
      const result = await runCommand([...command, '--config', join(directory.path, 'wrong.yaml')], {
        ...environment,
        ...keys,
      });
      assert.equal(result.code, 1);
      assert.equal(result.stdout, '');
      assert.match(result.stderr, /wrong\.yaml:2: server\.prot: Unknown key\. Did you mean "port"\?/);
      assert.match(result.stderr, /wrong\.yaml:4: providers\.p\.baseUrl: /);
      assert.ok(!result.stderr.includes('    at '));
    }
  });

  it('reports a missing file', async () => {
    const result = await cli('serve', '--config', 'absent.yaml');
    assert.equal(result.code, 1);
    assert.match(result.stderr, /absent\.yaml: There is no such file/);
  });

  it('is served, reloaded when it changes, and kept if the change is invalid', { skip: inFullRunsOnly }, async () => {
    const provider = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}');
    });
    const { port, close } = await listenOnLoopback(provider);
    provider.unref();
    const file = join(directory.path, 'served.yaml');
    const text = (model: string): string => `
providers:
  acme: { protocol: chat, baseUrl: "http://127.0.0.1:${port}/v1", apiKey: a-key }
models:
  ${model}: { operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: acme, model: m }] }
`;
    writeFileSync(file, text('first-model'));
    const data = { FAREGATE_DATA_DIR: join(directory.path, 'served'), PORT: '0' };
    placeLocal(data.FAREGATE_DATA_DIR);
    const adminToken = 'an-admin-token-of-a-test';
    const gateway = startProgram(['serve', '--config', file], {
      environment: { ...data, FAREGATE_ADMIN_TOKEN: adminToken },
      directory: directory.path,
    });
    const url = /listening on (\S+)/.exec(await gateway.printed(/listening on \S+\n/))![1]!;
    const run = (...given: string[]) => runCommand([...given, '--config', file], data);
    await run('account', 'create', 'carol', '--verified', '--balance', '1');
    const key = /^sk-fg-\w+/m.exec((await run('key', 'create', 'carol')).stdout)![0];
    const call = async (model: string, headers: Record<string, string> = {}): Promise<number> => {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model, messages: [] }),
      });
      await response.arrayBuffer();
      return response.status;
    };

    assert.equal(await call('first-model'), 200);
    writeFileSync(file, text('second-model'));
    await until(async () => (await call('second-model')) === 200);
    assert.equal(await call('first-model'), 404);

    writeFileSync(file, `${text('third-model')}nonsense: true\n`);
    await gateway.printed(/nonsense: Unknown key/);
    const refused = await run('config', '--json');
    assert.equal(refused.code, 1);
    const view = JSON.parse(refused.stdout);
    assert.match(view.lastError.message, /served\.yaml:6: nonsense: Unknown key/);
    assert.deepEqual([view.file, Object.keys(view.config.models)], [file, ['second-model']]);
    assert.deepEqual(view.overridden, ['server.port', 'database.dataDir']);
    const asked = await runCommand(['config', '--gateway', url], { FAREGATE_ADMIN_TOKEN: adminToken });
    assert.equal(asked.code, 1);
    assert.match(
      asked.stdout,
      /^not in force since +\d{4}-\d\d-\d\d \S+ [+-]\d\d:\d\d: The configuration cannot be used/m,
    );
    assert.match(asked.stdout, /^ {2}\S*served\.yaml:6: nonsense: Unknown key/m);
    assert.doesNotMatch(asked.stdout, /\\u000a/);
    assert.match(asked.stdout, /^ {4}apiKey: \(not shown\)$/m);
    assert.equal(asked.stderr, `gateway: ${url}\n`);
    const withoutToken = await runCommand(['config', '--gateway', url], {});
    assert.equal(withoutToken.stderr, '--gateway needs the admin token of that gateway in FAREGATE_ADMIN_TOKEN.\n');
    assert.equal(await call('second-model'), 200);

    writeFileSync(file, `${text('fourth-model')}server: { drainDelay: 1h }\n`);
    gateway.child.kill('SIGHUP');
    await until(async () => (await call('fourth-model')) === 200);
    const loaded = await run('config');
    assert.equal(loaded.code, 0, loaded.stderr);
    assert.match(loaded.stdout, /^ {2}drainDelay: 1h$/m);
    assert.doesNotMatch(loaded.stdout, /a-key/);

    gateway.child.kill('SIGTERM');
    const readiness = () => fetch(`${url}/readyz`, { headers: { connection: 'close' } });
    await until(async () => (await readiness()).status === 503);
    assert.deepEqual(await (await readiness()).json(), {
      status: 'not ready',
      detail: ['This node is about to stop; it still serves calls.'],
    });
    // On the open connection, and on a new one.
    assert.equal(await call('fourth-model'), 200);
    assert.equal(await call('fourth-model', { connection: 'close' }), 200);
    gateway.child.kill('SIGTERM');
    assert.equal((await gateway.finished).code, 0);
    await close();
  });
});
