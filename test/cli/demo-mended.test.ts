import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand, serveHere } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { sql } from '../support/sql.ts';

interface Printed {
  readonly key: string;
  readonly password: string;
}

describe('a demo that is started again', () => {
  const directory = temporaryDirectory();
  const dataDir = join(directory.path, 'data');
  const file = join(dataDir, 'demo.json');
  let stored: TestDatabase;
  let first: Printed;
  const environment = () => ({
    PORT: '0',
    FAREGATE_DATA_DIR: dataDir,
    FAREGATE_DEMO_DATA: 'none',
    DATABASE_URL: stored.url,
  });

  /** Starts the demo, tries the printed secrets, and stops it. */
  async function start(): Promise<Printed> {
    const demo = await serveHere([], environment());
    const { url } = demo;
    const text = demo.printed();
    const key = /API key +(\S+)/.exec(text)![1]!;
    const password = /user and password +demo +(.+)$/m.exec(text)![1]!;
    const balance = await fetch(`${url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(((await balance.json()) as { balance: number }).balance, 100);
    if (!password.startsWith('(')) {
      const session = await fetch(`${url}/account/v1/sessions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        body: JSON.stringify({ user: 'demo', password }),
      });
      assert.equal(session.status, 201, await session.text());
    }
    await demo.stop();
    return { key, password };
  }

  async function count(command: string): Promise<number> {
    const { stdout } = await runCommand([command, 'list', '--json'], environment());
    return JSON.parse(stdout).length;
  }

  before(async () => {
    stored = await createTestDatabase();
    first = await start();
  });
  after(async () => {
    await stored.remove();
    directory.remove();
  });

  it('keeps the key and the password', async () => {
    const again = await start();
    assert.deepEqual([again.key, again.password], [first.key, first.password]);
  });

  it('gets a new key and a new password for the same account and user if its file is lost', async () => {
    rmSync(file);
    const again = await start();
    assert.notEqual(again.key, first.key);
    assert.notEqual(again.password, first.password);
    assert.deepEqual([await count('account'), await count('user')], [1, 1]);
    assert.deepEqual(await start(), again, 'the next start finds them');
  });

  it('prints no password if its user has changed it', async () => {
    await sql(stored.database, `update users set password_hash = null`);
    assert.match((await start()).password, /^\(the one that you have set\)$/);
  });
});
