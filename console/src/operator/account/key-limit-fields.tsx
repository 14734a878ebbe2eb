import { Fieldset, SimpleGrid, Stack, TagsInput } from '@mantine/core';
import { AmountInput, CountInput } from '../../parts/form-fields.tsx';
import { RateLimitFields } from '../../parts/rate-limit-fields.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useTexts } from '../../text/language.tsx';
import type { KeyLimitDraft } from './key-draft.ts';
import { keysTexts } from './keys-texts.ts';

interface KeyLimitFieldsProps {
  readonly draft: KeyLimitDraft;
  readonly onChange: (change: Partial<KeyLimitDraft>) => void;
  readonly models: readonly string[];
}

const AMOUNTS = ['dailyCap', 'weeklyCap', 'monthlyCap', 'totalCap'] as const;
const COUNTS = ['dailyCalls', 'concurrency'] as const;

export function KeyLimitFields({ draft, onChange, models }: KeyLimitFieldsProps) {
  const text = useTexts(keysTexts);
  const { noLimit } = useTexts(commonTexts);
  return (
    <Stack>
      <Fieldset legend={text.budgets} p="sm">
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {AMOUNTS.map((name) => (
            <AmountInput
              key={name}
              label={text[name]}
              placeholder={noLimit}
              value={draft[name]}
              onChange={(entered) => onChange({ [name]: entered })}
            />
          ))}
          {COUNTS.map((name) => (
            <CountInput
              key={name}
              label={text[name]}
              value={draft[name]}
              onChange={(entered) => onChange({ [name]: entered })}
            />
          ))}
        </SimpleGrid>
      </Fieldset>
      <RateLimitFields draft={draft.rates} onChange={(rates) => onChange({ rates })} models={models} />
      <Fieldset legend={text.lists} p="sm">
        <Stack gap="sm">
          <TagsInput
            label={text.allowedModels}
            description={text.allowedModelsHint}
            data={[...models]}
            value={[...draft.allowedModels]}
            onChange={(allowedModels) => onChange({ allowedModels })}
          />
          <TagsInput
            label={text.allowedNetworks}
            description={text.allowedNetworksHint}
            value={[...draft.allowedNetworks]}
            onChange={(allowedNetworks) => onChange({ allowedNetworks })}
          />
        </Stack>
      </Fieldset>
    </Stack>
  );
}
