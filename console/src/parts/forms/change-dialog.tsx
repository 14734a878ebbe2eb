import { type ReactNode, useEffect, useState } from 'react';
import type { AnswerOf, ChangeName, InputOf } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import { FormDialog } from './dialogs.tsx';

interface ChangeDialogProps<Name extends ChangeName> {
  readonly endpoint: Name;
  /** What is sent, by what was entered; `null`: nothing has to be. */
  readonly input: () => InputOf<Name> | null;
  /** Why what was entered cannot be sent; `null`: it can. */
  readonly problem?: () => string | null;
  readonly onDone?: (answer: AnswerOf<Name>) => void;
  readonly title: string;
  readonly submitLabel: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly isDangerous?: boolean;
  readonly size?: string;
  readonly children: ReactNode;
}

/** A form that makes one change. It stays open until it has an answer, so that what is shown once cannot be lost. */
export function ChangeDialog<Name extends ChangeName>(props: ChangeDialogProps<Name>) {
  const { endpoint, input, problem, onDone, isOpen, onClose, ...dialog } = props;
  const { mutate, reset, isPending, error } = useChange(endpoint);
  const [found, setFound] = useState<string | null>(null);
  useEffect(() => {
    if (!isOpen) return;
    reset();
    setFound(null);
  }, [isOpen, reset]);
  const submit = (): void => {
    const wrong = problem?.() ?? null;
    setFound(wrong);
    if (wrong !== null) return;
    const given = input();
    if (given === null) {
      onClose();
      return;
    }
    mutate(given, {
      onSuccess(answer) {
        onClose();
        onDone?.(answer);
      },
    });
  };
  return (
    <FormDialog
      {...dialog}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={submit}
      isBusy={isPending}
      error={found === null ? error : new Error(found)}
    />
  );
}
