import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestDatabase } from '../support/database.ts';
import { ADMIN_TOKEN, testConfigText } from '../support/gateway.ts';
import { startProgram, temporaryDirectory } from '../support/process.ts';
import { partitionsOfFile } from '../support/scope.ts';

test('a start that fails half way ends the program', { timeout: 300_000 }, async (context) => {
  const directory = temporaryDirectory();
  context.after(() => directory.remove());
  const stored = await createTestDatabase(partitionsOfFile);
  context.after(() => stored.remove());
  // A statement of the last part of the start fails, as if the database went down then.
  await stored.database.script('alter table nodes rename to gone');
  const configFile = join(directory.path, 'faregate.yaml');
  writeFileSync(configFile, testConfigText('http://127.0.0.1:9', { dataDir: join(directory.path, 'data') }));
  const program = startProgram(['serve', '--config', configFile], {
    environment: { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN, DATABASE_URL: stored.url },
  });
  const { code, stderr } = await program.finished;
  assert.equal(code, 1);
  assert.match(stderr, /nodes/);
});
