import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

/**
 * What happens at the end of a run decides its exit code as well: a package that ends the process by itself once made
 * every run a success, whatever had failed.
 */
describe('a run of the tests', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'faregate-runs-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function exitCodeOf(name: string, test: string): Promise<unknown> {
    const file = join(folder, `${name}.test.mjs`);
    writeFileSync(file, `import { it } from 'node:test';\n${test}\n`);
    // A run inside of a run would report to the outer one.
    const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
    const child = spawn(process.execPath, ['scripts/test.ts', file], { env, stdio: 'ignore' });
    const [code] = await once(child, 'exit');
    return code;
  }

  it('ends with 1 where a test fails, and with 0 where all pass', async () => {
    assert.equal(await exitCodeOf('failing', "it('fails', () => { throw new Error('as it should'); });"), 1);
    assert.equal(await exitCodeOf('passing', "it('passes', () => undefined);"), 0);
  });
});
