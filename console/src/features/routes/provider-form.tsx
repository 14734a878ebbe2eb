import { ActionIcon, Button, Fieldset, Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { PlusIcon, XIcon } from '@primer/octicons-react';
import { useRead } from '../../api/queries.ts';
import type { ProviderPreset } from '../../api/types.ts';
import { CatalogDialog } from '../../parts/catalog/catalog-dialog.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { type FieldOf, useDraft } from '../../parts/forms/use-draft.ts';
import { DimmedText } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import {
  CREDENTIAL_KINDS,
  type CredentialDraft,
  emptyProvider,
  newProvider,
  type ProviderDraft,
  presetDraft,
  providerDraft,
  providerEdits,
} from './provider-draft.ts';
import { providersTexts } from './providers-texts.ts';

interface ProviderDialogProps extends DialogProps {
  readonly catalog: Catalog;
}

export function EditProviderDialog({ name, catalog, ...dialog }: ProviderDialogProps & { readonly name: string }) {
  const text = useTexts(providersTexts);
  const stored = () => providerDraft(name, catalog.value.providers[name] ?? {});
  const [draft, field, , opened] = useDraft(stored, dialog.isOpen);
  return (
    <CatalogDialog
      {...dialog}
      title={text.editTitle(name)}
      catalog={catalog}
      edits={() => providerEdits(opened, draft)}
      size="lg"
    >
      <ProviderFields draft={draft} field={field} />
    </CatalogDialog>
  );
}

export function NewProviderDialog({ catalog, ...dialog }: ProviderDialogProps) {
  const text = useTexts(providersTexts);
  const presets = useRead('GET /admin/v1/provider-presets', {}, { isWanted: dialog.isOpen }).data?.data ?? [];
  const [{ chosen, ...draft }, field, set] = useDraft(() => ({ ...emptyProvider, chosen: '' }), dialog.isOpen);
  const offers = presets.flatMap((preset) => preset.providers.map((provider) => ({ preset, provider })));
  const offer = offers.find(({ provider }) => provider.name === chosen);
  return (
    <CatalogDialog
      {...dialog}
      title={text.add}
      catalog={catalog}
      problem={() => (Object.hasOwn(catalog.value.providers, draft.name) ? text.taken : null)}
      edits={() => newProvider(draft)}
      size="lg"
    >
      <NativeSelect
        label={text.preset}
        description={text.presetHint}
        value={chosen}
        onChange={({ currentTarget: { value } }) => {
          const found = offers.find(({ provider }) => provider.name === value);
          set({ ...(found === undefined ? emptyProvider : presetDraft(found.preset, found.provider)), chosen: value });
        }}
        data={[
          { value: '', label: text.byHand },
          ...offers.map(({ preset, provider }) => ({ value: provider.name, label: offerLabel(preset, provider) })),
        ]}
      />
      {offer?.preset.notes.map((note) => (
        <DimmedText key={note}>{note}</DimmedText>
      ))}
      <TextInput label={text.name} required {...field('name')} autoComplete="off" spellCheck={false} />
      <ProviderFields draft={draft} field={field} />
    </CatalogDialog>
  );
}

function offerLabel({ title, providers }: ProviderPreset, { protocol }: ProviderPreset['providers'][number]): string {
  return providers.length === 1 ? title : `${title} · ${protocol}`;
}

interface ProviderFieldsProps {
  readonly draft: ProviderDraft;
  readonly field: FieldOf<ProviderDraft>;
}

function ProviderFields({ draft, field }: ProviderFieldsProps) {
  const text = useTexts(providersTexts);
  const choices = (values: readonly string[]) => [
    { value: '', label: text.byDefault },
    ...values.map((value) => ({ value, label: value })),
  ];
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
        <NativeSelect label={text.protocol} {...field('protocol')} data={['chat', 'messages']} />
        <TextInput label={text.address} type="url" required {...field('baseUrl')} autoComplete="off" />
      </SimpleGrid>
      <Credentials credentials={draft.credentials} onChange={field('credentials').onChange} />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
        <TextInput label={text.vendor} description={text.vendorHint} {...field('vendor')} autoComplete="off" />
        <NativeSelect
          label={text.auth}
          description={text.authHint}
          {...field('auth')}
          data={choices(['bearer', 'x-api-key'])}
        />
        <NativeSelect
          label={text.missingUsage}
          description={text.missingUsageHint}
          {...field('missingUsage')}
          data={choices(['refuse', 'estimate'])}
        />
        <TextInput
          label={text.connections}
          description={text.connectionsHint}
          {...field('connections')}
          inputMode="numeric"
          autoComplete="off"
        />
        <TextInput label={text.proxy} description={text.proxyHint} {...field('proxy')} autoComplete="off" />
      </SimpleGrid>
    </Stack>
  );
}

interface CredentialsProps {
  readonly credentials: readonly CredentialDraft[];
  readonly onChange: (credentials: readonly CredentialDraft[]) => void;
}

function Credentials({ credentials, onChange }: CredentialsProps) {
  const text = useTexts(providersTexts);
  const change = (at: number, changed: Partial<CredentialDraft>) =>
    onChange(credentials.map((each, index) => (index === at ? { ...each, ...changed } : each)));
  return (
    <Fieldset legend={text.credentials}>
      <Stack gap="xs">
        <DimmedText>{text.credentialsHint}</DimmedText>
        {credentials.map(({ kind, value }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: credentials have no names
          <Group key={index} gap="xs" wrap="nowrap" align="flex-end">
            <NativeSelect
              aria-label={text.kindOf(String(index + 1))}
              value={kind}
              onChange={({ currentTarget }) =>
                change(index, { kind: currentTarget.value as CredentialDraft['kind'], value: '' })
              }
              data={[...CREDENTIAL_KINDS, ...(kind === 'other' ? (['other'] as const) : [])].map((each) => ({
                value: each,
                label: text.kinds[each],
              }))}
              w={130}
              style={{ flexShrink: 0 }}
            />
            <TextInput
              aria-label={text.valueOf(String(index + 1))}
              value={value}
              readOnly={kind === 'other'}
              required
              placeholder={text.examples[kind]}
              onChange={({ currentTarget }) => change(index, { value: currentTarget.value.trim() })}
              autoComplete="off"
              spellCheck={false}
              style={{ flex: 1 }}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              disabled={credentials.length === 1}
              aria-label={text.removeCredential(String(index + 1))}
              onClick={() => onChange(credentials.filter((_, at) => at !== index))}
            >
              <XIcon />
            </ActionIcon>
          </Group>
        ))}
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<PlusIcon />}
          onClick={() => onChange([...credentials, { kind: 'variable', value: '' }])}
          style={{ alignSelf: 'flex-start' }}
        >
          {text.addCredential}
        </Button>
      </Stack>
    </Fieldset>
  );
}
