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
  /** The input to send, or `null` if nothing changed. */
  readonly input: () => InputOf<Name> | null;
  /** Validation error, or `null`. */
  readonly problem?: () => string | null;
  readonly doneText?: string | ((response: ResponseOf<Name>) => string);
  readonly onDone?: (response: ResponseOf<Name>) => void;
  readonly title: string;
  /** Defaults to the title. */
  readonly submitLabel?: string;
  readonly isDangerous?: boolean;
  readonly size?: string;
  /** Validates with `problem` instead of the browser, which cannot focus collapsed fields. */
  readonly noValidate?: boolean;
  readonly children: ReactNode;
  /** Renders the response in the form, which then stays open. */
  readonly result?: (response: ResponseOf<Name>) => ReactNode;
}

/**
 * A modal form for one change. It stays open with the error if the change is refused. It cannot be closed while the request is pending,
 * because the response may have a secret that is shown only once.
 */
export function ChangeDialog<Name extends ChangeName>(props: ChangeDialogProps<Name>) {
  const { endpoint, input, problem, doneText, onDone, title, submitLabel = title, isOpen, onClose, children } = props;
  const { isDangerous = false, size = 'md', noValidate = false, result } = props;
  const text = useTexts(commonTexts);
  const { mutateAsync, reset, isPending, error, data } = useChange(endpoint);
  const [found, setFound] = useState<string | null>(null);
  // Set synchronously, unlike `isPending`: a key pressed before the next render would close the form.
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
    // React events bubble from the dialog to a form around it.
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
    // The change may remove the component that opened the dialog, such as a button in a row, so callbacks of `mutate` might not run.
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
