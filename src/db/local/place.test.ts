import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { removePlace } from './place.ts';

const ATTEMPTS = 40;

/** Creates and removes files in one directory after the other until it is gone. */
const AT_WORK = `
const { rmSync, writeFileSync } = require('node:fs');
for (const home of process.argv.slice(1)) {
  try {
    writeFileSync(home + '/cluster/begun', '');
    for (let i = 0; ; i++) {
      writeFileSync(home + '/cluster/' + i, '');
      rmSync(home + '/cluster/' + i, { force: true });
    }
  } catch {}
}`;

test('a place is free at once, even while a program left by a killed gateway still writes there', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-place-'));
  const homes = Array.from({ length: ATTEMPTS }, (_, i) => join(directory, String(i)));
  for (const home of homes) mkdirSync(join(home, 'cluster'), { recursive: true });
  const program = spawn(process.execPath, ['--eval', AT_WORK, ...homes], { stdio: 'ignore' });
  for (const home of homes) {
    await until(() => existsSync(join(home, 'cluster/begun')));
    removePlace(home);
    assert.equal(existsSync(home), false);
  }
  program.kill();
  rmSync(directory, { recursive: true });
});
