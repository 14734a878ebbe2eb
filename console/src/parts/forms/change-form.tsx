import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import type { ChangeName, InputOf } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import { useTexts } from '../../text/language.tsx';
import { commonTexts } from '../texts.ts';
import { Form } from './form.tsx';

interface ChangeFormProps<Name extends ChangeName> {
  readonly endpoint: Name;
  /** The input to send; `null` disables the button. */
  readonly input: InputOf<Name> | null;
  readonly doneText: string;
  readonly onDone?: () => void;
  /** Defaults to "Save". */
  readonly submitLabel?: string;
  readonly children: ReactNode;
}

/** An inline form for one change; `ChangeDialog` is the modal counterpart. */
export function ChangeForm<Name extends ChangeName>(props: ChangeFormProps<Name>) {
  const { endpoint, input, doneText, onDone, submitLabel, children } = props;
  const common = useTexts(commonTexts);
  const { mutate, isPending, error } = useChange(endpoint);
  const onSuccess = (): void => {
    onDone?.();
    notifications.show({ color: 'teal', message: doneText });
  };
  const submit = (): void => {
    if (input !== null) mutate(input, { onSuccess });
  };
  return (
    <Form
      submitLabel={submitLabel ?? common.save}
      onSubmit={submit}
      isBusy={isPending}
      isDisabled={input === null}
      error={error}
      isOfChange
    >
      {children}
    </Form>
  );
}
