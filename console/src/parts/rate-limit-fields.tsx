import { ActionIcon, Autocomplete, Button, Fieldset, Group, SimpleGrid, Stack } from '@mantine/core';
import { PlusIcon, XIcon } from '@primer/octicons-react';
import type { LimitsInForce } from '../api/types.ts';
import { defineTexts, useTexts } from '../text/language.tsx';
import { CountInput, countOrNull } from './form-fields.tsx';

const texts = defineTexts(
  {
    requests: 'Requests a minute',
    tokens: 'Tokens a minute',
    ofModels: 'Limits of single models',
    model: 'Model',
    add: 'Limit a model',
    remove: (model: string) => `Remove the limits of ${model}`,
  },
  {
    requests: '每分钟请求数',
    tokens: '每分钟 Token 数',
    ofModels: '单个模型的限制',
    model: '模型',
    add: '添加模型限制',
    remove: (model: string) => `移除 ${model} 的限制`,
  },
);

/** Limits by the minute as they are entered. */
export interface RateLimitDraft {
  readonly requests: string;
  readonly tokens: string;
  readonly models: readonly ModelLimitDraft[];
}

interface ModelLimitDraft {
  readonly row: number;
  readonly model: string;
  readonly requests: string;
  readonly tokens: string;
}

/** `null`: of something new. */
export function rateLimitDraftOf(limits: LimitsInForce | null): RateLimitDraft {
  return {
    requests: String(limits?.requestsPerMinute ?? ''),
    tokens: String(limits?.tokensPerMinute ?? ''),
    models: Object.entries(limits?.modelLimits ?? {}).map(([model, own], row) => ({
      row,
      model,
      requests: String(own.requestsPerMinute ?? ''),
      tokens: String(own.tokensPerMinute ?? ''),
    })),
  };
}

/** The members of a request; models that had limits and are gone lose them. */
export function rateLimitsOf(draft: RateLimitDraft, before: LimitsInForce | null) {
  const own = draft.models
    .filter(({ model }) => model.trim() !== '')
    .map(({ model, requests, tokens }) => [
      model.trim(),
      { requestsPerMinute: countOrNull(requests), tokensPerMinute: countOrNull(tokens) },
    ]);
  const removed = Object.keys(before?.modelLimits ?? {}).map((model) => [model, null]);
  return {
    requestsPerMinute: countOrNull(draft.requests),
    tokensPerMinute: countOrNull(draft.tokens),
    modelLimits: Object.fromEntries([...removed, ...own]),
  };
}

interface RateLimitFieldsProps {
  readonly draft: RateLimitDraft;
  readonly onChange: (draft: RateLimitDraft) => void;
  /** Models to choose from. */
  readonly models: readonly string[];
}

export function RateLimitFields({ draft, onChange, models }: RateLimitFieldsProps) {
  const text = useTexts(texts);
  const setModel = (row: number, change: Partial<ModelLimitDraft>): void =>
    onChange({ ...draft, models: draft.models.map((each) => (each.row === row ? { ...each, ...change } : each)) });
  const add = (): void => {
    const row = Math.max(-1, ...draft.models.map((each) => each.row)) + 1;
    onChange({ ...draft, models: [...draft.models, { row, model: '', requests: '', tokens: '' }] });
  };
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <CountInput
          label={text.requests}
          value={draft.requests}
          onChange={(requests) => onChange({ ...draft, requests })}
        />
        <CountInput label={text.tokens} value={draft.tokens} onChange={(tokens) => onChange({ ...draft, tokens })} />
      </SimpleGrid>
      <Fieldset legend={text.ofModels} p="sm">
        <Stack gap="xs" align="flex-start">
          {draft.models.map(({ row, model, requests, tokens }) => (
            <Group key={row} gap="xs" align="flex-end" w="100%">
              <Autocomplete
                label={text.model}
                data={[...models]}
                value={model}
                onChange={(chosen) => setModel(row, { model: chosen })}
                flex="2 1 140px"
                required
              />
              <CountInput
                label={text.requests}
                value={requests}
                onChange={(entered) => setModel(row, { requests: entered })}
                flex="1 1 100px"
              />
              <CountInput
                label={text.tokens}
                value={tokens}
                onChange={(entered) => setModel(row, { tokens: entered })}
                flex="1 1 100px"
              />
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                aria-label={text.remove(model)}
                onClick={() => onChange({ ...draft, models: draft.models.filter((each) => each.row !== row) })}
              >
                <XIcon />
              </ActionIcon>
            </Group>
          ))}
          <Button variant="subtle" size="compact-sm" leftSection={<PlusIcon />} onClick={add}>
            {text.add}
          </Button>
        </Stack>
      </Fieldset>
    </Stack>
  );
}
