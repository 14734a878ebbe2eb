import { Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { ChangeName, InputOf } from '../../api/client.ts';
import { ChangeDialog, type ChangeDialogProps } from './change-dialog.tsx';
import { type DialogProps, useDialog } from './use-dialog.ts';

/** A change without fields. */
export interface Confirmation<Name extends ChangeName>
  extends Pick<ChangeDialogProps<Name>, 'endpoint' | 'isDangerous' | 'doneText' | 'onDone'> {
  readonly label: string;
  /** States the effect and what is irreversible. */
  readonly question: string;
  readonly input: InputOf<Name>;
}

interface Asked {
  readonly render: (dialog: DialogProps) => ReactNode;
}

/** Asks before a change. Returns the function that asks, and the dialog, which must be outside of the menu that opens it. */
export function useConfirm() {
  const [open, dialog] = useDialog();
  const [asked, setAsked] = useState<Asked | null>(null);
  function ask<Name extends ChangeName>({ label, question, input, ...change }: Confirmation<Name>): void {
    setAsked({
      render: (state) => (
        <ChangeDialog key={label} {...change} {...state} title={label} input={() => input}>
          <Text component="div">{question}</Text>
        </ChangeDialog>
      ),
    });
    open();
  }
  return [ask, asked?.render(dialog)] as const;
}
