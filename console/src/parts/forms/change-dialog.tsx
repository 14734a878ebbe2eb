import { type ReactNode, useEffect, useState } from 'react';
import type { ChangeName, InputOf, ResponseOf } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import { FormDialog } from './dialogs.tsx';

interface ChangeDialogProps<Name extends ChangeName> {
  readonly endpoint: Name;
  /** What is sent, by what was entered; `null`: nothing has to be. */
  readonly input: () => InputOf<Name> | null;
  /** Why what was entered cannot be sent; `null`: it can. */
  readonly problem?: () => string | null;
  readonly onDone?: (response: ResponseOf<Name>) => void;
  readonly title: string;
  readonly submitLabel: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly isDangerous?: boolean;
  readonly size?: string;
  /** What was entered is checked by `problem`, and not by the browser, which cannot point at fields that are folded away. */
  readonly noValidate?: boolean;
  readonly children: ReactNode;
  /** Shows what came back in the form, which then stays open. */
  readonly result?: (response: ResponseOf<Name>) => ReactNode;
}

/** A form that makes one change. It stays open until it has a response, so that what is shown once cannot be lost. */
export function ChangeDialog<Name extends ChangeName>(props: ChangeDialogProps<Name>) {
  const { endpoint, input, problem, onDone, isOpen, onClose, result, children, ...dialog } = props;
  const { mutateAsync, reset, isPending, error, data } = useChange(endpoint);
  const [found, setFound] = useState<string | null>(null);
  useEffect(() => {
    if (!isOpen) return;
    reset();
    setFound(null);
  }, [isOpen, reset]);
  const submit = (): Promise<unknown> | null => {
    const wrong = problem?.() ?? null;
    setFound(wrong);
    if (wrong !== null) return null;
    const given = input();
    if (given === null) {
      onClose();
      return null;
    }
    // What opened the form may be gone with the change, such as a button in a row: what follows is not left to it.
    return mutateAsync(given).then(
      (response) => {
        if (result === undefined) onClose();
        onDone?.(response);
      },
      () => undefined,
    );
  };
  return (
    <FormDialog
      {...dialog}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={submit}
      isBusy={isPending}
      error={found === null ? error : new Error(found)}
    >
      {children}
      {data !== undefined && result?.(data)}
    </FormDialog>
  );
}
