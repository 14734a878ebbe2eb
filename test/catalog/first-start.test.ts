import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand, type ServedHere, serveHere } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { chatResponse, json, type ScriptedProvider, startProvider } from '../support/provider.ts';

const NODE = 'catalog: database\ninitialCatalog: first.yaml\n';

const directory = temporaryDirectory();
after(() => directory.remove());

describe('the catalog of a new installation', { timeout: 240_000 }, () => {
  const file = join(directory.path, 'faregate.yaml');
  const initial = join(directory.path, 'first.yaml');
  const priceFile = join(directory.path, 'prices.json');
  let stored: TestDatabase;
  let provider: ScriptedProvider;
  let environment: Record<string, string>;
  let gateway: ServedHere | null = null;

  const catalog = (apiKey = '"${ACME_KEY}"', output = '2'): string => `
providers:
  acme: { protocol: chat, baseUrl: "${provider.url}/v1", apiKey: ${apiKey} }
models:
  large: { operations: [chat], price: { input: "1", output: "${output}" }, routes: [{ provider: acme, model: m }] }
`;
  const run = (...given: string[]) => runCommand(given, environment);
  const served = (...given: string[]) => run('--gateway', gateway!.url, ...given);
  const outputPrice = async (): Promise<string> =>
    JSON.parse((await served('config', '--json')).stdout).config.models.large.price.output;
  const stop = async (): Promise<void> => {
    await gateway?.stop();
    gateway = null;
  };

  before(async () => {
    [stored, provider] = [await createTestDatabase(), await startProvider()];
    // `doctor` sends HEAD.
    provider.respond = (...exchange) => (exchange[0].method === 'HEAD' ? json(200, {}) : chatResponse())(...exchange);
    environment = {
      FAREGATE_DATA_DIR: join(directory.path, 'data'),
      FAREGATE_CONFIG: file,
      DATABASE_URL: stored.url,
      ACME_KEY: 'a-provider-key-of-acme',
      FAREGATE_ADMIN_TOKEN: 'an-admin-token-of-a-test',
      PORT: '0',
    };
    writeFileSync(file, NODE);
  });
  after(async () => {
    await stop();
    await provider.close();
    await stored.remove();
  });

  it('must be valid and without secrets, which the check says before the first start', async () => {
    for (const [text, message] of [
      [
        catalog('"sk-literal-secret-key"'),
        /first\.yaml:3: providers\.acme\.apiKey: A revision cannot contain a secret/,
      ],
      [catalog().replace('operations', 'operation'), /first\.yaml:5: models\.large\.operation: Unknown key/],
      [`${catalog()}server: {}\n`, /first\.yaml:6: server: This section is not part of the catalog/],
    ] as const) {
      writeFileSync(initial, text);
      for (const command of ['check', 'serve']) {
        const { code, stderr } = await run(command);
        assert.equal(code, 1);
        assert.match(stderr, message);
        assert.doesNotMatch(stderr, /sk-literal/);
      }
    }
    rmSync(initial);
    const missing = await run('serve');
    assert.deepEqual([missing.code, /first\.yaml/.test(missing.stderr)], [1, true]);
  });

  it('is known to commands before the first start', async () => {
    writeFileSync(initial, catalog());
    const { stdout } = await run('check');
    assert.match(stdout, /models +large/);
    const tested = await run('provider', 'test', 'acme');
    assert.equal(tested.code, 0, tested.stderr);
  });

  it('is the first revision after the first start, and a later change of the file has no effect', async () => {
    gateway = await serveHere([], environment);
    assert.equal(await outputPrice(), '2');
    const history = JSON.parse((await served('catalog', 'history', '--json')).stdout);
    assert.deepEqual(
      history.map(({ number, reason }: Record<string, unknown>) => [number, reason]),
      [[1, 'the content of first.yaml']],
    );
    await stop();
    writeFileSync(initial, 'providers: of another kind\n');
    gateway = await serveHere([], environment);
    assert.equal(await outputPrice(), '2');
    assert.equal(JSON.parse((await served('catalog', 'history', '--json')).stdout).length, 1);
  });

  it('is read from the database by commands that call providers, also without a running gateway', async () => {
    const draft = join(directory.path, 'draft.yaml');
    writeFileSync(draft, catalog().replaceAll('acme', 'renamed').replace('ACME_KEY', 'RENAMED_KEY'));
    environment.RENAMED_KEY = 'a-provider-key-of-acme';
    await stop();
    assert.equal((await run('catalog', 'push', draft)).code, 0);
    writeFileSync(priceFile, JSON.stringify({ data: [{ id: 'a-model' }] }));
    // A pushed revision is in force after three seconds.
    for (;;) {
      const doctor = JSON.parse((await run('doctor', '--json')).stdout) as { check: string; state: string }[];
      if (doctor.some(({ check }) => check === 'provider acme')) continue;
      assert.equal(doctor.find(({ check }) => check === 'provider renamed')?.state, 'ok');
      break;
    }
    const tested = await run('provider', 'test', 'renamed', 'large');
    assert.equal(tested.code, 0, tested.stderr);
    assert.match(tested.stdout, /large as m/);
    assert.match((await run('provider', 'test', 'acme')).stderr, /There is no provider "acme"\. Known: renamed\./);
    const options = ['--provider', 'renamed', '--vendor', 'openrouter', '--usd-cny', '7'];
    const imported = await run('models', 'import', priceFile, ...options);
    assert.equal(imported.code, 0, imported.stderr);
  });

  it('is not overwritten by the file of a second node, unless an operator says so', async () => {
    gateway = await serveHere([], environment);
    const second = join(directory.path, 'second.yaml');
    const text = `server: { port: 0 }\n${catalog('"${RENAMED_KEY}"', '7').replaceAll('acme', 'renamed')}`;
    writeFileSync(second, text);
    const use = (...given: string[]) =>
      runCommand(['catalog', 'use', 'database', ...given], {
        ...environment,
        FAREGATE_CONFIG: second,
        FAREGATE_DATA_DIR: join(directory.path, 'second'),
      });
    const refused = await use();
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /revision 2\..*\nlarge: output ¥2 → ¥7\n.*--adopt.*\n.*--replace/);
    assert.equal(readFileSync(second, 'utf8'), text);
    assert.equal(await outputPrice(), '2');

    const adopted = await use('--adopt');
    assert.match(adopted.stdout, /is revision 2 of the database/, adopted.stderr);
    assert.equal(readFileSync(second, 'utf8'), 'server: { port: 0 }\ncatalog: database\n');
    assert.equal(await outputPrice(), '2');

    writeFileSync(second, text);
    assert.match((await use('--replace', '--reason', 'the second is right')).stdout, /is revision 3 of the database/);
    // The gateway applies it a moment later than the command ends.
    while ((await outputPrice()) === '2');
    assert.equal(await outputPrice(), '7');
    writeFileSync(second, text);
    assert.match((await use()).stdout, /is revision 3 of the database/);
  });
});
