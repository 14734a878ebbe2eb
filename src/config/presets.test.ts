import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { upstreamHeaders } from '../providers/upstream/headers.ts';
import { createProvider } from '../providers/upstream/provider.ts';
import { parseConfig } from './load.ts';
import { presetConfig, presetFiles } from './preset-files.ts';
import { credentialHeader, findPreset, presets } from './presets.ts';

describe('the presets of vendors', () => {
  for (const preset of presets) {
    it(`${preset.name} writes a valid configuration`, () => {
      const config = parseConfig(presetConfig(preset), 'faregate.yaml', { [preset.keyVariable]: 'a-key' });
      assert.deepEqual(
        Object.keys(config.providers),
        preset.providers.map(({ name }) => name),
      );
      assert.equal(findPreset(preset.name), preset);
      const { node, catalog } = presetFiles(preset, 'first.yaml');
      const { initialCatalog, ...inDatabase } = parseConfig(
        node,
        'faregate.yaml',
        { [preset.keyVariable]: 'a-key' },
        { catalog: { name: 'first.yaml', text: catalog } },
      );
      assert.deepEqual({ ...inDatabase, catalog: 'file' }, config);
    });

    it(`${preset.name} gets its credential in the expected header, and Anthropic’s headers for messages`, () => {
      const config = parseConfig(presetConfig(preset), 'faregate.yaml', { [preset.keyVariable]: 'a-key' });
      for (const provider of preset.providers) {
        const { authorization, ...headers } = upstreamHeaders(
          createProvider(provider.name, config.providers[provider.name]!),
          'a-key',
          { 'anthropic-beta': 'a-beta' },
          ['served-as'],
          { isStream: false, contentType: 'application/json' },
        );
        const keyHeader = headers['x-api-key'] ?? headers['api-key'];
        const sent = authorization === undefined ? keyHeader : `authorization: ${authorization}`;
        assert.equal(sent, authorization === undefined ? 'a-key' : `${credentialHeader(provider)} a-key`);
        assert.equal(headers['x-api-key'] === undefined, credentialHeader(provider) !== 'x-api-key');
        const speaksMessages = provider.protocol === 'messages';
        assert.equal(headers['anthropic-version'] !== undefined, speaksMessages);
        assert.equal(headers['anthropic-beta'], speaksMessages ? 'a-beta' : undefined);
      }
    });
  }

  it('have unique names, and unique provider names', () => {
    const names = presets.flatMap(({ name, providers }) => [name, ...providers.slice(1).map((each) => each.name)]);
    assert.equal(new Set(names).size, names.length);
  });
});
