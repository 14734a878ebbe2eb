import { TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../../text/language.tsx';
import { CatalogDialog } from './catalog-dialog.tsx';
import { catalogTexts } from './texts.ts';
import type { Catalog } from './use-catalog.ts';
import type { Entry } from './use-entry.ts';

export interface EntryDialogProps {
  readonly catalog: Catalog;
  readonly onClose: () => void;
}

interface Props extends EntryDialogProps {
  readonly entry: Entry;
  readonly title: string;
  /** Validation error, or `null`. */
  readonly problem?: () => string | null;
  readonly size?: string;
  readonly children: ReactNode;
}

/** The form of an entry, mounted while it is open. */
export function EntryDialog({ entry, problem, ...dialog }: Props) {
  const text = useTexts(catalogTexts);
  return (
    <CatalogDialog
      {...dialog}
      isOpen
      edits={entry.edits}
      problem={() => (entry.isNameTaken ? text.nameTaken : (problem?.() ?? null))}
    />
  );
}

interface EntryNameProps {
  readonly entry: Entry;
  readonly label: string;
  readonly hint?: string;
}

/** The name of a new entry. */
export function EntryName({ entry, label, hint }: EntryNameProps) {
  if (!entry.isNew) return null;
  return (
    <TextInput
      label={label}
      description={hint}
      required
      value={entry.name}
      onChange={({ currentTarget }) => entry.rename(currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
      data-autofocus
    />
  );
}
