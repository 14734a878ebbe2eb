import { findPreset, type Preset, presets } from '../config/presets.ts';
import { closestName } from '../config/suggest.ts';
import { UsageError } from './command.ts';

/** @throws UsageError that names the nearest vendor, and all of them. */
export function presetOf(name: string): Preset {
  const preset = findPreset(name);
  if (preset !== null) return preset;
  const names = presets.map((each) => each.name);
  const closest = closestName(name, names);
  throw new UsageError(
    `--provider: There is no vendor ${JSON.stringify(name)}.${closest === null ? '' : ` Did you mean ${closest}?`} Known are ${names.join(', ')}.`,
  );
}
