import { Button, Group, PasswordInput, Stack } from '@mantine/core';
import { useChange } from '../../api/queries.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { useNowMs } from '../figures.tsx';
import { ErrorNotice } from '../notices.tsx';
import { callingTexts } from './texts.ts';
import { KEY_PLACEHOLDER, useTrialKey } from './trial-key.ts';

const TRY_BUDGET_YUAN = '1';
const HOUR_MS = 3_600_000;

interface KeyFieldProps {
  readonly value: string;
  readonly onChange: (key: string) => void;
}

/** Accepts a pasted key or creates one that expires in an hour. */
export function KeyField({ value, onChange }: KeyFieldProps) {
  const text = useTexts(callingTexts);
  const format = useFormat();
  const nowMs = useNowMs();
  const create = useChange('POST /account/v1/keys');
  const { trialKey, keep } = useTrialKey();
  const make = async (): Promise<void> => {
    const body = {
      name: text.keyName,
      scopes: ['calls'] as const,
      expiresAt: new Date(nowMs + HOUR_MS).toISOString(),
      // Limits the spend if the key is used with the balance.
      totalSpendCapYuan: TRY_BUDGET_YUAN,
    };
    const made = await create.mutateAsync({ body }).catch(() => null);
    if (made === null) return;
    keep(made.key);
    onChange(made.key);
  };
  return (
    <Stack gap={4}>
      <Group align="flex-end" gap="xs">
        <PasswordInput
          label={text.key}
          description={value !== '' && value === trialKey ? text.madeKey : text.keyHint}
          placeholder={KEY_PLACEHOLDER}
          autoComplete="off"
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
          w={300}
        />
        <Button
          variant="default"
          onClick={() => void make()}
          loading={create.isPending}
          title={text.makeKeyHint(format.yuan(TRY_BUDGET_YUAN))}
        >
          {text.makeKey}
        </Button>
      </Group>
      <ErrorNotice error={create.error} />
    </Stack>
  );
}
