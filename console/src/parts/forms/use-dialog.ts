import { useDisclosure } from '@mantine/hooks';

/** What a dialog is given by what opens it. */
export interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** A function that opens a dialog, and what the dialog is given. */
export function useDialog(): [open: () => void, dialog: DialogProps] {
  const [isOpen, { open, close }] = useDisclosure(false);
  return [open, { isOpen, onClose: close }];
}
