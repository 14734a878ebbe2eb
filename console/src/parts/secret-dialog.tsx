import { Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../text/language.tsx';
import { SecretOnce } from './copy.tsx';
import { commonTexts } from './texts.ts';

interface SecretDialogProps {
  readonly title: string;
  /** `null`: the dialog is closed. */
  readonly secret: string | null;
  readonly hint: string;
  readonly onClose: () => void;
  /** What to do with it. */
  readonly children?: ReactNode;
}

/** Shows a secret that cannot be read again. It closes by its button alone, so that nobody loses the secret by a slip. */
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
