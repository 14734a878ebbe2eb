import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from './load.ts';
import { findPreset, presetConfig, presets } from './presets.ts';

describe('the presets of vendors', () => {
  for (const preset of presets) {
    it(`${preset.name} makes a configuration that is valid once its key is set`, () => {
      const config = parseConfig(presetConfig(preset), 'faregate.yaml', { [preset.keyVariable]: 'a-key' });
      assert.deepEqual(
        Object.keys(config.providers),
        preset.providers.map(({ name }) => name),
      );
      assert.equal(findPreset(preset.name), preset);
    });
  }

  it('have names of their own, also of their providers', () => {
    const names = presets.flatMap(({ name, providers }) => [name, ...providers.slice(1).map((each) => each.name)]);
    assert.equal(new Set(names).size, names.length);
  });
});
