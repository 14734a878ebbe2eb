import { useTexts } from '../../text/language.tsx';
import { textsOf } from './catalog-value.ts';
import { fallbackTexts } from './fallback-texts.ts';
import type { SettingField } from './setting-fields.tsx';
import type { Entry } from './use-entry.ts';

/** The fields of a model or a group about other models. Details appear once there is a fallback. */
export function useFallbackFields(
  { value }: Pick<Entry, 'value'>,
  of: 'model' | 'group',
  models: readonly string[],
): readonly SettingField[] {
  const text = useTexts(fallbackTexts);
  const fallbacks: SettingField = {
    setting: 'fallbacks',
    label: text.fallbacks,
    description: text.hints[of],
    kind: 'names',
    options: models,
  };
  if (textsOf(value.fallbacks).length === 0) return [fallbacks];
  return [
    fallbacks,
    {
      setting: 'fallbackOn',
      label: text.fallbackOn,
      kind: 'names',
      options: REASONS.map((reason) => ({ value: reason, label: text.reasons[reason] })),
      placeholder: text.reasons.unavailable,
    },
    {
      setting: 'fallbackCharge',
      label: text.fallbackCharge,
      kind: 'choice',
      options: CHARGES.map((charge) => ({ value: charge, label: text.charges[charge] })),
    },
  ];
}

const REASONS = ['unavailable', 'context', 'filter'] as const;
const CHARGES = ['served', 'asked'] as const;
