import { Stack, Switch } from '@mantine/core';
import type { Account } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { callerTexts } from './caller-texts.ts';

export type Recording = Account['recording'];

const FACTS = ['endUser', 'program', 'clientAddress'] as const;

interface RecordingSwitchesProps {
  readonly value: Recording;
  readonly onChange: (changed: Recording) => void;
  /** What is recorded already, for all accounts; absent: not known. */
  readonly usual?: Recording;
}

/** Switches for what an account records of its callers. */
export function RecordingSwitches({ value, onChange, usual }: RecordingSwitchesProps) {
  const text = useTexts(callerTexts);
  return (
    <Stack gap="sm">
      {FACTS.map((fact) => (
        <Switch
          key={fact}
          label={text[fact]}
          description={usual?.[fact] ? text.byOperator : text[`${fact}Hint`]}
          checked={value[fact]}
          onChange={({ currentTarget }) => onChange({ ...value, [fact]: currentTarget.checked })}
        />
      ))}
    </Stack>
  );
}
