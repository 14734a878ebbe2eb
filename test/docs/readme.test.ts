import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runCommand, type ServedHere, serveHere } from '../support/command.ts';
import { placeLocal } from '../support/local-database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { openShell, type Shell } from '../support/shell.ts';
import { blocksOf, commandsOf, DEMO_PAGES } from './pages.ts';

/** Runs every command and snippet of the README and of the pages that follow it, against the demo. */
const run = promisify(execFile);
/** Without the coverage directory of the test run: child processes are not measured. */
const { NODE_V8_COVERAGE: _, ...inherited } = process.env;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CONFIGURATION = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
/** A screen has about 45 lines. */
const README_LINES_MAX = 140;
const FIRST_PAGES = DEMO_PAGES.slice(0, 2);
const DEMO_URL = 'http://127.0.0.1:8080';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const configurationBlocks = blocksOf('docs/configuration.md');

describe('the README and the pages that it links to', () => {
  const directory = temporaryDirectory();
  // The first month is the one in `test/cli/demo-month`.
  const environment = { PORT: '0', FAREGATE_DATA_DIR: join(directory.path, 'data'), FAREGATE_DEMO_DATA: 'none' };
  let demo: ServedHere;
  let url = '';
  let key = '';
  let opened: Shell;

  before(async () => {
    opened = await openShell(directory.path, environment);
    placeLocal(environment.FAREGATE_DATA_DIR);
    demo = await serveHere([], environment);
    url = demo.url;
    key = /API key +(sk-fg-\w+)/.exec(demo.printed())![1]!;
  });
  after(async () => {
    await demo.stop();
    await opened.close();
    directory.remove();
  });

  const shell = async (script: string): Promise<string> =>
    (await opened.run(script.replaceAll(DEMO_URL, url), { FAREGATE_KEY: key })).stdout;
  /** Runs the launcher in a new process each time, as users do first. */
  const launched = (script: string): string =>
    script.replaceAll('npx faregate', `node ${join(ROOT, 'bin/faregate.js')}`);

  for (const page of DEMO_PAGES) {
    for (const text of commandsOf(page)) {
      it(`have a command that works: ${page}: ${text.split('\n')[0]}`, async () => {
        assert.notEqual(await shell(FIRST_PAGES.includes(page) ? launched(text) : text), '');
      });
    }
  }

  const snippets = ['README.md', 'docs/sdks.md'].flatMap(blocksOf).filter((block) => block.language === 'js');
  for (const { text } of snippets) {
    it(`have a snippet that works: ${text.split('\n')[0]}`, async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', text.replaceAll(DEMO_URL, url)], {
        cwd: ROOT,
        env: { ...inherited, FAREGATE_KEY: key },
      });
      assert.match(stdout, text.includes('catch') ? /^404 model_not_found req_\w+$/m : /You said: "Hello!"/);
    });
  }

  for (const { text } of configurationBlocks.filter((block) => block.language === 'yaml')) {
    it('have a configuration that is valid, and show the message that a mistake in it gets', async () => {
      const file = join(directory.path, 'configuration.yaml');
      const check = () => runCommand(['check', '--config', file], { ACME_API_KEY: 'a-key' });
      writeFileSync(file, text);
      assert.equal((await check()).code, 0);
      writeFileSync(file, text.replace('input: "4"', 'input: "four"'));
      const wrong = await check();
      const shown = configurationBlocks.find((block) =>
        block.text.startsWith('The configuration cannot be used'),
      )!.text;
      const line = text.slice(0, text.indexOf('input: "4"')).split('\n').length;
      assert.equal(
        wrong.stderr.replaceAll(file, 'faregate.catalog.yaml').trim(),
        shown.trim().replace(/yaml:\d+/, `yaml:${line}`),
      );
      assert.match(shown, new RegExp(`faregate\\.catalog\\.yaml:${line}: `));
    });
  }

  it('fit on three screens, the README alone', () => {
    assert.ok(README.trimEnd().split('\n').length <= README_LINES_MAX);
  });

  it('name the environment variables that the help names', async () => {
    const { stdout } = await runCommand(['--help'], {});
    for (const name of stdout.match(/^ {2}(?:FAREGATE_\w+|DATABASE_URL|LOG_LEVEL)/gm)!) {
      assert.ok(CONFIGURATION.includes(`\`${name.trim()}\``), `${name} is not in docs/configuration.md`);
    }
  });
});
