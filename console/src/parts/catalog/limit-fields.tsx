import { useTexts } from '../../text/language.tsx';
import { limitFieldTexts } from './limit-field-texts.ts';
import { type SettingField, SettingFields } from './setting-fields.tsx';
import type { Entry } from './use-entry.ts';

interface LimitFieldsProps {
  readonly entry: Pick<Entry, 'value' | 'replace'>;
  readonly of: 'provider' | 'route';
}

/** The limits of a provider or a route. */
export function LimitFields({ entry, of }: LimitFieldsProps) {
  const text = useTexts(limitFieldTexts);
  const limit = (name: keyof typeof text.names, kind: 'count' | 'yuan', description?: string): SettingField => ({
    setting: `limits.${name}`,
    label: text.names[name],
    kind,
    placeholder: text.none,
    ...(description !== undefined && { description }),
  });
  return (
    <SettingFields
      entry={entry}
      fields={[
        limit('requestsPerMinute', 'count', text.passedOver[of]),
        limit('tokensPerMinute', 'count', text.tokensHint),
        limit('concurrentCalls', 'count', text.callsHint),
        limit('dailyCostYuan', 'yuan', text.costHint),
        limit('monthlyCostYuan', 'yuan', text.costHint),
        ...(of === 'provider'
          ? ([
              {
                setting: 'vendorLimits',
                label: text.vendorLimits,
                description: text.vendorLimitsHint,
                kind: 'choice',
                options: (['ignore', 'follow'] as const).map((value) => ({ value, label: text.vendor[value] })),
              },
            ] as const)
          : []),
      ]}
    />
  );
}
