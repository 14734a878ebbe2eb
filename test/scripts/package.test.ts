import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { installedMegabytes } from '../../scripts/installed-size.ts';
import { runProgram, startProgram, temporaryDirectory } from '../support/process.ts';

const run = promisify(execFile);

/** Maximum size of the installed package with its PostgreSQL. */
const MOST_MEGABYTES = 130;

/** Tests the package as it is used: installed into an empty folder, with a PATH that contains only Node. */
describe('the package', { timeout: 300_000 }, () => {
  const directory = temporaryDirectory();
  const modules = join(directory.path, 'node_modules');
  const installed = join(modules, 'faregate');
  const main = join(modules, '.bin', 'faregate');
  const bare = join(directory.path, 'bin');

  let makeWritable = (): void => undefined;

  before(async () => {
    await run(process.execPath, ['scripts/build-package.ts', '--types-checked']);
    // Reuses the built console. Rebuilding it would disturb concurrent tests.
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', directory.path]);
    const [archive] = readdirSync(directory.path).filter((name) => name.endsWith('.tgz'));
    assert.ok(archive !== undefined);
    // The install scripts only create links of PostgreSQL's libraries, which the program does not need.
    await run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', `./${archive}`], {
      cwd: directory.path,
    });
    mkdirSync(bare);
    symlinkSync(process.execPath, join(bare, 'node'));
    makeWritable = makeReadOnly(modules);
  });
  after(() => {
    makeWritable();
    directory.remove();
  });

  it(`takes at most ${MOST_MEGABYTES} MB, and contains no Node`, (test) => {
    const megabytes = installedMegabytes(modules);
    test.diagnostic(`the package, installed: ${megabytes} MB`);
    assert.ok(megabytes <= MOST_MEGABYTES, `${megabytes} MB`);
    assert.ok(!readdirSync(modules).includes('node'));
  });

  it('serves the demo from read-only modules: console, API page, a streamed call, and a body that a thread reads', async () => {
    const environment = { PATH: bare, PORT: '0', FAREGATE_DEMO_DATA: 'none' };
    const demo = startProgram(['serve'], { environment, directory: directory.path, main });
    const printed = await demo.printed(/Ctrl-C/);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)![0];
    const key = /API key +(\S+)/.exec(printed)![1];
    const pages = [
      '/console',
      '/docs',
      '/docs/swagger-ui-bundle.js',
      '/docs/swagger-ui.css',
      '/docs/favicon-32x32.png',
    ];
    for (const path of pages) {
      const page = await fetch(`${url}${path}`);
      assert.equal(page.status, 200, `${path}: ${await page.text()}`);
    }
    const ask = (path: string, body: object) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const hello = [{ role: 'user', content: 'Hello' }];
    const streamed = await ask('/v1/chat/completions', { model: 'demo-chat', stream: true, messages: hello });
    assert.match(await streamed.text(), /data: \[DONE\]/);
    // Large enough to be read by a worker thread.
    const messages = [{ role: 'user', content: 'word '.repeat(60_000) }];
    const long = await ask('/v1/chat/completions', { model: 'demo-chat', messages, max_tokens: 5 });
    assert.equal(long.status, 200, await long.text());
    const counted = await ask('/v1/messages/count_tokens', { model: 'demo-messages', messages: hello });
    assert.equal(counted.status, 200, await counted.text());
    const calls = await runProgram(['calls', '--json'], { environment, directory: directory.path, main });
    assert.equal(calls.code, 0, calls.stderr);
    assert.ok(JSON.parse(calls.stdout).length >= 2);
    demo.child.kill('SIGINT');
    assert.equal((await demo.finished).code, 0);
  });

  it('starts by its command with only Node in the PATH', async () => {
    const { stdout, stderr } = await run(main, ['--version'], { env: { PATH: bare } });
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
    assert.equal(stderr, '');
  });

  it('starts by npx', async () => {
    const path = `${bare}${delimiter}${process.env.PATH}`;
    const { stdout } = await run('npx', ['--no-install', 'faregate', '--version'], {
      cwd: directory.path,
      env: { ...process.env, PATH: path },
    });
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });

  it('contains the compiled program without tests and sources, and the licences of its parts', () => {
    const names = readdirSync(installed, { recursive: true }).map(String);
    const own = names.filter((name) => !name.startsWith('node_modules'));
    assert.deepEqual(
      own.filter((name) => /\.ts$|\.test\./.test(name)),
      [],
    );
    assert.ok(own.includes(join('console', 'dist', 'index.html')), 'Run: npm run build');
    const parts = own.filter((name) => /^dist.third-party[\\/](?:@[^\\/]+[\\/])?[^@\\/][^\\/]*$/.test(name));
    const withLicence = (part: string) => own.some((name) => name.startsWith(join(part, 'LICENSE')));
    assert.ok(parts.length > 0);
    assert.deepEqual(
      parts.filter((part) => !withLicence(part)),
      [],
    );
  });
});

/** Returns a function that reverts this. Permissions do not stop root. */
function makeReadOnly(path: string): () => void {
  if (process.getuid?.() !== 0) {
    execFileSync('chmod', ['-R', 'a-w', path]);
    return () => void execFileSync('chmod', ['-R', 'u+w', path]);
  }
  execFileSync('mount', ['--bind', path, path]);
  execFileSync('mount', ['-o', 'remount,bind,ro', path]);
  return () => void execFileSync('umount', [path]);
}
