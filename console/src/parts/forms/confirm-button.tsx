import { Text } from '@mantine/core';
import type { ChangeName, InputOf } from '../../api/client.ts';
import { SmallButton } from '../small.ts';
import { ChangeDialog, type ChangeDialogProps } from './change-dialog.tsx';
import { useDialog } from './use-dialog.ts';

interface ConfirmButtonProps<Name extends ChangeName>
  extends Pick<ChangeDialogProps<Name>, 'endpoint' | 'isDangerous' | 'doneText' | 'onDone'> {
  readonly label: string;
  /** States the effect and what is irreversible. */
  readonly question: string;
  readonly input: InputOf<Name>;
}

export function ConfirmButton<Name extends ChangeName>({
  label,
  question,
  input,
  ...change
}: ConfirmButtonProps<Name>) {
  const [open, dialog] = useDialog();
  return (
    <>
      <SmallButton onClick={open}>{label}</SmallButton>
      <ChangeDialog {...change} {...dialog} title={label} input={() => input}>
        <Text component="div">{question}</Text>
      </ChangeDialog>
    </>
  );
}
