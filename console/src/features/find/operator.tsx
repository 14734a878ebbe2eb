import { Alert, TextInput } from '@mantine/core';
import { SearchIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { Form } from '../../parts/forms/form.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { goTo, hashOf, usePlaceQuery } from '../../parts/location.ts';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { FoundKeys } from './found-keys.tsx';
import { FoundText } from './found-request.tsx';
import { FoundVoucher } from './found-voucher.tsx';
import { findTexts } from './texts.ts';
import { type Entered, whatWasEntered } from './what-was-entered.ts';

/** Searches for an account, user, key, request or voucher. Secrets are never put into the address. */
export function FindPage() {
  const text = useTexts(findTexts);
  const [{ id = '' }, setQuery] = usePlaceQuery();
  const [{ entered }, field] = useDraft(() => ({ entered: id }));
  const [secret, setSecret] = useState<Entered | null>(null);
  const submit = (): void => {
    const found = whatWasEntered(entered);
    switch (found.kind) {
      case 'nothing':
      case 'call':
      case 'text':
        setSecret(null);
        setQuery({ id: found.kind === 'nothing' ? null : found.id });
        return;
      case 'account':
        goTo(hashOf(`/operator/accounts/${found.id}`));
        return;
      default:
        setSecret(found);
        setQuery({ id: null });
    }
  };
  return (
    <Page lead={text.lead}>
      <Section>
        <Form submitLabel={text.find} icon={<SearchIcon />} onSubmit={submit} isDisabled={entered.trim() === ''}>
          <TextInput
            label={text.field}
            description={text.fieldHint}
            {...field('entered')}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            data-1p-ignore
          />
        </Form>
      </Section>
      {secret?.kind === 'foreign_secret' && (
        <Alert color="yellow" title={text.foreign} role="status">
          {text.foreignHint}
        </Alert>
      )}
      {(secret?.kind === 'key' || secret?.kind === 'prefix' || secret?.kind === 'key_id') && (
        <FoundKeys entered={secret} whole={entered.trim()} />
      )}
      {secret?.kind === 'voucher' && <FoundVoucher code={secret.code} />}
      {secret === null && id !== '' && <FoundText id={id} />}
    </Page>
  );
}
