import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { assertReviewed } from './reviewed-sentences.ts';

/** Tokens and the audit log without a running gateway; the test of docs/operations has them with one. */
describe('the command line without a gateway', { timeout: 300_000 }, () => {
  const directory = temporaryDirectory();
  const databases = new Map<string, TestDatabase>();
  const at = (name: string) => ({
    FAREGATE_DATA_DIR: join(directory.path, name),
    DATABASE_URL: databases.get(name)!.url,
  });
  before(async () => {
    for (const name of ['data', 'new']) databases.set(name, await createTestDatabase());
  });
  after(async () => {
    for (const database of databases.values()) await database.remove();
    directory.remove();
  });

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function json(given: readonly string[], environment = at('data')): Promise<any> {
    const { code, stdout, stderr } = await runCommand([...given, '--json'], environment);
    assert.equal(code, 0, stdout + stderr);
    return JSON.parse(stdout);
  }

  it('creates and revokes tokens, and records who did, also for an import', async () => {
    const { id, token, role } = await json(['token', 'create', 'ci', '--role', 'operator']);
    assert.equal(role, 'operator');
    assert.deepEqual(await json(['token', 'revoke', 'ci']), { id, revoked: true });
    const again = await runCommand(['token', 'revoke', 'ci'], at('data'));
    assert.deepEqual([again.code, again.stderr.includes('There is no token "ci"')], [3, true]);

    const [revoked, made] = await json(['changes', '--subject', id]);
    const user = userInfo().username;
    assert.deepEqual([made.action, made.actor.kind, made.actor.localUser], ['tokens.create', 'command_line', user]);
    assert.deepEqual([revoked.action, revoked.before.revokedAt], ['tokens.delete', null]);
    assert.ok(!JSON.stringify([revoked, made]).includes(token));

    const file = join(directory.path, 'export.gz');
    await json(['db', 'export', file]);
    await json(['db', 'import', file], at('new'));
    const moved = await json(['changes'], at('new'));
    assert.deepEqual(
      moved.map(({ action }: { action: string }) => action),
      ['db.import', 'tokens.delete', 'tokens.create'],
    );
    assert.equal(moved[0].actor.localUser, user);
    assertReviewed('database imported', moved[0].sentence);
    const { stdout } = await runCommand(['changes', '--limit', '1'], at('new'));
    assert.match(stdout, /imported a database of 0 accounts/);
  });

  it('refuses to serve with a named token as its own', async () => {
    const { token } = await json(['token', 'create', 'mistaken']);
    const { code, stderr } = await runCommand(['serve'], { ...at('data'), FAREGATE_ADMIN_TOKEN: token });
    assert.equal(code, 1);
    assert.match(stderr, /FAREGATE_ADMIN_TOKEN is a named token/);
    assert.ok(!stderr.includes(token));
  });
});
