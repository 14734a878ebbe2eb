import { Anchor, Button, Divider, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiError, ask } from '../../api/client.ts';
import { LINK_KEY, useChange, useRead } from '../../api/queries.ts';
import type { LinkView } from '../../api/types.ts';
import { Form } from '../../parts/forms/form.tsx';
import { NewPassword } from '../../parts/forms/password-fields.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { goTo, usePlace } from '../../parts/location.ts';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { changeSession, SESSION_ENDED, useSessionRead } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { Entrance } from './entrance.tsx';
import { sessionTexts } from './texts.ts';

/** The target of one-time links: sets a first or new password, or joins an account. */
export function WelcomePage() {
  const text = useTexts(sessionTexts);
  const [token] = useState(usePlace().query.token ?? '');
  // Removes the token from the address, so that it does not stay in the browser history.
  useEffect(() => goTo('#/welcome', true), []);
  const link = useQuery({
    queryKey: [LINK_KEY, token],
    queryFn: () => ask('POST /account/v1/links/look', { body: { token } }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isVoid = link.error instanceof ApiError && [400, 404, 410].includes(link.error.status);
  return (
    <Entrance title={text.welcome}>
      {link.isPending && <Loading />}
      {isVoid && (
        <EmptyState
          title={text.linkVoid}
          hint={text.linkVoidHint}
          action={<Anchor href="#/">{text.toSignIn}</Anchor>}
        />
      )}
      {!isVoid && <ErrorNotice error={link.error} onRetry={() => void link.refetch()} />}
      {link.isSuccess && <LinkForm token={token} link={link.data} />}
    </Entrance>
  );
}

function LinkForm({ token, link }: { readonly token: string; readonly link: LinkView }) {
  const text = useTexts(sessionTexts);
  const queries = useQueryClient();
  const session = useSessionRead().data ?? null;
  const whoAmI = session === SESSION_ENDED ? null : session;
  const [{ name, password }, field] = useDraft(() => ({ name: link.name ?? '', password: '' }));
  const use = useChange('POST /account/v1/links/use');
  const providers = useRead('GET /account/v1/oidc', {}).data?.data ?? [];
  const isInvitation = link.kind === 'invitation';

  async function openLink(body: { token: string; name?: string; password?: string }): Promise<void> {
    const response = await use.mutateAsync({ body }).catch(() => null);
    if (response === null) return;
    changeSession(queries, response);
    goTo('#/', true);
  }

  async function signInAt(provider: string): Promise<void> {
    const { url } = await ask('POST /account/v1/oidc/{id}/flows', { path: { id: provider }, body: { token } });
    window.location.assign(url);
  }

  return (
    <Stack>
      <Text>{introduction(link, text)}</Text>
      {isInvitation && link.role !== null && <Text c="dimmed">{text.invitedAs[link.role]}</Text>}
      {isInvitation && whoAmI !== null && (
        <>
          <Button onClick={() => void openLink({ token })} loading={use.isPending}>
            {text.acceptAs(whoAmI.user.name)}
          </Button>
          <Divider label={text.orNewUser} />
        </>
      )}
      <Form
        submitLabel={isInvitation ? text.accept : text.signIn}
        onSubmit={() => void openLink({ token, password, ...(isInvitation ? { name } : {}) })}
        isBusy={use.isPending}
        error={use.error}
        isWide
      >
        {isInvitation && <TextInput label={text.yourName} required autoComplete="name" {...field('name')} />}
        <NewPassword label={text.newPassword} description={text.passwordRule} {...field('password')} />
      </Form>
      {providers.length > 0 && <Divider label={text.or} />}
      {providers.map(({ name, displayName }) => (
        <Button key={name} variant="default" onClick={() => void signInAt(name)}>
          {text.signInWith(displayName)}
        </Button>
      ))}
    </Stack>
  );
}

function introduction(
  { kind, name, accountName }: LinkView,
  text: ReturnType<typeof useTexts<(typeof sessionTexts)['en']>>,
) {
  switch (kind) {
    case 'invitation':
      return text.invitation(accountName ?? '');
    case 'first_sign_in':
      return text.firstSignIn(name ?? '');
    case 'reset':
      return text.reset(name ?? '');
  }
}
