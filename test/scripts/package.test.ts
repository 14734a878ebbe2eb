import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { runProgram, startProgram, temporaryDirectory } from '../support/process.ts';

const run = promisify(execFile);

/** The package as `npm install` unpacks it: below `node_modules`, where Node strips no types. */
describe('the package', { timeout: 300_000 }, () => {
  const directory = temporaryDirectory();
  const installed = join(directory.path, 'node_modules', 'faregate');
  const main = join(installed, 'dist', 'main.js');

  before(async () => {
    await run(process.execPath, ['scripts/build-package.ts', '--types-checked']);
    // The console is built already; building it again would take it from tests that run at the same time.
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', directory.path]);
    const [archive] = readdirSync(directory.path).filter((name) => name.endsWith('.tgz'));
    assert.ok(archive !== undefined);
    mkdirSync(installed, { recursive: true });
    await run('tar', ['-xzf', join(directory.path, archive), '--strip-components=1', '-C', installed]);
    symlinkSync(resolve('node_modules'), join(installed, 'node_modules'));
  });
  after(() => directory.remove());

  it('serves the demo with its console, a streamed call, and bodies that a thread reads', async () => {
    const environment = { PORT: '0', FAREGATE_DEMO_DATA: 'none' };
    const demo = startProgram(['serve'], { environment, directory: directory.path, main });
    const printed = await demo.printed(/Ctrl-C/);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)![0];
    const key = /API key +(\S+)/.exec(printed)![1];
    const page = await fetch(`${url}/console`);
    assert.equal(page.status, 200, await page.text());
    const chat = (body: object) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-chat', ...body }),
      });
    const streamed = await chat({ stream: true, messages: [{ role: 'user', content: 'Hello' }] });
    assert.match(await streamed.text(), /data: \[DONE\]/);
    // Longer than what is read in the thread that serves.
    const long = await chat({ messages: [{ role: 'user', content: 'word '.repeat(60_000) }], max_tokens: 5 });
    assert.equal(long.status, 200, await long.text());
    const calls = await runProgram(['calls', '--json'], { directory: directory.path, main });
    assert.equal(calls.code, 0, calls.stderr);
    assert.ok(JSON.parse(calls.stdout).length >= 1);
    demo.child.kill('SIGINT');
    assert.equal((await demo.finished).code, 0);
  });

  it('has the program compiled, without tests and sources', async () => {
    const names = readdirSync(installed, { recursive: true }).map(String);
    const own = names.filter((name) => !name.startsWith('node_modules'));
    assert.deepEqual(
      own.filter((name) => /\.ts$|\.test\./.test(name)),
      [],
    );
    assert.ok(own.includes(join('console', 'dist', 'index.html')), 'Run: npm run build');
    const { stdout } = await run(process.execPath, [join(installed, 'bin', 'faregate.js'), '--version']);
    assert.match(stdout, /^\d+\.\d+\.\d+/);
  });
});
