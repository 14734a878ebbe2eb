import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';

interface Ended {
  readonly code: number | null;
  readonly printed: string;
}

describe('a test run', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'faregate-runs-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function write(name: string, test: string): string {
    const file = join(folder, `${name}.test.mjs`);
    writeFileSync(file, `import { it } from 'node:test';\n${test}\n`);
    return file;
  }

  async function run(program: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
    // A run inside of a run would report to the outer one.
    const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
    const child = spawn(process.execPath, program, {
      env: { ...env, ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const code = new Promise<number | null>((resolve) => child.on('exit', resolve));
    return { printed: await text(child.stdout), code: await code };
  }

  /** Runs files in one process, as a run of all tests does with its own. */
  function runTogether(files: readonly string[]): Promise<Ended> {
    const module = join(folder, 'together.ts');
    const runner = new URL('../../scripts/run-tests.ts', import.meta.url).href;
    writeFileSync(
      module,
      `import { runGrouped } from '${runner}';
process.exitCode = await runGrouped({ scope: 'quick', options: [], files: ${JSON.stringify(files)} });`,
    );
    return run([module]);
  }

  /**
   * What happens at the end of a run decides its exit code as well: a package that ends the process by itself once made
   * every run a success, whatever had failed.
   */
  it('exits with 1 if a test fails, and with 0 if all pass', async () => {
    const failing = write('failing', "it('fails', () => { throw new Error('as it should'); });");
    const passing = write('passing', "it('passes', () => undefined);");
    assert.equal((await run(['scripts/test.ts', failing])).code, 1);
    assert.equal((await run(['scripts/test.ts', passing])).code, 0);
  });

  it('reports the signal and the last output of a killed process', async () => {
    const killed = write(
      'killed',
      `it('kills its process', () => {
  console.error('the last words');
  process.kill(process.pid, 'SIGTRAP');
  return new Promise((resolve) => setTimeout(resolve, 60_000));
});`,
    );
    const { code, printed } = await run(['scripts/test.ts', killed]);
    assert.equal(code, 1);
    assert.match(printed, /The process of \S+killed\.test\.mjs was killed by SIGTRAP\. .*\nthe last words\n/);
    const failing = write('failing', "it('fails', () => { throw new Error('as it should'); });");
    assert.doesNotMatch((await run(['scripts/test.ts', failing])).printed, /The process of/);
  });

  it('reports each test of files that share a process', async () => {
    const one = write('one', "it('is of the first file', () => undefined);");
    const two = write('two', "it('is of the second file', () => { throw new Error('as it should'); });");
    const { code, printed } = await runTogether([one, two]);
    assert.equal(code, 1);
    assert.match(printed, /✔ is of the first file/);
    assert.match(printed, /✖ is of the second file/);
  });

  // A test that had replaced the timers once gave them to a module that was loaded meanwhile, which then waited for ever.
  it('starts tests after all files of a process are loaded', async () => {
    const early = write(
      'a-early',
      "it('runs when all are loaded', () => { if (!globalThis.isLateLoaded) throw new Error('early'); });",
    );
    const late = write(
      'b-late',
      `for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
globalThis.isLateLoaded = true;
it('is of the late file', () => undefined);`,
    );
    const { code, printed } = await runTogether([early, late]);
    assert.equal(code, 0, printed);
    assert.match(printed, /✔ is of the late file/);
  });

  it('runs the other files of a process if one cannot be loaded, and fails', async () => {
    const broken = write('a-broken', "throw new Error('at its import');");
    const sound = write('b-sound', "it('is sound', () => undefined);");
    const { code, printed } = await runTogether([broken, sound]);
    assert.equal(code, 1);
    assert.match(printed, /✖ file:.*a-broken\.test\.mjs can be loaded/);
    assert.match(printed, /✔ is sound/);
  });

  it('runs the files of a process one by one if one of them exits it, and fails even for exit code 0', async () => {
    const record = write('a-ending', "it('ends the process', () => process.exit(0));");
    const hidden = write('b-hidden', "it('is not hidden', () => undefined);");
    const { code, printed } = await runTogether([record, hidden]);
    assert.equal(code, 1);
    assert.match(printed, /✔ is not hidden/);
  });

  it('tracks no promises in a process of several files, and fails on uncaught errors', async () => {
    const following = `import { executionAsyncId } from 'node:async_hooks';
it('follows promises', async () => { await null; if (executionAsyncId() === 0) throw new Error('it does not'); });`;
    const one = write('a-followed', following);
    const two = write('b-followed', following);
    assert.equal((await run(['scripts/test.ts', one, two])).code, 0);
    const together = await runTogether([one, two]);
    assert.equal(together.printed.match(/Error: it does not/g)?.length, 2, together.printed);

    const throwing = write(
      'a-throwing',
      `it('waits meanwhile', async () => {
  await null;
  setImmediate(() => { throw new Error('that nobody catches'); });
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
});`,
    );
    const sound = write('b-beside', "it('is beside it', () => undefined);");
    const { code, printed } = await runTogether([throwing, sound]);
    assert.equal(code, 1);
    assert.match(printed, /that nobody catches/);
    assert.match(printed, /✔ is beside it/);
  });

  it('exits if a failed hook left a resource open, and reports it', async () => {
    const leaving = write(
      'leaving',
      `import { before, describe } from 'node:test';
import { createServer } from 'node:net';
describe('a suite', () => {
  before(() => new Promise((_resolve, reject) => createServer().listen(0, () => reject(new Error('as it should')))));
  it('is cancelled', () => undefined);
});`,
    );
    const { code, printed } = await run(['scripts/test.ts', leaving], { FAREGATE_TEST_END_MS: '1' });
    assert.equal(code, 1);
    assert.match(printed, /✖ is cancelled/);
    assert.match(printed, /have finished, but the process is kept alive by: .*TCPServerWrap/);
  });
});
