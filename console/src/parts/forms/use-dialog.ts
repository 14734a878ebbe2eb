import { useDisclosure } from '@mantine/hooks';
import { DIALOG, DIALOG_OF, usePlaceQuery } from '../location.ts';

export interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function useDialog(): [open: () => void, dialog: DialogProps] {
  const [isOpen, { open, close }] = useDisclosure(false);
  return [open, { isOpen, onClose: close }];
}

/** A dialog that the page address names, so that links can open it. Names are unique on a page. */
export function usePlaceDialog(name: string): [open: () => void, dialog: DialogProps] {
  const [query, change] = usePlaceQuery();
  return [
    () => change({ [DIALOG]: name }),
    { isOpen: query[DIALOG] === name, onClose: () => change({ [DIALOG]: null }) },
  ];
}

/** What a dialog does, and the item of a list that it is about; empty for a new one. */
export interface PlaceAction<Kind extends string> {
  readonly kind: Kind;
  readonly name: string;
}

/** A dialog about an item, both named in the page address. Returns `null` while none is open. */
export function usePlaceAction<Kind extends string>(kinds: readonly Kind[]) {
  const [query, change] = usePlaceQuery();
  const kind = kinds.find((each) => each === query[DIALOG]);
  const action: PlaceAction<Kind> | null = kind === undefined ? null : { kind, name: query[DIALOG_OF] ?? '' };
  const open = (next: PlaceAction<Kind> | null): void =>
    change({ [DIALOG]: next?.kind ?? null, [DIALOG_OF]: next?.name ?? null });
  return [action, open] as const;
}
