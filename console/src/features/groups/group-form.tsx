import { Fieldset, Group, NativeSelect, Stack } from '@mantine/core';
import { type Fields, fieldsOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import { EntryDialog, type EntryDialogProps, EntryName } from '../../parts/catalog/entry-dialog.tsx';
import { useFallbackFields } from '../../parts/catalog/fallback-fields.ts';
import { PriceFields } from '../../parts/catalog/price-fields.tsx';
import { GROUP_TABLES } from '../../parts/catalog/price-keys.ts';
import { groupPrices } from '../../parts/catalog/price-lists.ts';
import { type SettingField, SettingFields } from '../../parts/catalog/setting-fields.tsx';
import { catalogTexts } from '../../parts/catalog/texts.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { useEntry } from '../../parts/catalog/use-entry.ts';
import { DimmedText, SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { groupsTexts } from './texts.ts';

interface GroupDialogProps extends EntryDialogProps {
  /** `null`: a new group. */
  readonly id: string | null;
}

/** Members in the order of the text. */
const NEW_GROUP = {
  name: '',
  models: [],
  providers: [],
  priceFactorBasisPoints: '',
  fallbacks: [],
  fallbackOn: [],
  fallbackCharge: '',
  prices: {},
};

export function GroupDialog({ id, catalog, onClose }: GroupDialogProps) {
  const text = useTexts(groupsTexts);
  const words = useTexts(catalogTexts);
  const { models, providers } = catalog.value;
  const entry = useEntry(catalog, 'groups', id, NEW_GROUP);
  const fallbackFields = useFallbackFields(entry, 'group', allowedOf(entry.value.models, models));
  const limit = (name: string, label: string, kind: 'count' | 'yuan'): SettingField => ({
    setting: `limits.${name}`,
    label,
    kind,
    placeholder: text.noLimit,
  });
  return (
    <EntryDialog catalog={catalog} onClose={onClose} entry={entry} title={id === null ? text.add : text.editTitle(id)}>
      <Stack>
        <SettingFields
          entry={entry}
          fields={[
            { setting: 'name', label: words.displayName, isRequired: true },
            { setting: 'priceFactorBasisPoints', label: text.factor, description: text.factorHint, kind: 'percent' },
            {
              setting: 'models',
              label: text.models,
              placeholder: text.allModels,
              kind: 'names',
              options: Object.keys(models),
            },
            {
              setting: 'providers',
              label: text.providers,
              placeholder: text.allProviders,
              kind: 'names',
              options: Object.keys(providers),
            },
            ...fallbackFields,
          ]}
        >
          <EntryName entry={entry} label={words.id} hint={words.idHint} />
        </SettingFields>
        <GroupPrices
          prices={fieldsOf(entry.value.prices)}
          onChange={(prices) => entry.change({ prices })}
          models={models}
        />
        <Fieldset legend={text.limits}>
          <SettingFields
            entry={entry}
            columns={3}
            fields={[
              limit('requestsPerMinute', text.requestsPerMinute, 'count'),
              limit('tokensPerMinute', text.tokensPerMinute, 'count'),
              limit('dailySpendCapYuan', text.dailySpendCap, 'yuan'),
            ]}
          />
        </Fieldset>
      </Stack>
    </EntryDialog>
  );
}

/** The models that a group may use. An empty list is every model. */
function allowedOf(listed: unknown, models: Catalog['value']['models']): readonly string[] {
  const allowed = textsOf(listed);
  return allowed.length === 0 ? Object.keys(models) : allowed;
}

interface GroupPricesProps {
  /** By model. */
  readonly prices: Fields;
  readonly onChange: (prices: Fields) => void;
  readonly models: Catalog['value']['models'];
}

function GroupPrices({ prices, onChange, models }: GroupPricesProps) {
  const text = useTexts(groupsTexts);
  const priced = Object.entries(prices).filter(([, list]) => list !== undefined);
  return (
    <Fieldset legend={text.prices}>
      <Stack gap="md">
        <DimmedText>{text.pricesHint}</DimmedText>
        {priced.map(([model, list]) => (
          <Fieldset key={model} legend={text.pricesOf(model)}>
            <PriceFields
              list={fieldsOf(list)}
              onChange={(next) => onChange({ ...prices, [model]: next })}
              tables={GROUP_TABLES}
            />
            <Group justify="flex-end" mt="xs">
              <SmallButton
                aria-label={text.removePrices(model)}
                onClick={() => onChange({ ...prices, [model]: undefined })}
              >
                {text.remove}
              </SmallButton>
            </Group>
          </Fieldset>
        ))}
        <NativeSelect
          label={text.addPrices}
          value=""
          onChange={({ currentTarget: { value } }) =>
            onChange({ ...prices, [value]: groupPrices(fieldsOf(models[value]?.price)) })
          }
          data={['', ...Object.keys(models).filter((model) => prices[model] === undefined)]}
          maw={320}
        />
      </Stack>
    </Fieldset>
  );
}
