import { ActionIcon, Select } from '@mantine/core';
import { TrashIcon } from '@primer/octicons-react';
import { useTexts } from '../../text/language.tsx';
import { limitsTexts } from './texts.ts';

interface ModelSelectProps {
  /** Empty: none is chosen yet. */
  readonly model: string;
  readonly models: readonly string[];
  /** Rows of the other models, which cannot be chosen again. */
  readonly rows: readonly { readonly model: string }[];
  readonly onChange: (model: string) => void;
}

/** The model of a row of limits. A model that is no longer offered stays selected. */
export function ModelSelect({ model, models, rows, onChange }: ModelSelectProps) {
  const text = useTexts(limitsTexts);
  return (
    <Select
      label={text.model}
      required
      searchable
      data={[...new Set([...models, ...(model === '' ? [] : [model])])].filter(
        (id) => id === model || rows.every((row) => row.model !== id),
      )}
      value={model === '' ? null : model}
      onChange={(chosen) => onChange(chosen ?? '')}
    />
  );
}

export function RemoveRow({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <ActionIcon variant="subtle" color="red" size="lg" aria-label={label} onClick={onClick}>
      <TrashIcon />
    </ActionIcon>
  );
}
