import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { secretsIn } from './catalog-text.ts';
import { ConfigError, parseConfig } from './load.ts';
import { configTemplate, templates } from './template.ts';

const KEYS = { ACME_API_KEY: 'acme-key', OTHER_API_KEY: 'other-key' };

/** The template with every commented setting uncommented. */
const everything = configTemplate.replace(/^( *)#(?=\S)/gm, '$1');

describe('configTemplate', () => {
  it('is valid once its environment variables are set', () => {
    const config = parseConfig(configTemplate, 'faregate.yaml', KEYS);
    assert.deepEqual(
      Object.values(config.providers).map(({ protocol, apiKey }) => [protocol, apiKey]),
      [
        ['chat', 'acme-key'],
        ['messages', 'other-key'],
      ],
    );
    assert.equal(config.database.url, '');
    assert.deepEqual(Object.keys(config.models), ['acme-large', 'acme-small', 'other-pro']);
    assert.deepEqual(Object.keys(config.plans), ['coding-pro']);
  });

  it('reports environment variables that are not set', () => {
    assert.throws(
      () => parseConfig(configTemplate, 'faregate.yaml', {}),
      (error) =>
        error instanceof ConfigError &&
        error.problems.map(({ key }) => key).join() === 'providers.acme.apiKey,providers.other.apiKey',
    );
  });

  it('is valid with every setting uncommented', () => {
    const config = parseConfig(everything, 'faregate.yaml', KEYS);
    assert.notEqual(config.models['acme-large']?.price.timeOfDay, undefined);
  });

  it('comments contain the defaults', () => {
    const asWritten = parseConfig(configTemplate, 'faregate.yaml', KEYS);
    const switchedOn = parseConfig(everything, 'faregate.yaml', KEYS);
    assert.deepEqual(switchedOn.server, asWritten.server);
    assert.deepEqual(switchedOn.billing, asWritten.billing);
    assert.deepEqual(
      { ...switchedOn.providers.other, auth: undefined },
      { ...asWritten.providers.other, auth: undefined },
    );
  });

  it('has the same settings if the catalog is in the database', () => {
    const { node, catalog } = templates('first.yaml');
    const text = { name: 'first.yaml', text: catalog };
    const inDatabase = parseConfig(node, 'faregate.yaml', KEYS, { catalog: text });
    const { initialCatalog, ...others } = inDatabase;
    assert.equal(initialCatalog, 'first.yaml');
    assert.deepEqual({ ...others, catalog: 'file' }, parseConfig(configTemplate, 'faregate.yaml', KEYS));
    assert.deepEqual(secretsIn(catalog), []);
  });

  it('has no line wider than a terminal', () => {
    const { node, catalog } = templates('first.yaml');
    for (const line of `${configTemplate}${node}${catalog}`.split('\n')) assert(line.length <= 120, line);
  });
});
