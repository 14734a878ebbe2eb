import { Fieldset, MultiSelect, SimpleGrid, Stack, TagsInput } from '@mantine/core';
import { useTexts } from '../../text/language.tsx';
import { CountField } from '../forms/number-fields.tsx';
import { DimmedText } from '../small.ts';
import { COUNTS, type LimitsDraft } from './limit-draft.ts';
import { AmountFields, ModelBudgetFields } from './model-budget-fields.tsx';
import { RateFields } from './rate-fields.tsx';
import { limitsTexts } from './texts.ts';

interface LimitFieldsProps {
  readonly draft: LimitsDraft;
  readonly onChange: (draft: LimitsDraft) => void;
  readonly models: readonly string[];
  /** Hides the fields that member limits do not have: rates and networks. */
  readonly isOfMember?: boolean;
}

export function LimitFields({ draft, onChange, models, isOfMember = false }: LimitFieldsProps) {
  const text = useTexts(limitsTexts);
  return (
    <Stack gap="md">
      <Fieldset legend={text.budgets}>
        <AmountFields amounts={draft.amounts} onChange={(amounts) => onChange({ ...draft, amounts })} />
        <DimmedText mt="xs">{text.budgetsHint}</DimmedText>
        <ModelBudgetFields
          budgets={draft.modelBudgets}
          onChange={(modelBudgets) => onChange({ ...draft, modelBudgets })}
          models={models}
        />
      </Fieldset>
      <Fieldset legend={text.rates}>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" mb="sm">
          {COUNTS.map((name) => (
            <CountField
              key={name}
              label={text.limits[name]}
              placeholder={text.noLimit}
              value={draft.counts[name]}
              onChange={(value) => onChange({ ...draft, counts: { ...draft.counts, [name]: value } })}
            />
          ))}
        </SimpleGrid>
        {!isOfMember && (
          <RateFields draft={draft.rates} onChange={(rates) => onChange({ ...draft, rates })} models={models} />
        )}
      </Fieldset>
      <Fieldset legend={text.allowLists}>
        <Stack gap="sm">
          <MultiSelect
            label={text.models}
            description={isOfMember ? text.memberModelsHint : text.allowedModelsHint}
            placeholder={draft.allowedModels.length === 0 ? text.allModels : ''}
            data={[...new Set([...models, ...draft.allowedModels])]}
            value={[...draft.allowedModels]}
            onChange={(allowedModels) => onChange({ ...draft, allowedModels })}
            searchable
            clearable
            hidePickedOptions
          />
          {!isOfMember && (
            <TagsInput
              label={text.allowedNetworks}
              description={text.allowedNetworksHint}
              placeholder={draft.allowedNetworks.length === 0 ? text.allNetworks : ''}
              value={[...draft.allowedNetworks]}
              onChange={(allowedNetworks) => onChange({ ...draft, allowedNetworks })}
              splitChars={[',', ' ', ';']}
              acceptValueOnBlur
              clearable
            />
          )}
        </Stack>
      </Fieldset>
    </Stack>
  );
}
