import { useDisclosure } from '@mantine/hooks';

export interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function useDialog(): [open: () => void, dialog: DialogProps] {
  const [isOpen, { open, close }] = useDisclosure(false);
  return [open, { isOpen, onClose: close }];
}
