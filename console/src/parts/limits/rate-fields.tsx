import { Group, SimpleGrid, Stack } from '@mantine/core';
import { useTexts } from '../../text/language.tsx';
import { CountField } from '../forms/number-fields.tsx';
import { SmallButton } from '../small.ts';
import { commonTexts } from '../texts.ts';
import { type ModelLimitDraft, RATES, type RatePair, type RatesDraft } from './limit-draft.ts';
import { ModelSelect, RemoveRow } from './model-select.tsx';
import { limitsTexts } from './texts.ts';

interface RateFieldsProps {
  readonly draft: RatesDraft;
  readonly onChange: (draft: RatesDraft) => void;
  readonly models: readonly string[];
}

export function RateFields({ draft, onChange, models }: RateFieldsProps) {
  const text = useTexts(limitsTexts);
  const { modelLimits } = draft;
  const setModels = (changed: readonly ModelLimitDraft[]): void => onChange({ ...draft, modelLimits: changed });
  const change = (index: number, changed: Partial<ModelLimitDraft>): void =>
    setModels(modelLimits.map((limit, at) => (at === index ? { ...limit, ...changed } : limit)));
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <RatePairFields limits={draft} onChange={(changed) => onChange({ ...draft, ...changed })} />
      </SimpleGrid>
      {modelLimits.map((limit, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no model at first
        <Group key={index} gap="sm" align="flex-end" wrap="nowrap">
          <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xs" flex={1}>
            <ModelSelect
              model={limit.model}
              models={models}
              rows={modelLimits}
              onChange={(model) => change(index, { model })}
            />
            <RatePairFields limits={limit} onChange={(changed) => change(index, changed)} />
          </SimpleGrid>
          <RemoveRow
            label={text.removeModelLimit(limit.model)}
            onClick={() => setModels(modelLimits.filter((_, at) => at !== index))}
          />
        </Group>
      ))}
      <Group>
        <SmallButton
          onClick={() => setModels([...modelLimits, { model: '', requestsPerMinute: '', tokensPerMinute: '' }])}
        >
          {text.addModelLimit}
        </SmallButton>
      </Group>
    </Stack>
  );
}

interface RatePairFieldsProps {
  readonly limits: RatePair;
  readonly onChange: (changed: Partial<RatePair>) => void;
}

function RatePairFields({ limits, onChange }: RatePairFieldsProps) {
  const text = useTexts(limitsTexts);
  const { noLimit } = useTexts(commonTexts);
  return RATES.map((name) => (
    <CountField
      key={name}
      label={text.limits[name]}
      placeholder={noLimit}
      min={1}
      value={limits[name]}
      onChange={(value) => onChange({ [name]: value })}
    />
  ));
}
