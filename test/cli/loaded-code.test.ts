import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeFastDirectory } from '../support/fast-directory.ts';
import { testConfigText } from '../support/gateway.ts';
import { placeLocal } from '../support/local-database.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Writes the URLs of all modules of the main thread to a file when the process exits. */
const RECORDER = `data:text/javascript,${encodeURIComponent(`
  import { writeFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  import { isMainThread } from 'node:worker_threads';
  if (isMainThread) {
    const loaded = new Set();
    registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context); } });
    process.on('exit', () => writeFileSync(process.env.LOADED_FILE, [...loaded].join('\\n')));
  }
`)}`;

/** Libraries that few gateways need, or need rarely: loading them would cost every start time and memory. */
const LOADED_WHEN_NEEDED = [
  ...['nodemailer', 'openid-client', 'oauth4webapi', 'jose', 'prom-client', '@opentelemetry/api', 'gpt-tokenizer'],
  ...[
    'ajv',
    '@fastify/fast-json-stringify-compiler',
    'undici/lib/web/fetch',
    'undici/lib/mock',
    'swagger-ui-dist',
    'csv-parse',
  ],
  ...['piscina', 'standardwebhooks', 'string-width', '@copilotkit/aimock'],
];

describe('the code that is loaded', { timeout: 60_000 }, () => {
  let directory: string;
  before(() => {
    directory = makeFastDirectory('faregate-loaded-');
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  async function loadedBy(args: readonly string[], isDone: (printed: string) => boolean): Promise<string[]> {
    const file = join(directory, 'loaded');
    const child = spawn(process.execPath, ['--import', RECORDER, MAIN, ...args], {
      env: { PATH: process.env.PATH, LOG_LEVEL: 'error', LOADED_FILE: file },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    for await (const text of child.stdout.setEncoding('utf8')) {
      printed += text;
      if (isDone(printed)) child.kill('SIGINT');
    }
    if (child.exitCode === null) await once(child, 'exit');
    return readFileSync(file, 'utf8').split('\n');
  }

  const of = (loaded: readonly string[], library: string): string[] =>
    loaded.filter((url) => url.includes(`/node_modules/${library}/`));

  test('for a gateway that serves has no library that calls do not need', async () => {
    const dataDir = join(directory, 'data');
    placeLocal(dataDir);
    const config = join(directory, 'faregate.yaml');
    writeFileSync(config, testConfigText('http://127.0.0.1:9'));
    const args = ['serve', '--config', config, '--data-dir', dataDir, '--port', '0'];
    const loaded = await loadedBy(args, (printed) => printed.includes('listening on'));
    assert.ok(of(loaded, 'fastify').length > 0);
    assert.ok(of(loaded, 'undici').length > 0);
    for (const library of LOADED_WHEN_NEEDED) assert.deepEqual(of(loaded, library), [], library);
  });

  test('for the version has no gateway', async () => {
    const loaded = await loadedBy(['--version'], () => false);
    assert.ok(of(loaded, 'commander').length > 0);
    for (const library of [...LOADED_WHEN_NEEDED, 'fastify', 'zod', 'undici', 'pg']) {
      assert.deepEqual(of(loaded, library), [], library);
    }
  });
});
