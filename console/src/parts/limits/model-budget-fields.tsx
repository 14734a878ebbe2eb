import { Group, SimpleGrid, Stack } from '@mantine/core';
import { useTexts } from '../../text/language.tsx';
import { YuanField } from '../forms/number-fields.tsx';
import { SmallButton } from '../small.ts';
import { AMOUNTS, type Amounts, type ModelBudgetDraft, NO_AMOUNTS } from './limit-draft.ts';
import { ModelSelect, RemoveRow } from './model-select.tsx';
import { limitsTexts } from './texts.ts';

interface AmountFieldsProps {
  readonly amounts: Amounts;
  readonly onChange: (amounts: Amounts) => void;
}

export function AmountFields({ amounts, onChange }: AmountFieldsProps) {
  const text = useTexts(limitsTexts);
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
      {AMOUNTS.map((name) => (
        <YuanField
          key={name}
          label={text.limits[name]}
          placeholder={text.noLimit}
          value={amounts[name]}
          onChange={(value) => onChange({ ...amounts, [name]: value })}
        />
      ))}
    </SimpleGrid>
  );
}

interface ModelBudgetFieldsProps {
  readonly budgets: readonly ModelBudgetDraft[];
  readonly onChange: (budgets: readonly ModelBudgetDraft[]) => void;
  readonly models: readonly string[];
}

export function ModelBudgetFields({ budgets, onChange, models }: ModelBudgetFieldsProps) {
  const text = useTexts(limitsTexts);
  const change = (index: number, changed: Partial<ModelBudgetDraft>): void =>
    onChange(budgets.map((budget, at) => (at === index ? { ...budget, ...changed } : budget)));
  return (
    <Stack gap="md" mt="sm">
      {budgets.map(({ model, amounts }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no model at first
        <Group key={index} gap="sm" align="flex-start" wrap="nowrap">
          <Stack gap="xs" flex={1}>
            <ModelSelect
              model={model}
              models={models}
              rows={budgets}
              onChange={(chosen) => change(index, { model: chosen })}
            />
            <AmountFields amounts={amounts} onChange={(changed) => change(index, { amounts: changed })} />
          </Stack>
          <RemoveRow
            label={text.removeModelBudget(model)}
            onClick={() => onChange(budgets.filter((_, at) => at !== index))}
          />
        </Group>
      ))}
      <Group>
        <SmallButton onClick={() => onChange([...budgets, { model: '', amounts: NO_AMOUNTS }])}>
          {text.addModelBudget}
        </SmallButton>
      </Group>
    </Stack>
  );
}
