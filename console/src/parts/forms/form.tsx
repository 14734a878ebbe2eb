import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { ErrorNotice } from '../notices.tsx';

export interface FormProps {
  readonly submitLabel: string;
  readonly onSubmit: () => void;
  readonly isBusy?: boolean;
  /** Nothing is entered that could be sent. */
  readonly isDisabled?: boolean;
  readonly error?: Error | null;
  /** Something is to be changed: without a response nobody knows whether it was. */
  readonly isOfChange?: boolean;
  /** The button is as wide as the fields. */
  readonly isWide?: boolean;
  readonly icon?: ReactNode;
  /** What stands beside the button. */
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}

/** Fields on a page, with the button that sends them, and the reason if they were refused. */
export function Form(props: FormProps) {
  const { submitLabel, onSubmit, isBusy = false, isDisabled = false, error = null, children, icon, beside } = props;
  const { isOfChange = false, isWide = false } = props;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isDisabled) onSubmit();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <ErrorNotice error={error} isOfChange={isOfChange} />
        <Group grow={isWide}>
          <Button type="submit" disabled={isDisabled} loading={isBusy} leftSection={icon}>
            {submitLabel}
          </Button>
          {beside}
        </Group>
      </Stack>
    </form>
  );
}
