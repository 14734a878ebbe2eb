import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { ErrorNotice } from '../notices.tsx';

export interface FormProps {
  readonly submitLabel: string;
  readonly onSubmit: () => void;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  readonly error?: Error | null;
  /** Whether the request changes something. If so, a lost response leaves the outcome unknown. */
  readonly isOfChange?: boolean;
  readonly isWide?: boolean;
  readonly icon?: ReactNode;
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}

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
