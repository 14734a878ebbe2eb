import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { programVersion } from '../../src/lib/version.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/faregate.js', import.meta.url));

interface Seen {
  readonly processes: readonly number[];
  readonly printed: readonly string[];
  readonly warnings: string;
  readonly hasCompiler: boolean;
}

/** Makes every process print its id, and at exit whether Node's compiler of TypeScript was loaded. */
const SPY = `data:text/javascript,${encodeURIComponent(`
  console.log('process ' + process.pid);
  process.on('exit', () => {
    if (process.moduleLoadList.some((name) => name.includes('amaro'))) console.log('compiler');
  });
`)}`;

async function launch(...args: string[]): Promise<Seen> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [LAUNCHER, ...args], {
    env: { PATH: process.env.PATH, NODE_OPTIONS: `--import ${SPY}` },
  });
  const lines = stdout.trim().split('\n');
  return {
    processes: lines.filter((line) => line.startsWith('process ')).map((line) => Number(line.slice(8))),
    printed: lines.filter((line) => !line.startsWith('process ') && line !== 'compiler'),
    warnings: stderr,
    hasCompiler: lines.includes('compiler'),
  };
}

describe('bin/faregate.js', () => {
  it('is replaced by the program, without a waiting process', {
    skip: process.platform === 'win32',
  }, async () => {
    const { processes, printed, warnings } = await launch('--version');
    assert.equal(processes.length, 2);
    assert.equal(processes[0], processes[1]);
    assert.deepEqual(printed, [programVersion()]);
    assert.equal(warnings, '');
  });

  it('does not load the compiler of TypeScript if all files are cached', async () => {
    await launch('--version');
    assert.equal((await launch('--version')).hasCompiler, false);
  });

  it('finds the code of all commands in the cache after an installation', async () => {
    // Without the cache of the tests, which the environment names.
    const options = { env: { PATH: process.env.PATH } };
    await promisify(execFile)(process.execPath, ['scripts/compile-ahead.ts'], options);
    assert.equal((await launch('completion', 'bash')).hasCompiler, false);
  });

  it('says how to install the Node of the project if it is missing', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'faregate-launcher-'));
    try {
      await mkdir(join(directory, 'bin'));
      await mkdir(join(directory, 'src'));
      await writeFile(join(directory, 'src/main.ts'), '');
      await mkdir(join(directory, 'node_modules/node'), { recursive: true });
      await writeFile(join(directory, 'node_modules/node/package.json'), '{}');
      await cp(LAUNCHER, join(directory, 'bin/faregate.mjs'));
      const started = promisify(execFile)(process.execPath, [join(directory, 'bin/faregate.mjs')]);
      await assert.rejects(started, { code: 1, stderr: /^The Node of this project is missing: .*npm ci.*\n$/ });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('runs compiled files if there are no sources, on the current Node if that is new enough', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'faregate-launcher-'));
    try {
      await mkdir(join(directory, 'bin'));
      await mkdir(join(directory, 'dist'));
      await writeFile(join(directory, 'package.json'), '{"type":"module"}');
      await writeFile(join(directory, 'dist/main.js'), 'console.log(process.argv.slice(2).join());');
      await cp(LAUNCHER, join(directory, 'bin/faregate.js'));
      const start = (version: string) => {
        const spy = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
        const options = ['--import', spy, join(directory, 'bin/faregate.js'), 'a', 'b'];
        return promisify(execFile)(process.execPath, options);
      };
      for (const version of ['24.7.0', '24.21.0', '26.0.1']) assert.equal((await start(version)).stdout, 'a,b\n');
      for (const version of ['20.19.0', '24.6.9']) {
        const stderr = `Faregate needs Node 24.7 or later, and this is Node ${version}.\n`;
        await assert.rejects(start(version), { code: 1, stdout: '', stderr });
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('exits with the code of the program', async () => {
    await assert.rejects(launch('no-such-command'), { code: 2 });
  });
});
