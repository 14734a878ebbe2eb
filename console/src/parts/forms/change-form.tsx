import type { ReactNode } from 'react';
import type { ChangeName, InputOf, ResponseOf } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import { useTexts } from '../../text/language.tsx';
import { commonTexts } from '../texts.ts';
import { Form } from './form.tsx';

interface ChangeFormProps<Name extends ChangeName> {
  readonly endpoint: Name;
  /** What is sent, by what was entered; `null`: nothing can or has to be, and the button is off. */
  readonly input: InputOf<Name> | null;
  readonly onDone?: (response: ResponseOf<Name>) => void;
  /** What the button says; "Save" if it is absent. */
  readonly submitLabel?: string;
  readonly children: ReactNode;
}

/** Fields on a page that make one change; `ChangeDialog` is the same over the page. */
export function ChangeForm<Name extends ChangeName>(props: ChangeFormProps<Name>) {
  const { endpoint, input, onDone, submitLabel, children } = props;
  const common = useTexts(commonTexts);
  const { mutate, isPending, error } = useChange(endpoint);
  const submit = (): void => {
    if (input !== null) mutate(input, { onSuccess: (response) => onDone?.(response) });
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
