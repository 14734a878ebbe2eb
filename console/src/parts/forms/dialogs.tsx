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
  readonly onSubmit: () => void;
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
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // A form within a dialog is within the page for React.
    event.stopPropagation();
    onSubmit();
  };
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
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
            <Button variant="default" onClick={onClose} disabled={isBusy}>
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
  // Known at once, and not with the next rendering.
  const isSending = useRef(false);
  const open = (): void => {
    setError(null);
    setIsOpen(true);
  };
  const confirm = async (): Promise<void> => {
    isSending.current = true;
    setIsBusy(true);
    try {
      await onConfirm();
      setIsOpen(false);
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      isSending.current = false;
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
        onClose={() => {
          if (!isSending.current) setIsOpen(false);
        }}
        submitLabel={label}
        onSubmit={() => void confirm()}
        isBusy={isBusy}
        error={error}
        isDangerous={isDangerous ?? false}
      >
        <Text component="div">{question}</Text>
      </FormDialog>
    </>
  );
}
