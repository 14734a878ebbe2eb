import type { ChangeName } from '../../api/client.ts';
import { SmallButton } from '../small.ts';
import { type Confirmation, useConfirm } from './use-confirm.tsx';

export function ConfirmButton<Name extends ChangeName>(confirmation: Confirmation<Name>) {
  const [ask, dialog] = useConfirm();
  return (
    <>
      <SmallButton onClick={() => ask(confirmation)}>{confirmation.label}</SmallButton>
      {dialog}
    </>
  );
}
