import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createRevisionStore } from '../../src/config/revisions/revisions-store.ts';
import { createSealedSecretsStore } from '../../src/config/sealed-secrets/sealed-secrets-store.ts';
import { createSealingKey, type SealingKey } from '../../src/config/sealed-secrets/sealing.ts';
import { createSecrets, openSecrets } from '../../src/config/sealed-secrets/secrets.ts';
import { formsOf } from '../support/canaries.ts';
import { call } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { createBareDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { send } from '../support/gateway.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import {
  type Finished,
  type RunningProgram,
  runProgram,
  startProgram,
  temporaryDirectory,
} from '../support/process.ts';
import { chatCompletion, json, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Sealed secrets of providers: where their values are, how nodes use them, and how their key is replaced. */

const CANARY = 'sk-canary-Zq81xWv';
const NEXT_CANARY = 'sk-canary-Pm27yTb';
const ADMIN_TOKEN = 'an-admin-token-of-a-test';
const CATALOG = (providerUrl: string, name = 'acme'): string => `
providers:
  acme: { protocol: chat, baseUrl: "${providerUrl}/v1", apiKey: { secret: ${name} } }
models:
  large: { operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: acme, model: m }] }
`;

for (const mode of ['file', 'database'] as const) {
  describe(`a sealed secret with the catalog in the ${mode}`, { timeout: 60_000 }, () => {
    const directory = temporaryDirectory();
    const file = join(directory.path, 'faregate.yaml');
    const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('hex')];
    const keyFile = join(directory.path, 'sealing-key');
    const environment: Record<string, string> = {
      FAREGATE_DATA_DIR: join(directory.path, 'data'),
      FAREGATE_CONFIG: file,
      FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
      FAREGATE_SECRETS_KEY_FILE: keyFile,
      LOG_LEVEL: 'debug',
      PORT: '0',
    };
    let stored: TestDatabase;
    let provider: ScriptedProvider;
    let program: RunningProgram;
    let url = '';
    let key = '';
    /** Every response of the gateway and every output of a command. */
    const seen: string[] = [];

    async function start(): Promise<void> {
      program = startProgram(['serve'], { environment });
      url = /^listening on (\S+)$/m.exec(await program.printed(/^listening on \S+$/m))![1]!;
    }
    async function stop(): Promise<void> {
      program.child.kill('SIGINT');
      const { stdout, stderr } = await program.finished;
      seen.push(stdout, stderr);
    }
    async function cli(stdin: string | undefined, ...given: string[]): Promise<Finished> {
      const finished = await runCommand(['--gateway', url, ...given], environment, stdin);
      seen.push(finished.stdout, finished.stderr);
      return finished;
    }
    async function admin(method: string, path: string, body?: unknown) {
      const { status, text } = await send(`${url}/admin/v1${path}`, method, body, {
        authorization: `Bearer ${ADMIN_TOKEN}`,
      });
      seen.push(text);
      return { status, body: text === '' ? null : JSON.parse(text) };
    }
    async function ask(): Promise<string> {
      const { status, text } = await call(`${url}/v1/chat/completions`, key, { model: 'large', messages: [] });
      seen.push(text);
      assert.equal(status, 200, text);
      return String(provider.requests.at(-1)!.headers.authorization);
    }
    async function useCatalog(text: string): Promise<void> {
      if (mode === 'file') return writeFileSync(file, text);
      const revisions = createRevisionStore(inOneDatabase(stored.database).directory, { leadMs: 0 });
      const base = (await revisions.last())?.number ?? null;
      await revisions.insert({ text, source: 'push', base, reason: null, createdBy: 'test', inForceAtMs: null });
    }
    const reloaded = async (): Promise<string> =>
      (await admin('GET', '/config')).body.config.providers.acme?.apiKey.secret;

    before(async () => {
      stored = await createBareDatabase();
      environment.DATABASE_URL = stored.url;
      provider = await startProvider();
      provider.respond = json(200, chatCompletion());
      writeFileSync(keyFile, oldKey);
      writeFileSync(file, `catalog: ${mode}\n`);
      await start();
      const made = await admin('POST', '/accounts', { name: 'tester', verified: true, balanceYuan: '10' });
      key = (await admin('POST', `/accounts/${made.body.id}/keys`, {})).body.key;
      seen.pop();
    });
    after(async () => {
      program?.child.kill('SIGKILL');
      await provider?.close();
      await stored?.remove();
      directory.remove();
    });

    it('is set from standard input, and used by the catalog that names it', async () => {
      const set = await cli(`${CANARY}\n`, 'secret', 'set', 'acme');
      assert.deepEqual(
        [set.code, set.stdout],
        [0, 'Set acme.\nUse it in the configuration: apiKey: { secret: acme }\n'],
      );
      await useCatalog(CATALOG(provider.url));
      await until(async () => (await reloaded()) === 'acme');
      assert.equal(await ask(), `Bearer ${CANARY}`);
    });

    it('is used with another value at once, by the calls that begin then', async () => {
      const valueFile = join(directory.path, 'value');
      writeFileSync(valueFile, `${NEXT_CANARY}\n`);
      assert.equal((await cli(undefined, 'secret', 'set', 'acme', '--file', valueFile)).code, 0);
      await until(async () => (await ask()) === `Bearer ${NEXT_CANARY}`);
    });

    it('is not set to what cannot be a credential, or under another name, without showing it', async () => {
      for (const [value, path] of [
        ['sk canary', '/secrets/acme'],
        ['', '/secrets/acme'],
        ['x'.repeat(17_000), '/secrets/acme'],
        [CANARY, '/secrets/a%20b'],
        [CANARY, `/secrets/${'a'.repeat(65)}`],
      ] as const) {
        const { status, body } = await admin('PUT', path, { value });
        assert.equal(status, 400, path);
        assert.ok(value === '' || !JSON.stringify(body).includes(value));
      }
      const { code, stderr } = await cli(undefined, 'secret', 'set', 'acme', 'a-value');
      assert.equal(code, 2);
      assert.match(stderr, /too many arguments/);
    });

    it('is not deleted while a provider uses it', async () => {
      const { status, body } = await admin('DELETE', '/secrets/acme');
      assert.deepEqual([status, body.error.code], [409, 'conflict_error']);
      assert.match(body.error.message, /used by: acme\./);
      assert.equal((await cli(undefined, 'secret', 'delete', 'nowhere')).code, 3);
      await cli(CANARY, 'secret', 'set', 'unused');
      assert.equal((await cli(undefined, 'secret', 'delete', 'unused')).stdout, 'Deleted unused.\n');
    });

    it('that is missing leaves the catalog before in force, until it is set', async () => {
      if (mode === 'database') {
        const checked = await admin('POST', '/catalog/check', { base: 1, text: CATALOG(provider.url, 'later') });
        assert.deepEqual(
          checked.body.problems.map(({ line, key }: { line: number; key: string }) => [line, key]),
          [[3, 'providers.acme.apiKey.secret']],
        );
      }
      await useCatalog(CATALOG(provider.url, 'later'));
      const line = mode === 'file' ? 'faregate.yaml:3' : 'revision 2:3';
      const problem = 'providers.acme.apiKey.secret: There is no sealed secret with this name';
      await program.printed(new RegExp(`${line}: ${problem}`));
      assert.equal(await ask(), `Bearer ${NEXT_CANARY}`);
      await cli(CANARY, 'secret', 'set', 'later');
      await until(async () => (await reloaded()) === 'later');
      assert.equal(await ask(), `Bearer ${CANARY}`);
    });

    it('is sealed with another key while calls run', async () => {
      const { stdout } = await cli(undefined, 'secret', 'list');
      assert.match(stdout, /^later +acme .* current$/m);
      writeFileSync(keyFile, `${newKey}\n${oldKey}\n`);
      assert.match((await cli(undefined, 'secret', 'list')).stdout, /^later .* an earlier one/m);
      const asked = Array.from({ length: 20 }, () => ask());
      const rotated = await cli(undefined, 'secret', 'rotate');
      assert.deepEqual([rotated.code, rotated.stdout], [0, 'Secrets that were sealed with another key: 2.\n']);
      for (const credential of await Promise.all(asked)) assert.equal(credential, `Bearer ${CANARY}`);
      writeFileSync(keyFile, newKey);
      assert.match((await cli(undefined, 'secret', 'list')).stdout, /^later .* current$/m);
      const again = (await admin('POST', '/secrets/rotate')).body;
      assert.deepEqual(again, { resealed: 0, unreadable: [] });
    });

    it('is opened by the next start, which fails if the node lacks the key', async () => {
      await stop();
      const without = await runProgram(['serve'], { environment: { ...environment, FAREGATE_SECRETS_KEY_FILE: '' } });
      seen.push(without.stdout, without.stderr);
      assert.equal(without.code, 1);
      const problem = 'providers.acme.apiKey.secret: There is no key for sealed secrets. Set FAREGATE_SECRETS_KEY';
      assert.ok(without.stderr.includes(problem), without.stderr);
      await start();
      assert.equal(await ask(), `Bearer ${CANARY}`);
    });

    it('is in no table, log, response, export or page', async () => {
      await admin('GET', '/config');
      await admin('GET', '/routes');
      await admin('GET', '/secrets');
      assert.match((await cli(undefined, 'changes', '--limit', '500')).stdout, /sealed secret “acme”/);
      for (const path of ['/console/', '/openapi.json', '/metrics']) {
        seen.push((await send(url + path, 'GET', undefined, { authorization: `Bearer ${ADMIN_TOKEN}` })).text);
      }
      const copy = join(directory.path, 'copy.jsonl');
      const exported = await runCommand(['db', 'export', copy], environment);
      assert.equal(exported.code, 0, exported.stderr);
      const text = readFileSync(copy, 'utf8');
      assert.match(text, /^\{"sealed_secrets":/m);
      seen.push(text);
      await stop();
      const tables = await sql<{ name: string }>(
        stored.database,
        `select table_name as name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'`,
      );
      for (const { name } of tables) {
        const rows = await sql<{ row: string }>(stored.database, `select t::text as row from ${name} t`);
        seen.push(...rows.map(({ row }) => row));
      }
      const all = seen.join('\n');
      assert.ok(all.length > 10_000);
      for (const form of [CANARY, NEXT_CANARY].flatMap(formsOf)) assert.ok(!all.includes(form), form);
      for (const form of [oldKey, newKey].flatMap(formsOf)) assert.ok(!all.includes(form), 'a key');
    });
  });
}

describe('the sealed secrets of a database', () => {
  let stored: TestDatabase;
  const [one, two, three] = [1, 2, 3].map(() => createSealingKey(randomBytes(32))) as [
    SealingKey,
    SealingKey,
    SealingKey,
  ];
  const withKeys = (...keys: SealingKey[]) =>
    createSecrets({ store: createSealedSecretsStore(inOneDatabase(stored.database).directory), keys: () => keys });
  const opened = async (...keys: SealingKey[]) =>
    Object.fromEntries(
      openSecrets(await createSealedSecretsStore(inOneDatabase(stored.database).directory).list(), () => keys),
    );

  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored.remove());

  it('keep their values while one key replaces another, whatever is set in the meantime', async () => {
    await withKeys(one).set('a', 'value-a', 'alice');
    await withKeys(one).set('b', 'value-b', 'alice');
    await withKeys(three).set('lost', 'value-c', 'alice');
    const rotating = withKeys(two, one);
    const [rotation] = await Promise.all([rotating.rotate(), rotating.set('b', 'newer-b', 'bob'), rotating.rotate()]);
    assert.deepEqual(rotation.unreadable, ['lost']);
    const { a, b, lost } = await opened(two);
    assert.deepEqual([a, b], [{ value: 'value-a' }, { value: 'newer-b' }]);
    assert.match((lost as { problem: string }).problem, new RegExp(`sealed with the key ${three.id}, which this node`));
    const [first] = await rotating.list();
    assert.deepEqual([first!.changedBy, first!.status], ['alice', 'current_key']);
  });

  it('are not opened under another name, or if they were changed', async () => {
    await sql(
      stored.database,
      `update sealed_secrets set sealed = (select sealed from sealed_secrets where name = 'a') where name = 'b'`,
    );
    const { b } = await opened(two);
    assert.match((b as { problem: string }).problem, /was changed in the database/);
  });

  it('need a key to be set', async () => {
    await assert.rejects(withKeys().set('x', 'value', 'alice'), /There is no key for sealed secrets/);
    await assert.rejects(withKeys().rotate(), /There is no key for sealed secrets/);
  });
});
