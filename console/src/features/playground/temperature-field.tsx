import { TextInput } from '@mantine/core';
import { useTexts } from '../../text/language.tsx';
import { isTemperature } from './conversation.ts';
import { playgroundTexts } from './texts.ts';

interface TemperatureFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function TemperatureField({ value, onChange }: TemperatureFieldProps) {
  const text = useTexts(playgroundTexts);
  return (
    <TextInput
      label={text.temperature}
      description={text.temperatureHint}
      inputMode="decimal"
      autoComplete="off"
      value={value}
      error={!isTemperature(value) && text.temperatureWrong}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
    />
  );
}
