import { PasswordInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { ChangeForm } from '../../parts/forms/change-form.tsx';
import { changedMembers } from '../../parts/forms/changed-members.ts';
import { CurrentPassword, NewPassword } from '../../parts/forms/password-fields.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { Identities } from './identities.tsx';
import { OwnSessions } from './own-sessions.tsx';
import { profileTexts } from './texts.ts';

export function ProfilePage() {
  return (
    <Page>
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
  const stored = { name: user.name, email: user.email ?? '' };
  const [{ name, email, currentPassword }, field, set] = useDraft(() => ({ ...stored, currentPassword: '' }));
  const body = changedMembers(stored, { name: name.trim(), email: email.trim() });
  const isChanged = Object.keys(body).length > 0;
  const changesSignIn = body.email !== undefined || (isChanged && user.email === null);
  const mayChange = isChanged && (!changesSignIn || user.hasPassword);
  return (
    <Section title={text.you}>
      <ChangeForm
        endpoint="PATCH /account/v1/user"
        input={mayChange ? { body: changesSignIn ? { ...body, currentPassword } : body } : null}
        doneText={text.saved}
        onDone={() => set({ currentPassword: '' })}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TextInput label={text.name} required maxLength={200} autoComplete="name" {...field('name')} />
          <TextInput
            label={text.email}
            description={user.email === null ? text.noEmailHint : text.emailHint}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            type="email"
            required={user.email !== null}
            maxLength={200}
            autoComplete="email"
            {...field('email')}
          />
        </SimpleGrid>
        {changesSignIn && !user.hasPassword && <Text size="sm">{text.noPasswordHint}</Text>}
        {changesSignIn && user.hasPassword && (
          <CurrentPassword
            label={text.currentPassword}
            description={text.currentPasswordHint}
            maw={400}
            {...field('currentPassword')}
          />
        )}
      </ChangeForm>
    </Section>
  );
}

const noPasswords = () => ({ currentPassword: '', password: '', repeated: '' });

function Password() {
  const text = useTexts(profileTexts);
  const { user } = useSession();
  const [{ currentPassword, password, repeated }, field, set] = useDraft(noPasswords);
  const isWhole = currentPassword !== '' && password !== '' && password === repeated;
  if (!user.hasPassword) {
    return (
      <Section title={text.password}>
        <Text size="sm">{text.noPassword}</Text>
      </Section>
    );
  }
  return (
    <Section title={text.password} lead={text.passwordLead}>
      <ChangeForm
        endpoint="PUT /account/v1/password"
        submitLabel={text.changePassword}
        input={isWhole ? { body: { currentPassword, password } } : null}
        doneText={text.passwordChanged}
        onDone={() => set(noPasswords())}
      >
        <Stack maw={400} gap="sm">
          <CurrentPassword label={text.currentPassword} {...field('currentPassword')} />
          <NewPassword label={text.newPassword} description={text.passwordRule} {...field('password')} />
          <PasswordInput
            label={text.repeated}
            required
            maxLength={200}
            autoComplete="new-password"
            error={repeated !== '' && !password.startsWith(repeated) && text.differs}
            {...field('repeated')}
          />
        </Stack>
      </ChangeForm>
    </Section>
  );
}
