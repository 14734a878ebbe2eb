import { Button, type ButtonProps, Group, Modal, Stack, Text } from '@mantine/core';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { useTexts } from '../../text/language.tsx';
import { ErrorNotice } from '../notices.tsx';
import { commonTexts } from '../texts.ts';

interface FormDialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly submitLabel: string;
  /** Sends what was entered, and resolves or fails with the response; `null`: nothing was sent. */
  readonly onSubmit: () => Promise<unknown> | null;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly isDangerous?: boolean;
  readonly size?: string;
  /** What was entered is checked by the form itself, and not by the browser. */
  readonly noValidate?: boolean;
  readonly children: ReactNode;
}

/**
 * A form over the page. It stays open, with the reason, where the gateway refuses what was entered. It cannot be closed before the
 * response is there: that may have a secret that is shown once.
 */
export function FormDialog(props: FormDialogProps) {
  const { title, isOpen, onClose, submitLabel, onSubmit, isBusy, error, isDangerous = false, size, children } = props;
  const { noValidate = false } = props;
  const text = useTexts(commonTexts);
  // Known at once, where `isBusy` comes with the next rendering: a key that is pressed in between would close the form.
  const isSending = useRef(false);
  const settled = (): void => {
    isSending.current = false;
  };
  const close = (): void => {
    if (!isSending.current) onClose();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // A form within a dialog is within the page for React.
    event.stopPropagation();
    const response = onSubmit();
    isSending.current = response !== null;
    response?.then(settled, settled);
  };
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={title}
      size={size ?? 'md'}
      closeOnClickOutside={!isBusy}
      closeOnEscape={!isBusy}
      closeButtonProps={{ 'aria-label': text.close, disabled: isBusy }}
    >
      <form onSubmit={submit} noValidate={noValidate}>
        <Stack>
          {children}
          <ErrorNotice error={error} isOfChange />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} disabled={isBusy}>
              {text.cancel}
            </Button>
            <Button type="submit" loading={isBusy} {...(isDangerous ? { color: 'red' } : {})}>
              {submitLabel}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface ConfirmButtonProps extends Pick<ButtonProps, 'size' | 'variant' | 'color' | 'leftSection'> {
  readonly label: string;
  /** What happens, and what cannot be taken back. */
  readonly question: ReactNode;
  /** @throws if it was refused; the dialog says why and stays. */
  readonly onConfirm: () => Promise<unknown>;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
}

/** A button that asks before it does something. */
export function ConfirmButton({ label, question, onConfirm, isDangerous, isDisabled, ...button }: ConfirmButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const open = (): void => {
    setError(null);
    setIsOpen(true);
  };
  const confirm = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await onConfirm();
      setIsOpen(false);
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <>
      <Button size="compact-sm" variant="default" {...button} onClick={open} disabled={isDisabled ?? false}>
        {label}
      </Button>
      <FormDialog
        title={label}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        submitLabel={label}
        onSubmit={confirm}
        isBusy={isBusy}
        error={error}
        isDangerous={isDangerous ?? false}
      >
        <Text component="div">{question}</Text>
      </FormDialog>
    </>
  );
}
