import { Alert, TextInput } from '@mantine/core';
import { SearchIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { Form } from '../../parts/forms/form.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { goTo, hashOf, usePlaceQuery } from '../../parts/location.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { FoundKeys } from './found-keys.tsx';
import { FoundRequest } from './found-request.tsx';
import { findTexts } from './texts.ts';
import { type Entered, whatWasEntered } from './what-was-entered.ts';

/** One field for all that an account holder may have sent along with a complaint. Ids are kept in the address; keys are not. */
export function FindPage() {
  const text = useTexts(findTexts);
  const [{ id = '' }, setQuery] = usePlaceQuery();
  const [{ entered }, set] = useDraft(() => ({ entered: id }));
  const [key, setKey] = useState<Entered | null>(null);
  const submit = (): void => {
    const found = whatWasEntered(entered);
    switch (found.kind) {
      case 'nothing':
      case 'call':
      case 'request':
        setKey(null);
        setQuery({ id: found.kind === 'nothing' ? null : found.id });
        return;
      case 'account':
        goTo(hashOf(`/operator/accounts/${found.id}`));
        return;
      default:
        setKey(found);
        setQuery({ id: null });
    }
  };
  return (
    <Page title={text.title} lead={text.lead}>
      <Section>
        <Form submitLabel={text.find} icon={<SearchIcon />} onSubmit={submit} isDisabled={entered.trim() === ''}>
          <TextInput
            label={text.field}
            description={text.fieldHint}
            value={entered}
            onChange={({ currentTarget }) => set({ entered: currentTarget.value })}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            data-1p-ignore
          />
        </Form>
      </Section>
      {key?.kind === 'foreign_secret' && (
        <Alert color="yellow" title={text.foreign} role="status">
          {text.foreignHint}
        </Alert>
      )}
      {(key?.kind === 'key' || key?.kind === 'prefix') && <FoundKeys entered={key} whole={entered.trim()} />}
      {key === null && id !== '' && <FoundRequest id={id} />}
    </Page>
  );
}
