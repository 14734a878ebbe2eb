import { Fieldset, Group, MultiSelect, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { CatalogDialog } from '../../parts/catalog/catalog-dialog.tsx';
import { fieldsOf } from '../../parts/catalog/catalog-value.ts';
import { PriceFields } from '../../parts/catalog/price-fields.tsx';
import { type PriceDraft, priceDraft } from '../../parts/catalog/price-lists.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { CountField, YuanField } from '../../parts/forms/number-fields.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { DimmedText, SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { groupDraft, groupEdits, isFactor, newGroup } from './group-draft.ts';
import { groupsTexts } from './texts.ts';

interface GroupDialogProps extends DialogProps {
  readonly catalog: Catalog;
  /** `null`: a new group. */
  readonly id: string | null;
}

export function GroupDialog({ id, catalog, ...dialog }: GroupDialogProps) {
  const text = useTexts(groupsTexts);
  const { groups, models, providers } = catalog.value;
  const fields = groups[id ?? ''] ?? {};
  const [draft, field, , opened] = useDraft(() => groupDraft(id ?? '', fields), dialog.isOpen);
  const problem = (): string | null => {
    if (id === null && Object.hasOwn(groups, draft.id)) return text.taken;
    const isRight = draft.factor === opened.factor || draft.factor === '' || isFactor(draft.factor);
    return isRight ? null : text.factorWrong;
  };
  return (
    <CatalogDialog
      {...dialog}
      title={id === null ? text.add : text.editTitle(id)}
      catalog={catalog}
      problem={problem}
      edits={() => (id === null ? newGroup(draft) : groupEdits(opened, draft))}
    >
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          {id === null && (
            <TextInput
              label={text.id}
              description={text.idHint}
              required
              {...field('id')}
              autoComplete="off"
              spellCheck={false}
            />
          )}
          <TextInput label={text.displayName} required {...field('name')} autoComplete="off" />
          <TextInput
            label={text.factor}
            description={text.factorHint}
            rightSection="%"
            {...field('factor')}
            inputMode="decimal"
            autoComplete="off"
          />
          <MultiSelect
            label={text.models}
            placeholder={draft.models.length === 0 ? text.allModels : ''}
            data={[...new Set([...Object.keys(models), ...draft.models])]}
            value={[...draft.models]}
            onChange={field('models').onChange}
            searchable
            clearable
            hidePickedOptions
          />
          <MultiSelect
            label={text.providers}
            placeholder={draft.providers.length === 0 ? text.allProviders : ''}
            data={[...new Set([...Object.keys(providers), ...draft.providers])]}
            value={[...draft.providers]}
            onChange={field('providers').onChange}
            searchable
            clearable
            hidePickedOptions
          />
        </SimpleGrid>
        <GroupPrices
          prices={draft.prices}
          onChange={field('prices').onChange}
          stored={fieldsOf(fields.prices)}
          catalog={catalog}
        />
        <Fieldset legend={text.limits}>
          <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm">
            <CountField label={text.requestsPerMinute} placeholder={text.noLimit} {...field('requestsPerMinute')} />
            <CountField label={text.tokensPerMinute} placeholder={text.noLimit} {...field('tokensPerMinute')} />
            <YuanField label={text.dailySpendCap} placeholder={text.noLimit} {...field('dailySpendCapYuan')} />
          </SimpleGrid>
        </Fieldset>
      </Stack>
    </CatalogDialog>
  );
}

type Prices = { readonly [model: string]: PriceDraft };

interface GroupPricesProps {
  readonly prices: Prices;
  readonly onChange: (prices: Prices) => void;
  /** The prices in the text. */
  readonly stored: { readonly [model: string]: unknown };
  readonly catalog: Catalog;
}

function GroupPrices({ prices, onChange, stored, catalog }: GroupPricesProps) {
  const text = useTexts(groupsTexts);
  const { models } = catalog.value;
  return (
    <Fieldset legend={text.prices}>
      <Stack gap="md">
        <DimmedText>{text.pricesHint}</DimmedText>
        {Object.entries(prices).map(([model, amounts]) => (
          <Fieldset key={model} legend={text.pricesOf(model)}>
            <PriceFields
              prices={amounts}
              onChange={(next) => onChange({ ...prices, [model]: next })}
              fields={fieldsOf(stored[model])}
            />
            <Group justify="flex-end" mt="xs">
              <SmallButton
                aria-label={text.removePrices(model)}
                onClick={() => onChange(Object.fromEntries(Object.entries(prices).filter(([name]) => name !== model)))}
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
            onChange({ ...prices, [value]: priceDraft(fieldsOf(models[value]?.price)) })
          }
          data={['', ...Object.keys(models).filter((model) => prices[model] === undefined)]}
          maw={320}
        />
      </Stack>
    </Fieldset>
  );
}
