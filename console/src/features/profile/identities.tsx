import { Text } from '@mantine/core';
import { useState } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import { Instant } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { CurrentPassword } from '../../parts/forms/password-fields.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { EmptyState, ErrorNotice } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { profileTexts } from './texts.ts';

type Provider = ResponseOf<'GET /account/v1/oidc'>['data'][number];

/** OpenID identities of the user. Hidden if the gateway has no provider and the user no identity. */
export function Identities() {
  const text = useTexts(profileTexts);
  const read = useRead('GET /account/v1/identities', {});
  const providers = useRead('GET /account/v1/oidc', {}).data?.data ?? [];
  const [added, setAdded] = useState<Provider | null>(null);
  const identities = read.data?.data ?? [];
  if (providers.length === 0 && identities.length === 0 && read.error === null) return null;
  const nameOf = (provider: string | null, issuer: string): string =>
    providers.find(({ name }) => name === provider)?.displayName ?? issuer;
  return (
    <Section
      title={text.identities}
      lead={text.identitiesLead}
      actions={providers.map((provider) => (
        <SmallButton key={provider.name} onClick={() => setAdded(provider)}>
          {text.add(provider.displayName)}
        </SmallButton>
      ))}
    >
      <ErrorNotice error={read.error} onRetry={() => void read.refetch()} />
      {identities.length === 0 && read.error === null && (
        <EmptyState title={text.noIdentities} hint={text.noIdentitiesHint} />
      )}
      {identities.length > 0 && (
        <DataTable
          label={text.identities}
          items={identities}
          columns={[
            { header: text.provider, cell: ({ provider, issuer }) => nameOf(provider, issuer) },
            { header: text.subject, cell: ({ subject }) => subject },
            { header: text.added, cell: ({ createdAt }) => <Instant at={createdAt} isRelative /> },
            { header: text.lastUsed, cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} isRelative /> },
          ]}
          actions={({ id }) => (
            <ConfirmButton
              label={text.remove}
              question={text.removeQuestion}
              isDangerous
              endpoint="DELETE /account/v1/identities/{id}"
              input={{ path: { id } }}
              doneText={text.removed}
            />
          )}
        />
      )}
      {added !== null && <AddDialog provider={added} onClose={() => setAdded(null)} />}
    </Section>
  );
}

/** Redirects to the provider to add an identity, after asking for the password if the user has one. */
function AddDialog({ provider, onClose }: { readonly provider: Provider; readonly onClose: () => void }) {
  const text = useTexts(profileTexts);
  const { user } = useSession();
  const [{ currentPassword }, field] = useDraft(() => ({ currentPassword: '' }));
  const password = user.hasPassword ? { currentPassword } : {};
  return (
    <ChangeDialog
      endpoint="POST /account/v1/oidc/{id}/flows"
      title={text.add(provider.displayName)}
      submitLabel={text.add(provider.displayName)}
      isOpen
      onClose={onClose}
      input={() => ({
        path: { id: provider.name },
        body: { attach: true, returnTo: '/console#/profile', ...password },
      })}
      onDone={({ url }) => window.location.assign(url)}
    >
      <Text>{text.addLead(provider.displayName)}</Text>
      {user.hasPassword && (
        <CurrentPassword label={text.currentPassword} {...field('currentPassword')} data-autofocus />
      )}
    </ChangeDialog>
  );
}
