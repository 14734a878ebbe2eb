import { Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../text/language.tsx';
import { SecretOnce } from './copy.tsx';
import { commonTexts } from './texts.ts';

interface SecretDialogProps {
  readonly title: string;
  readonly secret: string | null;
  readonly hint: string;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** Shows a secret once. Only the button closes the dialog, so that a stray click does not lose the secret. */
export function SecretDialog({ title, secret, hint, onClose, children }: SecretDialogProps) {
  const text = useTexts(commonTexts);
  return (
    <Modal
      opened={secret !== null}
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        {secret !== null && <SecretOnce secret={secret} hint={hint} />}
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            {text.done}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
