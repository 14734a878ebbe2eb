import { type ReactNode, useEffect } from 'react';
import type { AnswerOf, ChangeName, InputOf } from '../api/client.ts';
import { useChange } from '../api/queries.ts';
import { FormDialog } from './dialogs.tsx';

interface ChangeDialogProps<Name extends ChangeName> {
  readonly endpoint: Name;
  /** What is sent, by what was entered. */
  readonly input: () => InputOf<Name>;
  readonly onDone?: (answer: AnswerOf<Name>) => void;
  readonly title: string;
  readonly submitLabel: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly isDangerous?: boolean;
  readonly size?: string;
  readonly children: ReactNode;
}

/**
 * A form that makes one change. It stays on the page while it is closed, so that what is sent again after a lost answer is sent with
 * the same idempotency key.
 */
export function ChangeDialog<Name extends ChangeName>(props: ChangeDialogProps<Name>) {
  const { endpoint, input, onDone, isOpen, onClose, ...dialog } = props;
  const { mutate, reset, isPending, error } = useChange(endpoint);
  useEffect(() => {
    if (isOpen) reset();
  }, [isOpen, reset]);
  const submit = (): void =>
    mutate(input(), {
      onSuccess(answer) {
        onClose();
        onDone?.(answer);
      },
    });
  return (
    <FormDialog {...dialog} isOpen={isOpen} onClose={onClose} onSubmit={submit} isBusy={isPending} error={error} />
  );
}
