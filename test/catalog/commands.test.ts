import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { runCommand, type ServedHere, serveHere } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { until } from '../support/until.ts';

const CONFIG = `# The gateway of Acme.
server: { drainDelay: 1h }  # slow

# Whom we buy from.
providers:
  acme: { protocol: chat, baseUrl: "http://127.0.0.1:9/v1", apiKey: "\${ACME_KEY}" }

models:
  # The best one.
  large: { operations: [chat], price: { input: "1", output: "2" }, routes: [{ provider: acme, model: m }] }
`;

const directory = temporaryDirectory();
after(() => directory.remove());

describe('faregate catalog', { timeout: 240_000 }, () => {
  const file = join(directory.path, 'faregate.yaml');
  const draft = join(directory.path, 'catalog.yaml');
  let stored: TestDatabase;
  let environment: Record<string, string>;
  let gateway: ServedHere | null = null;

  before(async () => {
    stored = await createTestDatabase();
    writeFileSync(file, CONFIG);
    environment = {
      FAREGATE_DATA_DIR: join(directory.path, 'data'),
      FAREGATE_CONFIG: file,
      DATABASE_URL: stored.url,
      ACME_KEY: 'a-provider-key-of-acme',
      FAREGATE_ADMIN_TOKEN: 'an-admin-token-of-a-test',
      PORT: '0',
    };
  });
  after(async () => {
    await gateway?.stop();
    await stored.remove();
  });

  const run = (...given: string[]) =>
    runCommand(gateway === null ? given : ['--gateway', gateway.url, ...given], environment);
  async function printed(...given: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...given);
    assert.equal(code, 0, stderr);
    return stdout;
  }
  async function refused(exitCode: number, ...given: string[]): Promise<string> {
    const { code, stderr } = await run(...given);
    assert.equal(code, exitCode, stderr);
    return stderr;
  }
  async function restart(): Promise<void> {
    await gateway?.stop();
    gateway = await serveHere([], environment);
  }
  const models = async (): Promise<string[]> =>
    Object.keys(JSON.parse(await printed('config', '--json')).config.models);

  it('moves the catalog of a file to the database by one command', async () => {
    await restart();
    assert.match(await refused(4, 'catalog', 'push', file), /catalog use database/);
    assert.match(
      await printed('catalog', 'use', 'database', '--reason', 'moved'),
      /is revision \d+ of the database\. Restart/,
    );
    assert.equal(
      readFileSync(file, 'utf8'),
      '# The gateway of Acme.\nserver: { drainDelay: 1h }  # slow\ncatalog: database\n',
    );
    assert.deepEqual(await models(), ['large']);
    await restart();
    await until(async () => (await models()).length === 1);
    assert.match(await printed('catalog', 'show'), /^# Whom we buy from\.\nproviders:\n/);
    assert.match(await printed('check'), /catalog +in the database/);
    assert.match(await refused(1, 'catalog', 'use', 'database'), /already/);
  });

  it('exports a whole file, and a push of that changes nothing', async () => {
    const whole = join(directory.path, 'whole.yaml');
    await printed('catalog', 'export', whole);
    const exported = loadConfig(whole, environment);
    writeFileSync(join(directory.path, 'original.yaml'), CONFIG);
    assert.deepEqual(exported, loadConfig(join(directory.path, 'original.yaml'), environment));
    assert.match(await printed('catalog', 'push', whole), /^Nothing to push/);
  });

  it('pushes, compares, rolls back and cancels', async () => {
    const first = Number(JSON.parse(await printed('catalog', 'history', '--json'))[0].number);
    const text = await printed('catalog', 'show');
    writeFileSync(draft, text.replace('output: "2"', 'output: "3"'));
    const dry = await printed('catalog', 'push', draft, '--dry-run');
    assert.match(dry, /^large: output ¥2 → ¥3\nlarge: 10,000 input and 1,000 output tokens cost ¥0\.013$/m);
    assert.match(
      await printed('catalog', 'push', draft, '--reason', 'dearer'),
      new RegExp(`^Revision ${first + 1}, in force from .*\\nlarge: output ¥2 → ¥3\\n$`),
    );
    assert.equal(await printed('catalog', 'diff', String(first)), 'large: output ¥2 → ¥3\n');
    assert.match(await refused(4, 'catalog', 'push', draft, '--base', String(first)), /has changed since revision/);
    writeFileSync(draft, text.replace('output: "2"', 'output: "-3"'));
    assert.match(await refused(1, 'catalog', 'push', draft), /^line \d+: models\.large\.price\.output: /m);
    const { code, stdout } = await run('catalog', 'push', draft, '--dry-run');
    assert.deepEqual([code, /models\.large\.price\.output/.test(stdout)], [1, true]);
    assert.match(await printed('catalog', 'rollback', String(first)), /large: output ¥3 → ¥2/);
    writeFileSync(draft, text.replace('output: "2"', 'output: "4"'));
    await printed('catalog', 'push', draft, '--at', '2999-01-01');
    assert.match(await refused(1, 'catalog', 'use', 'file'), /is scheduled/);
    assert.equal(await printed('catalog', 'cancel', String(first + 3)), `Canceled revision ${first + 3}.\n`);
    const history = await printed('catalog', 'history');
    assert.match(history, /dearer/);
    assert.equal(history.trim().split('\n').length, first + 4);
  });

  it('saves, applies and discards drafts', async () => {
    const text = await printed('catalog', 'show');
    writeFileSync(draft, text.replace('output: "2"', 'output: "5"'));
    const saved = await printed('catalog', 'push', draft, '--draft', '--reason', 'to discuss');
    const [, number] =
      /^Draft (\d+)\. Put it in force with "faregate catalog apply \1"\.\nlarge: output ¥2 → ¥5\n$/.exec(saved)!;
    assert.equal(await printed('catalog', 'show'), text);
    assert.match(await printed('catalog', 'history'), new RegExp(`^ *${number} +push .*draft.*to discuss`, 'm'));
    assert.equal(await printed('catalog', 'cancel', number!), `Discarded draft ${number}.\n`);
    assert.match(await refused(4, 'catalog', 'apply', number!), /already canceled/);
    await printed('catalog', 'push', draft, '--draft');
    assert.match(
      await printed('catalog', 'apply', String(Number(number) + 1)),
      /in force from .*\nlarge: output ¥2 → ¥5\n$/,
    );
    writeFileSync(draft, text);
    await printed('catalog', 'push', draft);
    assert.match(await refused(4, 'models', 'follow'), /has no price source/);
  });

  it('follows prices of a file, and reports what does not', async () => {
    const prices = join(directory.path, 'prices.json');
    const entry = { litellm_provider: 'acme', mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 3e-6 };
    writeFileSync(prices, JSON.stringify({ m: entry }));
    const source = `priceSource: { file: "${prices}", usdCny: "1", names: { large: acme/m } }\n`;
    writeFileSync(draft, `${await printed('catalog', 'show')}\n${source}`);
    await printed('catalog', 'push', draft);
    await until(async () => (await run('models', 'follow')).code === 0);
    assert.match(
      await printed('models', 'follow'),
      /are draft \d+\. Put it in force .*\nlarge: output ¥2 → ¥3\nlarge: 10,000/,
    );
    writeFileSync(prices, 'no JSON');
    const { code, stdout } = await run('models', 'follow');
    assert.deepEqual([code, stdout], [1, 'The source cannot be used, and the prices stay: The source is not JSON.\n']);
  });

  it('works without a running gateway, and with credentials that only the gateway has', async () => {
    await gateway!.stop();
    gateway = null;
    const { ACME_KEY: _, ...others } = environment;
    const text = (await runCommand(['catalog', 'show'], others)).stdout;
    writeFileSync(draft, text.replace('output: "2"', 'output: "5"'));
    const pushed = await runCommand(['catalog', 'push', draft], others);
    assert.match(pushed.stdout, /large: output ¥2 → ¥5/, pushed.stderr);
    await until(async () => (await printed('catalog', 'show')).includes('output: "5"'));
    assert.deepEqual(await models(), ['large']);
  });

  it('moves the catalog back to the file by one command', async () => {
    await printed('catalog', 'use', 'file');
    const config = loadConfig(file, environment);
    assert.deepEqual([config.catalog, config.models.large?.price.output], ['file', 5_000_000_000n]);
    assert.match(readFileSync(file, 'utf8'), /# The best one\.\n/);
    await restart();
    assert.deepEqual(await models(), ['large']);
  });

  it('reads the file again on request', async () => {
    assert.match(await printed('reload'), /is in force\.\n$/);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('operations: [chat]', 'operations: [chatter]'));
    const { code, stdout } = await run('reload');
    assert.deepEqual([code, /is not in force: .*operations/s.test(stdout)], [1, true]);
    writeFileSync(file, text);
    await printed('reload');
  });
});
