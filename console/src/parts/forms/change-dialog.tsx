import { Button, Group, Modal, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { ChangeName, InputOf, ResponseOf } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import { useTexts } from '../../text/language.tsx';
import { ErrorNotice } from '../notices.tsx';
import { commonTexts } from '../texts.ts';
import type { DialogProps } from './use-dialog.ts';

export interface ChangeDialogProps<Name extends ChangeName> extends DialogProps {
  readonly endpoint: Name;
  /** What is sent, by what was entered; `null`: nothing has to be. */
  readonly input: () => InputOf<Name> | null;
  /** Why what was entered cannot be sent; `null`: it can. */
  readonly problem?: () => string | null;
  /** What is said when it is done. */
  readonly doneText?: string | ((response: ResponseOf<Name>) => string);
  readonly onDone?: (response: ResponseOf<Name>) => void;
  readonly title: string;
  /** What the button says; the title if it is absent. */
  readonly submitLabel?: string;
  readonly isDangerous?: boolean;
  readonly size?: string;
  /** What was entered is checked by `problem`, and not by the browser, which cannot point at fields that are folded away. */
  readonly noValidate?: boolean;
  readonly children: ReactNode;
  /** Shows what came back in the form, which then stays open. */
  readonly result?: (response: ResponseOf<Name>) => ReactNode;
}

/**
 * A form over the page that makes one change. It stays open, with the reason, where the gateway refuses what was entered. It cannot be
 * closed before the response is there: that may have a secret that is shown once.
 */
export function ChangeDialog<Name extends ChangeName>(props: ChangeDialogProps<Name>) {
  const { endpoint, input, problem, doneText, onDone, title, submitLabel = title, isOpen, onClose, children } = props;
  const { isDangerous = false, size = 'md', noValidate = false, result } = props;
  const text = useTexts(commonTexts);
  const { mutateAsync, reset, isPending, error, data } = useChange(endpoint);
  const [found, setFound] = useState<string | null>(null);
  // Known at once, where `isPending` comes with the next rendering: a key that is pressed in between would close the form.
  const isSending = useRef(false);
  useEffect(() => {
    if (!isOpen) return;
    reset();
    setFound(null);
  }, [isOpen, reset]);
  const close = (): void => {
    if (!isSending.current) onClose();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // A form within a dialog is within the page for React.
    event.stopPropagation();
    const wrong = problem?.() ?? null;
    setFound(wrong);
    if (wrong !== null) return;
    const given = input();
    if (given === null) {
      onClose();
      return;
    }
    isSending.current = true;
    // What opened the form may be gone with the change, such as a button in a row: what follows is not left to it.
    mutateAsync(given)
      .then(
        (response) => {
          if (result === undefined) onClose();
          const message = typeof doneText === 'function' ? doneText(response) : doneText;
          if (message !== undefined) notifications.show({ color: 'teal', message });
          onDone?.(response);
        },
        () => undefined,
      )
      .finally(() => {
        isSending.current = false;
      });
  };
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={title}
      size={size}
      closeOnClickOutside={!isPending}
      closeOnEscape={!isPending}
      closeButtonProps={{ disabled: isPending }}
    >
      <form onSubmit={submit} noValidate={noValidate}>
        <Stack>
          {children}
          {data !== undefined && result?.(data)}
          <ErrorNotice error={found === null ? error : new Error(found)} isOfChange />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} disabled={isPending}>
              {text.cancel}
            </Button>
            <Button type="submit" loading={isPending} {...(isDangerous ? { color: 'red' } : {})}>
              {submitLabel}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
