import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, parseConfig } from './load.ts';
import { configTemplate } from './template.ts';

const KEYS = { ACME_API_KEY: 'acme-key', OTHER_API_KEY: 'other-key' };

/** The template with every setting that is commented out switched on. */
const everything = configTemplate.replace(/^( *)#(?=\S)/gm, '$1');

describe('the template of a configuration', () => {
  it('is valid as it is written, once the keys that it names are set', () => {
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

  it('reports what is missing if the keys are not set', () => {
    assert.throws(
      () => parseConfig(configTemplate, 'faregate.yaml', {}),
      (error) =>
        error instanceof ConfigError &&
        error.problems.map(({ key }) => key).join() === 'providers.acme.apiKey,providers.other.apiKey',
    );
  });

  it('is valid with every setting that it shows switched on', () => {
    const config = parseConfig(everything, 'faregate.yaml', KEYS);
    assert.notEqual(config.models['acme-large']?.price.timeOfDay, undefined);
  });

  it('shows the defaults, so that switching a setting on changes nothing', () => {
    const asWritten = parseConfig(configTemplate, 'faregate.yaml', KEYS);
    const switchedOn = parseConfig(everything, 'faregate.yaml', KEYS);
    assert.deepEqual(switchedOn.server, asWritten.server);
    assert.deepEqual(switchedOn.billing, asWritten.billing);
    assert.deepEqual(
      { ...switchedOn.providers.other, auth: undefined },
      { ...asWritten.providers.other, auth: undefined },
    );
  });

  it('has no line that is too wide for a terminal', () => {
    for (const line of configTemplate.split('\n')) assert(line.length <= 120, line);
  });
});
