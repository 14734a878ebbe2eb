import { Alert, Anchor, Button, Divider, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useChange, useRead } from '../../api/queries.ts';
import { Form } from '../../parts/forms/form.tsx';
import { CurrentPassword } from '../../parts/forms/password-fields.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { hashOf, type Place, usePlace } from '../../parts/location.ts';
import { DimmedText } from '../../parts/small.ts';
import { changeSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { Entrance } from './entrance.tsx';
import { FORGOT_PATH } from './forgot-path.ts';
import { sessionTexts } from './texts.ts';

/** Shown instead of the requested page while nobody is signed in. */
export function SignInPage({ hasEnded }: { readonly hasEnded: boolean }) {
  const text = useTexts(sessionTexts);
  const queries = useQueryClient();
  const place = usePlace();
  const [{ user, password }, field] = useDraft(() => ({ user: '', password: '' }));
  const signIn = useChange('POST /account/v1/sessions');
  const begin = useChange('POST /account/v1/oidc/{id}/flows');
  const providers = useRead('GET /account/v1/oidc', {}).data?.data ?? [];
  const hasResets = useRead('GET /account/v1/password-resets', {}).data?.isAvailable === true;
  const failure = place.path === '/sign-in' ? place.query.error : undefined;

  async function submit(): Promise<void> {
    const whoAmI = await signIn.mutateAsync({ body: { user, password } }).catch(() => null);
    if (whoAmI !== null) changeSession(queries, whoAmI);
  }

  async function signInAt(provider: string): Promise<void> {
    const input = { path: { id: provider }, body: { returnTo: returnAddress(place) } };
    const begun = await begin.mutateAsync(input).catch(() => null);
    if (begun !== null) window.location.assign(begun.url);
  }

  return (
    <Entrance title={text.signIn}>
      <Stack>
        {hasEnded && <Alert color="yellow">{text.sessionEnded}</Alert>}
        {failure !== undefined && <Alert color="red">{ownValue(text.oidcErrors, failure) ?? text.oidcFailed}</Alert>}
        <Form
          submitLabel={text.signIn}
          onSubmit={() => void submit()}
          isBusy={signIn.isPending}
          error={signIn.error ?? begin.error}
          isWide
        >
          <TextInput label={text.user} name="user" autoComplete="username" required {...field('user')} />
          <CurrentPassword label={text.password} name="password" {...field('password')} />
        </Form>
        {hasResets && (
          <Anchor size="sm" href={hashOf(FORGOT_PATH)}>
            {text.forgot}
          </Anchor>
        )}
        {providers.length > 0 && <Divider label={text.or} />}
        {providers.map(({ name, displayName }) => (
          <Button key={name} variant="default" loading={begin.isPending} onClick={() => void signInAt(name)}>
            {text.signInWith(displayName)}
          </Button>
        ))}
        <DimmedText>{text.noAccountYet}</DimmedText>
      </Stack>
    </Entrance>
  );
}

/** The address to which the identity provider returns the browser. */
function returnAddress({ path, query }: Place): string {
  return path === '/sign-in' ? '/console' : `/console${hashOf(path, query)}`;
}
