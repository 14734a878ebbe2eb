import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useTexts } from '../../text/language.tsx';
import { ErrorNotice } from '../notices.tsx';
import { commonTexts } from '../texts.ts';

interface SaveFormProps {
  /** What the button says; "Save" where it is absent. */
  readonly label?: string;
  readonly isChanged: boolean;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** Fields with a button that saves what was changed. */
export function SaveForm({ label, isChanged, isBusy, error, onSubmit, children }: SaveFormProps) {
  const common = useTexts(commonTexts);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isChanged) onSubmit();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <ErrorNotice error={error} isOfChange />
        <Group>
          <Button type="submit" disabled={!isChanged} loading={isBusy}>
            {label ?? common.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
