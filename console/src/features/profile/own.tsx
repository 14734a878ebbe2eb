import { PasswordInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { SaveForm } from '../../parts/forms/save-form.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { Identities } from './identities.tsx';
import { OwnSessions } from './own-sessions.tsx';
import { profileTexts } from './texts.ts';

/** What belongs to the person who has signed in, whatever accounts it has. */
export function ProfilePage() {
  const text = useTexts(profileTexts);
  return (
    <Page title={text.title}>
      <You />
      <Password />
      <OwnSessions />
      <Identities />
    </Page>
  );
}

function You() {
  const text = useTexts(profileTexts);
  const { user } = useSession();
  const change = useChange('PATCH /account/v1/user');
  const [name, setName] = useState(user.name);
  const [email, setEmail] = useState(user.email ?? '');
  const [currentPassword, setCurrentPassword] = useState('');
  const body = {
    ...(name.trim() === user.name ? {} : { name: name.trim() }),
    ...(email.trim() === (user.email ?? '') ? {} : { email: email.trim() }),
  };
  const isChanged = Object.keys(body).length > 0;
  const changesSignIn = body.email !== undefined || (isChanged && user.email === null);
  const submit = (): void =>
    change.mutate(
      { body: changesSignIn ? { ...body, currentPassword } : body },
      {
        onSuccess: () => {
          setCurrentPassword('');
          notifications.show({ color: 'teal', message: text.saved });
        },
      },
    );
  return (
    <Section title={text.you}>
      <SaveForm
        isChanged={isChanged && (!changesSignIn || user.hasPassword)}
        isBusy={change.isPending}
        error={change.error}
        onSubmit={submit}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TextInput
            label={text.name}
            required
            maxLength={200}
            autoComplete="name"
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <TextInput
            label={text.email}
            description={user.email === null ? text.noEmailHint : text.emailHint}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            type="email"
            required={user.email !== null}
            maxLength={200}
            autoComplete="email"
            value={email}
            onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          />
        </SimpleGrid>
        {changesSignIn && !user.hasPassword && <Text size="sm">{text.noPasswordHint}</Text>}
        {changesSignIn && user.hasPassword && (
          <PasswordInput
            label={text.currentPassword}
            description={text.currentPasswordHint}
            required
            maw={400}
            autoComplete="current-password"
            value={currentPassword}
            onChange={({ currentTarget }) => setCurrentPassword(currentTarget.value)}
          />
        )}
      </SaveForm>
    </Section>
  );
}

function Password() {
  const text = useTexts(profileTexts);
  const { user } = useSession();
  const change = useChange('PUT /account/v1/password');
  const [currentPassword, setCurrentPassword] = useState('');
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const submit = (): void =>
    change.mutate(
      { body: { currentPassword, password } },
      {
        onSuccess: () => {
          setCurrentPassword('');
          setPassword('');
          setRepeated('');
          notifications.show({ color: 'teal', message: text.passwordChanged });
        },
      },
    );
  if (!user.hasPassword) {
    return (
      <Section title={text.passwordTitle}>
        <Text size="sm">{text.noPassword}</Text>
      </Section>
    );
  }
  return (
    <Section title={text.passwordTitle} lead={text.passwordLead}>
      <SaveForm
        label={text.changePassword}
        isChanged={currentPassword !== '' && password !== '' && password === repeated}
        isBusy={change.isPending}
        error={change.error}
        onSubmit={submit}
      >
        <Stack maw={400} gap="sm">
          <PasswordInput
            label={text.currentPassword}
            required
            autoComplete="current-password"
            value={currentPassword}
            onChange={({ currentTarget }) => setCurrentPassword(currentTarget.value)}
          />
          <PasswordInput
            label={text.newPassword}
            description={text.passwordRule}
            required
            minLength={12}
            maxLength={200}
            autoComplete="new-password"
            value={password}
            onChange={({ currentTarget }) => setPassword(currentTarget.value)}
          />
          <PasswordInput
            label={text.repeated}
            required
            maxLength={200}
            autoComplete="new-password"
            value={repeated}
            error={repeated !== '' && !password.startsWith(repeated) && text.differs}
            onChange={({ currentTarget }) => setRepeated(currentTarget.value)}
          />
        </Stack>
      </SaveForm>
    </Section>
  );
}
