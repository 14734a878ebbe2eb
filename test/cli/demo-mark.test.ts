import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { runCommand, serveHere } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { placeLocal } from '../support/local-database.ts';
import { temporaryDirectory } from '../support/process.ts';

/** A configuration with an unused provider. */
const OWN_CONFIG = `
providers:
  acme: { protocol: chat, baseUrl: 'http://127.0.0.1:9/v1', apiKey: secret }
models:
  acme-large:
    operations: [chat]
    maxOutputTokens: '8192'
    price: { input: '4', output: '16' }
    routes: [{ provider: acme, model: acme-large-1 }]
`;

describe(`the demo and configurations of one's own`, () => {
  const directory = temporaryDirectory();
  const config = join(directory.path, 'own.yaml');
  const dataOf = (name: string): string => join(directory.path, name);
  const servers = new Map<string, TestDatabase>();

  /** The environment for a database of that name. */
  const environmentOf = (name: string): Record<string, string> => ({
    PORT: '0',
    FAREGATE_DEMO_DATA: 'none',
    FAREGATE_DATA_DIR: dataOf(name),
    DATABASE_URL: servers.get(name)!.url,
  });
  async function serve(name: string, flags: readonly string[]): Promise<void> {
    const gateway = await serveHere(flags, environmentOf(name));
    await gateway.stop();
  }
  async function refuses(name: string, flags: readonly string[], message: RegExp): Promise<void> {
    const { code, stderr } = await runCommand(['serve', ...flags], environmentOf(name));
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /^ +at /m, 'a stack is of no use to the reader');
  }
  const cli = (name: string, ...given: string[]) => runCommand(given, environmentOf(name));

  before(async () => {
    writeFileSync(config, OWN_CONFIG);
    for (const name of ['demo', 'own', 'empty', 'copy']) {
      mkdirSync(dataOf(name), { recursive: true });
      servers.set(name, await createTestDatabase());
    }
  });
  after(async () => {
    for (const stored of servers.values()) await stored.remove();
    directory.remove();
  });

  it('do not share a database that the demo has served', async () => {
    await serve('demo', []);
    await refuses(
      'demo',
      ['--config', config],
      /^This database is marked as demo: .* For this configuration, specify another/m,
    );
    const doctor = await runCommand(['--config', config, 'doctor', '--json'], environmentOf('demo'));
    const found = JSON.parse(doctor.stdout).find(({ check }: { check: string }) => check === 'demo');
    assert.equal(found?.state, 'failed', doctor.stdout);
    await serve('demo', []);
  });

  it('do not share a database that a configuration has served, nor one with accounts', async () => {
    await serve('empty', ['--config', config]);
    await refuses(
      'empty',
      [],
      /^This database does not belong to the demo: a gateway with another configuration has used it/m,
    );
    assert.equal((await cli('own', 'account', 'create', 'alice', '--balance', '5')).code, 0);
    await refuses(
      'own',
      [],
      /^This database does not belong to the demo: it has accounts .* Specify its configuration/m,
    );
    await serve('own', ['--config', config]);
  });

  it('do not share balances through an export', async () => {
    const file = join(directory.path, 'demo.jsonl');
    assert.equal((await cli('demo', 'db', 'export', file)).code, 0);
    const refused = await cli('empty', 'db', 'import', file);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^The file is a demo export, whose balances nobody has paid for/m);
    const done = await cli('copy', 'db', 'import', file);
    assert.equal(done.code, 0, done.stderr);
    await refuses('copy', ['--config', config], /^This database is marked as demo/m);
  });
});

describe('the demo', () => {
  const directory = temporaryDirectory();
  const before = process.cwd();
  beforeEach(() => process.chdir(directory.path));
  afterEach(() => process.chdir(before));
  after(() => directory.remove());

  it('is not used for a database of a configuration by a command without one', async () => {
    const { code, stderr } = await runCommand(['calls'], {});
    assert.equal(code, 5);
    assert.match(
      stderr,
      /There is no database in \.\/data\/demo.*\nNo configuration is named.*Name your configuration with --config\./,
    );
  });

  it('has a data directory of its own, in which a command without a configuration finds its gateway', async () => {
    placeLocal('data/demo');
    const demo = await serveHere([], { PORT: '0', FAREGATE_DEMO_DATA: 'none' });
    const calls = await runCommand(['calls', '--json'], {});
    assert.match(calls.stderr, /^database: local, in \.\/data\/demo, through the gateway on http/);
    await demo.stop();
  });
});
