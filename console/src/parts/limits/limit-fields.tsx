import {
  ActionIcon,
  Button,
  Fieldset,
  Group,
  MultiSelect,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
} from '@mantine/core';
import { TrashIcon } from '@primer/octicons-react';
import { useRead } from '../../api/queries.ts';
import { CountField, YuanField } from '../../parts/number-fields.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useTexts } from '../../text/language.tsx';
import { AMOUNTS, COUNTS, type LimitsDraft, leastOf, type ModelLimitDraft } from './key-draft.ts';
import { keysTexts } from './texts.ts';

interface LimitFieldsProps {
  readonly draft: LimitsDraft;
  readonly onChange: (draft: LimitsDraft) => void;
}

/** All limits that a key may have. */
export function LimitFields({ draft, onChange }: LimitFieldsProps) {
  const text = useTexts(keysTexts);
  const common = useTexts(commonTexts);
  const models = useRead('GET /account/v1/models', {}).data?.data ?? [];
  const known = models.map(({ id }) => id);
  return (
    <Stack gap="md">
      <Fieldset legend={text.budgets}>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          {AMOUNTS.map((name) => (
            <YuanField
              key={name}
              label={text.limits[name]}
              placeholder={common.noLimit}
              value={draft.amounts[name]}
              onChange={(value) => onChange({ ...draft, amounts: { ...draft.amounts, [name]: value } })}
            />
          ))}
        </SimpleGrid>
        <Text size="sm" c="dimmed" mt="xs">
          {text.budgetsHint}
        </Text>
      </Fieldset>
      <Fieldset legend={text.rates}>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          {COUNTS.map((name) => (
            <CountField
              key={name}
              label={text.limits[name]}
              placeholder={common.noLimit}
              min={leastOf(name)}
              value={draft.counts[name]}
              onChange={(value) => onChange({ ...draft, counts: { ...draft.counts, [name]: value } })}
            />
          ))}
        </SimpleGrid>
        <ModelLimits
          limits={draft.modelLimits}
          models={known}
          onChange={(modelLimits) => onChange({ ...draft, modelLimits })}
        />
      </Fieldset>
      <Fieldset legend={text.allowLists}>
        <Stack gap="sm">
          <MultiSelect
            label={text.allowedModels}
            description={text.allowedModelsHint}
            placeholder={draft.allowedModels.length === 0 ? text.allModels : ''}
            data={[...new Set([...known, ...draft.allowedModels])]}
            value={[...draft.allowedModels]}
            onChange={(allowedModels) => onChange({ ...draft, allowedModels })}
            searchable
            clearable
            hidePickedOptions
          />
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
        </Stack>
      </Fieldset>
    </Stack>
  );
}

interface ModelLimitsProps {
  readonly limits: readonly ModelLimitDraft[];
  readonly models: readonly string[];
  readonly onChange: (limits: readonly ModelLimitDraft[]) => void;
}

function ModelLimits({ limits, models, onChange }: ModelLimitsProps) {
  const text = useTexts(keysTexts);
  const common = useTexts(commonTexts);
  const change = (index: number, changed: Partial<ModelLimitDraft>) =>
    onChange(limits.map((limit, at) => (at === index ? { ...limit, ...changed } : limit)));
  return (
    <Stack gap="sm" mt="sm">
      {limits.map(({ model, requestsPerMinute, tokensPerMinute }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no name before a model is chosen
        <Group key={index} gap="sm" align="flex-end" wrap="nowrap">
          <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xs" flex={1}>
            <Select
              label={text.model}
              required
              searchable
              data={[...new Set([...models, ...(model === '' ? [] : [model])])].filter(
                (id) => id === model || limits.every((limit) => limit.model !== id),
              )}
              value={model === '' ? null : model}
              onChange={(chosen) => change(index, { model: chosen ?? '' })}
            />
            <CountField
              label={text.limits.requestsPerMinute}
              placeholder={common.noLimit}
              min={1}
              value={requestsPerMinute}
              onChange={(value) => change(index, { requestsPerMinute: value })}
            />
            <CountField
              label={text.limits.tokensPerMinute}
              placeholder={common.noLimit}
              min={1}
              value={tokensPerMinute}
              onChange={(value) => change(index, { tokensPerMinute: value })}
            />
          </SimpleGrid>
          <ActionIcon
            variant="subtle"
            color="red"
            size="lg"
            aria-label={text.removeModelLimit(model)}
            onClick={() => onChange(limits.filter((_, at) => at !== index))}
          >
            <TrashIcon />
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => onChange([...limits, { model: '', requestsPerMinute: '', tokensPerMinute: '' }])}
        >
          {text.addModelLimit}
        </Button>
      </Group>
    </Stack>
  );
}
