import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ServedHere, serveHere } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { placeLocal } from '../support/local-database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { openShell, type Shell } from '../support/shell.ts';

/** Runs every command of docs/moving.md in order: during the demo, and after it was stopped. */
const PAGE = readFileSync(fileURLToPath(new URL('../../docs/moving.md', import.meta.url)), 'utf8');
const SERVER_URL = 'postgres://faregate@db.example/faregate';

describe('docs/moving.md', { timeout: 300_000 }, () => {
  const directory = temporaryDirectory();
  const environment = { PORT: '0', FAREGATE_DATA_DIR: join(directory.path, 'data'), FAREGATE_DEMO_DATA: 'none' };
  placeLocal(environment.FAREGATE_DATA_DIR);
  placeLocal(join(directory.path, 'restored'));
  let demo: ServedHere;
  let server: TestDatabase;
  let opened: Shell;

  before(async () => {
    opened = await openShell(directory.path, environment);
    server = await createTestDatabase();
    demo = await serveHere([], environment);
  });
  after(async () => {
    await demo.stop();
    await server.remove();
    await opened.close();
    directory.remove();
  });

  const shell = (script: string) => opened.run(script.replaceAll(SERVER_URL, server.url));
  const accounts = async (flags: string, variables = ''): Promise<string> =>
    (await shell(`${variables} npx faregate ${flags} account list --json`)).stdout;

  const [serving, stopped] = PAGE.split(/^## From the local server.*$/m) as [string, string];
  const scriptsOf = (text: string): string[] =>
    [...text.matchAll(/(?<!^<!-- not run: .*\n)^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);

  it('backs the demo up while it serves, and restores it', async () => {
    let printed = '';
    for (const script of scriptsOf(serving)) printed += Object.values(await shell(script)).join('');
    assert.match(printed, /database: local, in \S+, through the gateway on http/);
    assert.match(printed, /Exported 1 accounts/);
    assert.match(printed, /Imported 1 accounts/);
    assert.doesNotMatch(printed, /BROKEN/);
    const before = await accounts('');
    assert.equal(JSON.parse(before).length, 1, before);
    assert.equal(await accounts('--data-dir ./restored'), before);
  });

  it('moves it to PostgreSQL and back', async () => {
    const before = await accounts('');
    await demo.stop();
    const scripts = scriptsOf(stopped);
    assert.equal(scripts.length, 2);
    for (const script of scripts) assert.doesNotMatch((await shell(script)).stdout, /BROKEN/);
    assert.equal(await accounts('', `DATABASE_URL=${server.url}`), before);
    assert.ok(existsSync(join(directory.path, 'again', 'postgres.json')), 'the import has made no database');
    assert.equal(await accounts('--data-dir ./again'), before);
  });
});
