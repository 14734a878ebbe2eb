import { findPreset, type Preset, presets } from '../config/presets.ts';
import { didYouMean } from '../config/suggest.ts';
import { UsageError } from './command.ts';

/** Returns the preset of a vendor. @throws UsageError with the most similar vendor and all known ones */
export function presetOf(name: string): Preset {
  const preset = findPreset(name);
  if (preset === null) throw new UsageError(unknownVendor('--provider', name));
  return preset;
}

/** Returns the message for a name that is neither a known vendor nor a configured provider. */
export function unknownVendor(option: string, name: string, configured: readonly string[] = []): string {
  const names = presets.map((each) => each.name);
  const meant = didYouMean(name, [...configured, ...names]);
  const own = configured.length === 0 ? '' : ` The configuration has ${configured.join(', ')}.`;
  return `${option}: There is no vendor ${JSON.stringify(name)}.${meant}${own} Known are ${names.join(', ')}.`;
}
