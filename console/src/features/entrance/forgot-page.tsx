import { Alert, Anchor, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { Form } from '../../parts/forms/form.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { hashOf } from '../../parts/location.ts';
import { useTexts } from '../../text/language.tsx';
import { Entrance } from './entrance.tsx';
import { sessionTexts } from './texts.ts';

/** Asks for a link to choose a new password. What it says afterwards is the same for every address. */
export function ForgotPage() {
  const text = useTexts(sessionTexts);
  const [{ user }, field] = useDraft(() => ({ user: '' }));
  const [askedFor, setAskedFor] = useState<string | null>(null);
  const forgot = useChange('POST /account/v1/password-resets');

  async function submit(): Promise<void> {
    await forgot.mutateAsync({ body: { user } }).then(
      () => setAskedFor(user),
      () => undefined,
    );
  }

  return (
    <Entrance title={text.forgotTitle}>
      <Stack>
        {askedFor === null ? (
          <>
            <Text size="sm">{text.forgotLead}</Text>
            <Form
              submitLabel={text.sendLink}
              onSubmit={() => void submit()}
              isBusy={forgot.isPending}
              error={forgot.error}
              isWide
            >
              <TextInput
                label={text.email}
                name="user"
                type="email"
                autoComplete="username"
                required
                maxLength={200}
                {...field('user')}
              />
            </Form>
          </>
        ) : (
          <Alert color="blue" role="status">
            {text.linkSent(askedFor)}
          </Alert>
        )}
        <Anchor size="sm" href={hashOf('/')}>
          {text.backToSignIn}
        </Anchor>
      </Stack>
    </Entrance>
  );
}
