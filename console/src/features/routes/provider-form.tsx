import { NativeSelect, Stack } from '@mantine/core';
import { useState } from 'react';
import { useRead } from '../../api/queries.ts';
import type { ProviderPreset } from '../../api/types.ts';
import { type Fields, textOf } from '../../parts/catalog/catalog-value.ts';
import { TranslationFields } from '../../parts/catalog/dialect-fields.tsx';
import { EntryDialog, type EntryDialogProps, EntryName } from '../../parts/catalog/entry-dialog.tsx';
import { LimitFields } from '../../parts/catalog/limit-fields.tsx';
import { FoldedFields, ParameterFields } from '../../parts/catalog/request-fields.tsx';
import { requestTexts } from '../../parts/catalog/request-texts.ts';
import { SettingFields } from '../../parts/catalog/setting-fields.tsx';
import { type Entry, useEntry } from '../../parts/catalog/use-entry.ts';
import { DimmedText } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { credentialValue } from './credential-draft.ts';
import { CredentialFields } from './credential-fields.tsx';
import { providersTexts } from './providers-texts.ts';

export function EditProviderDialog({ name, ...dialog }: EntryDialogProps & { readonly name: string }) {
  const text = useTexts(providersTexts);
  const entry = useEntry(dialog.catalog, 'providers', name);
  return (
    <EntryDialog {...dialog} entry={entry} title={text.editTitle(name)} size="lg">
      <ProviderFields entry={entry} />
    </EntryDialog>
  );
}

/** Members in the order of the text. */
const NEW_PROVIDER = { protocol: 'chat', baseUrl: '', apiKey: credentialValue({ kind: 'variable', value: '' }) };

export function NewProviderDialog(dialog: EntryDialogProps) {
  const text = useTexts(providersTexts);
  const presets = useRead('GET /admin/v1/provider-presets', {}).data?.data ?? [];
  const entry = useEntry(dialog.catalog, 'providers', null, NEW_PROVIDER);
  const [chosen, setChosen] = useState('');
  const offers = presets.flatMap((preset) => preset.providers.map((provider) => ({ preset, provider })));
  const offer = offers.find(({ provider }) => provider.name === chosen);
  const choose = (name: string): void => {
    const found = offers.find(({ provider }) => provider.name === name);
    setChosen(name);
    entry.rename(name);
    entry.replace(found === undefined ? NEW_PROVIDER : fromPreset(found.preset, found.provider));
  };
  return (
    <EntryDialog {...dialog} entry={entry} title={text.add} size="lg">
      <NativeSelect
        label={text.preset}
        description={text.presetHint}
        value={chosen}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
        data={[
          { value: '', label: text.byHand },
          ...offers.map(({ preset, provider }) => ({ value: provider.name, label: offerLabel(preset, provider) })),
        ]}
      />
      {offer?.preset.notes.map((note) => (
        <DimmedText key={note}>{note}</DimmedText>
      ))}
      <EntryName entry={entry} label={text.name} />
      {/* Mounted again, because a preset replaces all values. */}
      <ProviderFields key={chosen} entry={entry} />
    </EntryDialog>
  );
}

type Offered = ProviderPreset['providers'][number];

function fromPreset({ keyVariable }: ProviderPreset, { name: _name, protocol, baseUrl, ...others }: Offered): Fields {
  return { protocol, baseUrl, apiKey: credentialValue({ kind: 'variable', value: keyVariable }), ...others };
}

function offerLabel({ title, providers }: ProviderPreset, { protocol }: Offered): string {
  return providers.length === 1 ? title : `${title} · ${protocol}`;
}

function ProviderFields({ entry }: { readonly entry: Entry }) {
  const text = useTexts(providersTexts);
  const requests = useTexts(requestTexts);
  return (
    <Stack>
      <SettingFields
        entry={entry}
        fields={[
          {
            setting: 'protocol',
            label: text.protocol,
            kind: 'choice',
            options: ['chat', 'messages'],
            isRequired: true,
          },
          { setting: 'baseUrl', label: text.address, kind: 'url', isRequired: true },
        ]}
      />
      <CredentialFields entry={entry} />
      <SettingFields
        entry={entry}
        fields={[
          { setting: 'vendor', label: text.vendor, description: text.vendorHint },
          {
            setting: 'auth',
            label: text.auth,
            description: text.authHint,
            kind: 'choice',
            options: ['bearer', 'x-api-key', 'api-key'],
          },
          {
            setting: 'missingUsage',
            label: text.missingUsage,
            description: text.missingUsageHint,
            kind: 'choice',
            options: ['refuse', 'estimate'],
          },
          { setting: 'connections', label: text.connections, description: text.connectionsHint, kind: 'number' },
          { setting: 'proxy', label: text.proxy, description: text.proxyHint },
        ]}
      />
      <FoldedFields>
        <Stack gap="sm">
          <ParameterFields value={entry.value.parameters} onChange={(parameters) => entry.change({ parameters })} />
          <SettingFields
            entry={entry}
            columns={1}
            fields={[
              {
                setting: 'forwardHeaders',
                label: requests.forwardHeaders,
                description: requests.forwardHeadersHint,
                placeholder: 'x-opencode-session',
                kind: 'names',
              },
            ]}
          />
          <LimitFields entry={entry} of="provider" />
        </Stack>
      </FoldedFields>
      <TranslationFields entry={entry} of="provider" protocol={textOf(entry.value.protocol)} />
    </Stack>
  );
}
