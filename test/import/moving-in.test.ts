import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { formatYuan } from '../../src/lib/yuan.ts';
import { changeSqliteBooks, makeSqliteBooks } from '../fixtures/foreign-books/databases.ts';
import { call } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/process.ts';

const directory = temporaryDirectory();
after(() => directory.remove());

const HELLO = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe(`import from another gateway`, () => {
  let gateway: TestGateway;
  const source = join(directory.path, 'one-api.db');
  /** The keys that clients send, by name. */
  const keys = new Map<string, string>();
  /** For `lin`: a unit of quota at this rate, in nano-yuan: 7.15 yuan / 500,000. */
  let balanceYuan = '';

  before(async () => {
    gateway = await startGateway();
    makeSqliteBooks('one-api-0.6.10', source);
    const rows = changeSqliteBooks(source, (database) => database.prepare('select name, key from tokens').all());
    const [lin] = changeSqliteBooks(source, (database) =>
      database.prepare("select quota from users where username = 'lin'").all(),
    );
    balanceYuan = formatYuan(BigInt(Number(lin!.quota)) * 14_300n);
    for (const { name, key } of rows) keys.set(String(name), `sk-${String(key)}`);
  });
  after(() => gateway.stop());

  const move = (...options: readonly string[]) =>
    runCommand(['--gateway', gateway.url, '--json', 'import', 'one-api', source, '--usd-cny', '7.15', ...options], {
      FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    });
  const fingerprint = () => createHash('sha256').update(readFileSync(source)).digest('hex');
  const accounts = async () => (await gateway.admin('GET', '/accounts?limit=100')).body.data;
  const asks = (key: string) => call(`${gateway.url}/v1/chat/completions`, key, HELLO);

  it('refuses keys of another format as malformed until one is imported', async () => {
    const response = await asks(keys.get('notebook')!);
    assert.equal(response.status, 401);
    assert.match(response.text, /malformed/);
  });

  it('prints what it would create, and creates and writes nothing', async () => {
    const was = fingerprint();
    const { code, stdout } = await move();
    assert.equal(code, 0);
    const plan = JSON.parse(stdout);
    assert.deepEqual(
      plan.accounts.map(({ name }: { name: string }) => name),
      ['root', 'lin', 'wang', 'chen', 'zhao', 'ops'],
    );
    assert.equal(plan.accounts[1].balanceYuan, balanceYuan);
    assert.ok(plan.leftOut.length > 3);
    assert.deepEqual(await accounts(), []);
    assert.equal(fingerprint(), was);
  });

  it('creates accounts with valid keys and equal balances, once, however often it is run', async () => {
    const first = await move('--apply');
    assert.equal(first.code, 0, first.stderr);
    const made = await accounts();
    assert.equal(made.find(({ name }: { name: string }) => name === 'lin').balanceYuan, balanceYuan);
    assert.equal((await move('--apply')).code, 0);
    assert.deepEqual(await accounts(), made);

    const response = await asks(keys.get('notebook')!);
    assert.equal(response.status, 200, response.text);
    const { body } = await gateway.admin('POST', '/keys/search', { key: keys.get('notebook') });
    assert.equal(body.data[0].account.name, 'lin');
    assert.equal(body.data[0].prefix, `${keys.get('notebook')!.slice(0, 7)}…`);
  });

  it('refuses disabled and expired keys, and keys of disabled users', async () => {
    for (const [name, why] of [
      ['off', /revoked/],
      ['old', /expired/],
      ['phone', /suspended/],
    ] as const) {
      const response = await asks(keys.get(name)!);
      assert.equal(response.status, 401, name);
      assert.match(response.text, why);
    }
    // The rest of its quota there becomes its total budget here.
    assert.equal((await asks(keys.get('empty')!)).status, 429);
    assert.match((await asks('sk-nobody-has-this-one')).text, /unknown/);
  });

  it('creates other accounts for another database with --label', async () => {
    const { stdout } = await move('--label', 'second');
    assert.equal(JSON.parse(stdout).source, 'one-api second');
    const refused = await move('--label', 'second', '--apply');
    // It has the keys of the first one, which only one account can have.
    assert.equal(refused.code, 4);
    assert.match(refused.stdout + refused.stderr, /This key belongs to another account/);
    const names = (await accounts()).map(({ name }: { name: string }) => name);
    assert.equal(names.filter((name: string) => name === 'lin').length, 2);
  });

  it('does not import a key that another account has', async () => {
    const { id } = await gateway.createAccount();
    const sha256 = createHash('sha256').update(keys.get('notebook')!).digest('hex');
    const asked = await gateway.admin('POST', `/accounts/${id}/imported-keys`, { sha256, prefix: 'sk-…' });
    assert.equal(asked.status, 409);
  });

  it('does not import a key with the prefix of keys created here, because it would not be looked up', async () => {
    const { id } = await gateway.createAccount();
    const asked = { sha256: 'ab'.repeat(32), prefix: 'sk-fg-Ab12…' };
    const refused = await gateway.admin('POST', `/accounts/${id}/imported-keys`, asked);
    assert.equal(refused.status, 400);
    assert.match(JSON.stringify(refused.body), /sk-fg-/);
  });
});
