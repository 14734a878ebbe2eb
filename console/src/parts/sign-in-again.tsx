import { Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { useRead } from '../api/queries.ts';
import { useTexts } from '../text/language.tsx';
import { CurrentPassword } from './forms/password-fields.ts';
import { commonTexts } from './texts.ts';

/**
 * Asks the user to sign in again if the session is too old for a change: with the password, or at an OpenID provider that returns to this
 * page. It is not a form, because it appears within forms.
 */
export function SignInAgain({ onDone }: { readonly onDone?: (() => void) | undefined }) {
  const text = useTexts(commonTexts).signInAgain;
  const queries = useQueryClient();
  const whoAmI = useRead('GET /account/v1/session', {}).data;
  const providers = useRead('GET /account/v1/oidc', {}).data?.data ?? [];
  const [password, setPassword] = useState('');
  const [state, setState] = useState<'open' | 'busy' | 'failed' | 'done'>('open');
  if (whoAmI === undefined) return null;
  if (state === 'done') return <Text size="sm">{text.done}</Text>;
  const { user, sessionId } = whoAmI;

  async function attempt(work: () => Promise<void>): Promise<void> {
    setState('busy');
    await work().catch(() => setState('failed'));
  }

  const byPassword = () =>
    attempt(async () => {
      await ask('POST /account/v1/sessions', { body: { user: user.email ?? user.name, password } });
      // The new session replaces the old one.
      await ask('DELETE /account/v1/sessions/{id}', { path: { id: sessionId } });
      setState('done');
      await queries.invalidateQueries({ queryKey: ['GET /account/v1/session'] });
      onDone?.();
    });

  const at = (provider: string) =>
    attempt(async () => {
      const body = { again: true, returnTo: `/console${window.location.hash}` };
      const { url } = await ask('POST /account/v1/oidc/{id}/flows', { path: { id: provider }, body });
      window.location.assign(url);
    });

  return (
    <Stack gap="xs" mt="xs">
      {user.hasPassword && (
        <Group align="flex-end">
          <CurrentPassword
            label={text.password}
            required={false}
            value={password}
            onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              void byPassword();
            }}
          />
          <Button loading={state === 'busy'} disabled={password === ''} onClick={() => void byPassword()}>
            {text.signIn}
          </Button>
        </Group>
      )}
      {providers.map(({ name, displayName }) => (
        <Button key={name} variant="default" loading={state === 'busy'} onClick={() => void at(name)}>
          {text.signInWith(displayName)}
        </Button>
      ))}
      {state === 'failed' && <Text size="sm">{text.failed}</Text>}
    </Stack>
  );
}
