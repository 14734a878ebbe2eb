import { Stack } from '@mantine/core';
import { textsOf } from '../../parts/catalog/catalog-value.ts';
import { EntryDialog, type EntryDialogProps, EntryName } from '../../parts/catalog/entry-dialog.tsx';
import { type SettingField, SettingFields } from '../../parts/catalog/setting-fields.tsx';
import { catalogTexts } from '../../parts/catalog/texts.ts';
import { useEntry } from '../../parts/catalog/use-entry.ts';
import { useTexts } from '../../text/language.tsx';
import { plansTexts } from './offered-texts.ts';
import { planTexts } from './texts.ts';

interface PlanDialogProps extends EntryDialogProps {
  /** `null`: a new plan. */
  readonly id: string | null;
}

/** Members in the order of the text. */
const NEW_PLAN = { name: '', fiveHourCalls: '', weeklyCalls: '', concurrency: '', quotaTokens: '', periodDays: '' };

export function PlanDialog({ id, catalog, onClose }: PlanDialogProps) {
  const text = useTexts(plansTexts);
  const words = useTexts(catalogTexts);
  const terms = useTexts(planTexts);
  const entry = useEntry(catalog, 'plans', id, NEW_PLAN);
  const count = (setting: string, label: string): SettingField => ({ setting, label, kind: 'count', isRequired: true });
  return (
    <EntryDialog
      catalog={catalog}
      onClose={onClose}
      entry={entry}
      title={id === null ? text.add : text.editTitle(id)}
      problem={() => (textsOf(entry.value.models).length === 0 ? text.modelNeeded : null)}
      size="lg"
    >
      <Stack>
        <SettingFields entry={entry} fields={[{ setting: 'name', label: words.displayName, isRequired: true }]}>
          <EntryName entry={entry} label={words.id} hint={words.idHint} />
        </SettingFields>
        <SettingFields
          entry={entry}
          columns={1}
          fields={[
            {
              setting: 'models',
              label: terms.models,
              kind: 'names',
              options: Object.keys(catalog.value.models),
              isRequired: true,
            },
          ]}
        />
        <SettingFields
          entry={entry}
          fields={[
            count('fiveHourCalls', terms.fiveHourCalls),
            count('weeklyCalls', terms.weeklyCalls),
            count('concurrency', terms.concurrency),
            count('quotaTokens', terms.quotaTokens),
            count('periodDays', text.periodDays),
            { setting: 'priceYuan', label: text.price, kind: 'yuan' },
            {
              setting: 'inputByteLimit',
              label: terms.inputLimit,
              description: text.inputHint,
              kind: 'number',
              isRequired: true,
            },
            { ...count('outputTokenLimit', terms.outputLimit), description: text.outputHint },
          ]}
        />
      </Stack>
    </EntryDialog>
  );
}
