import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { assertReviewed } from '../people/reviewed-sentences.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

describe('a catalog in the configuration file', { timeout: 120_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ catalog: 'file' });
  });
  after(() => g.stop());

  const revisions = async () => (await g.admin('GET', '/catalog/revisions')).body.data;
  const changes = async (action: string) => (await g.admin('GET', `/changes?action=${action}`)).body.data;
  const rewrite = (from: string, to: string): void => {
    const text = readFileSync(g.configFile, 'utf8');
    assert.ok(text.includes(from));
    writeFileSync(g.configFile, text.replace(from, to));
  };
  const reload = async () => (await g.admin('POST', '/config/reload')).body;

  it('is recorded as a revision at the start, without secrets', async () => {
    await until(async () => (await revisions()).length === 1);
    const [{ number, source, inForceAt, createdAt }] = await revisions();
    assert.deepEqual([number, source, inForceAt], [1, 'file', createdAt]);
    const { body } = await g.admin('GET', '/catalog/revisions/1');
    assert.match(body.text, /^models:$/m);
    assert.doesNotMatch(body.text, /provider-secret-key|^server:/m);
    assert.deepEqual(
      body.difference.find(
        ({ name, setting }: { name: string; setting: unknown }) => name === 'test-chat' && setting === null,
      )?.text,
      'test-chat: model added',
    );
    const catalog = (await g.admin('GET', '/catalog')).body;
    assert.deepEqual([catalog.mode, catalog.inForce.number, catalog.base], ['file', 1, null]);
    assert.equal(catalog.text, body.text);
  });

  it('is recorded again when a reload changes it, and the audit log says what changed', async () => {
    rewrite('input: "3"', 'input: "4"');
    const reloaded = await reload();
    assert.equal(reloaded.lastError, null);
    await until(async () => (await revisions()).length === 2);
    assert.deepEqual((await revisions())[0].base, 1);
    const [{ after: recorded, sentence }] = await changes('config.reload').then((found) =>
      found.filter(({ actor }: { actor: { kind: string } }) => actor.kind === 'configuration'),
    );
    assert.deepEqual(recorded.changes, ['test-chat: input ¥3 → ¥4']);
    assert.equal(sentence.en, 'reloaded the configuration: test-chat: input ¥3 → ¥4');
    const { body } = await g.admin('GET', '/catalog/difference?from=1&to=2');
    assert.equal(body.changes.length, 1);
  });

  it('is not recorded again when other settings change', async () => {
    rewrite('breaker: { failures: 1000000 }', 'breaker: { failures: 999999 }');
    assert.equal((await reload()).lastError, null);
    const sentences = async () =>
      (await changes('config.reload')).map(({ sentence }: { sentence: { en: string } }) => sentence.en);
    await until(async () => (await sentences()).includes('reloaded the configuration: routing changed'));
    assert.equal((await revisions()).length, 2);
  });

  it('records a refused file once, without a secret', async () => {
    rewrite('provider-secret-key-1,', 'provider-secret-key-1, nonsense: 1,');
    const refused = await reload();
    assert.match(refused.lastError.message, /providers\.chatty\.nonsense/);
    await reload();
    await until(async () => (await changes('config.refused')).length > 0);
    const found = await changes('config.refused');
    assert.equal(found.length, 1);
    assert.match(found[0].after.message, /providers\.chatty\.nonsense/);
    assert.doesNotMatch(JSON.stringify(found), /provider-secret-key/);
    assertReviewed('configuration refused', found[0].sentence);
    const asked = (await changes('config.reload')).find(
      ({ actor }: { actor: { kind: string } }) => actor.kind === 'admin_token',
    );
    assertReviewed('admin POST /config/reload', asked.sentence);
    assert.equal(asked.subject.kind, 'node');
    rewrite(' nonsense: 1,', '');
    assert.equal((await reload()).lastError, null);
  });

  it('cannot be changed through the admin API', async () => {
    for (const [method, path, body] of [
      ['POST', '/catalog/revisions', { base: null, text: '' }],
      ['POST', '/catalog/revisions/1/rollback', {}],
      ['DELETE', '/catalog/revisions/1', undefined],
    ] as const) {
      const refused = await g.admin(method, path, body);
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'catalog_is_file']);
    }
  });

  it('keeps its models until the restart that moves it to the database', async () => {
    const text = readFileSync(g.configFile, 'utf8');
    writeFileSync(g.configFile, 'catalog: database\n');
    const moved = await reload();
    assert.deepEqual([moved.lastError, moved.needsRestart.includes('catalog')], [null, true]);
    assert.ok(Object.keys((await g.admin('GET', '/config')).body.config.models).includes('test-chat'));
    assert.match((await g.admin('GET', '/catalog')).body.text, /test-chat/);
    writeFileSync(g.configFile, text);
    assert.deepEqual((await reload()).needsRestart, []);
  });
});
