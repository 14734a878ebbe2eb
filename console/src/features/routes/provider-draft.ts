import type { ProviderPreset } from '../../api/types.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../parts/catalog/catalog-value.ts';
import type { CatalogEdit } from '../../parts/catalog/edits.ts';
import { edited, editedMembers, filled, numberOrText } from '../../parts/catalog/edits.ts';

export const CREDENTIAL_KINDS = ['variable', 'file', 'secret'] as const;

/** Where the node finds a credential. `other` is a text that this form does not know, and leaves as it is. */
export interface CredentialDraft {
  readonly kind: (typeof CREDENTIAL_KINDS)[number] | 'other';
  readonly value: string;
}

const MEMBERS = ['protocol', 'baseUrl', 'vendor', 'auth', 'missingUsage', 'proxy'] as const;

export interface ProviderDraft extends Readonly<Record<(typeof MEMBERS)[number], string>> {
  readonly name: string;
  readonly connections: string;
  readonly credentials: readonly CredentialDraft[];
  /** Set by a preset only. */
  readonly allows: readonly string[];
}

export const emptyProvider: ProviderDraft = {
  name: '',
  protocol: 'chat',
  baseUrl: '',
  vendor: '',
  auth: '',
  missingUsage: '',
  proxy: '',
  connections: '',
  credentials: [{ kind: 'variable', value: '' }],
  allows: [],
};

export function providerDraft(name: string, fields: Fields): ProviderDraft {
  const members = Object.fromEntries(MEMBERS.map((member) => [member, textOf(fields[member])])) as Pick<
    ProviderDraft,
    (typeof MEMBERS)[number]
  >;
  const credentials = credentialsOf(fields).map(credentialDraft);
  return { ...members, name, connections: textOf(fields.connections), credentials, allows: [] };
}

export function credentialsOf({ apiKey, apiKeys }: Fields): unknown[] {
  return [...(apiKey === undefined || apiKey === '' ? [] : [apiKey]), ...listOf(apiKeys)];
}

export function presetDraft(preset: ProviderPreset, provider: ProviderPreset['providers'][number]): ProviderDraft {
  const { name, protocol, baseUrl, vendor, auth, missingUsage, allows } = provider;
  return {
    ...emptyProvider,
    ...{ name, protocol, baseUrl, allows },
    vendor: vendor ?? '',
    auth: auth ?? '',
    missingUsage: missingUsage ?? '',
    credentials: [{ kind: 'variable', value: preset.keyVariable }],
  };
}

function credentialDraft(value: unknown): CredentialDraft {
  const { file, secret } = fieldsOf(value);
  if (file !== undefined) return { kind: 'file', value: textOf(file) };
  if (secret !== undefined) return { kind: 'secret', value: textOf(secret) };
  const variable = /^\$\{(\w+)\}$/.exec(textOf(value))?.[1];
  return variable === undefined ? { kind: 'other', value: textOf(value) } : { kind: 'variable', value: variable };
}

function credentialValue({ kind, value }: CredentialDraft): unknown {
  if (kind === 'other') return value;
  return kind === 'variable' ? `\${${value}}` : { [kind]: value };
}

export function newProvider({ name, credentials, allows, connections, ...members }: ProviderDraft): CatalogEdit[] {
  const values = credentials.map(credentialValue);
  const credential = values.length === 1 ? { apiKey: values[0] } : { apiKeys: values };
  const value = filled({ ...members, ...credential, allows, connections: numberOrText(connections) });
  return [{ path: ['providers', name], value }];
}

export function providerEdits(before: ProviderDraft, after: ProviderDraft): CatalogEdit[] {
  const path = ['providers', before.name];
  const members = (draft: ProviderDraft) => Object.fromEntries(MEMBERS.map((member) => [member, draft[member]]));
  return [
    ...editedMembers(path, members(before), members(after)),
    ...edited([...path, 'connections'], numberOrText(before.connections), numberOrText(after.connections)),
    ...credentialEdits(path, before.credentials, after.credentials),
  ];
}

/** One credential is `apiKey`, several are `apiKeys`. */
function credentialEdits(
  path: CatalogEdit['path'],
  before: readonly CredentialDraft[],
  after: readonly CredentialDraft[],
): CatalogEdit[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const values = after.map(credentialValue);
  return values.length > 1
    ? [{ path: [...path, 'apiKey'] }, { path: [...path, 'apiKeys'], value: values }]
    : [{ path: [...path, 'apiKeys'] }, { path: [...path, 'apiKey'], value: values[0] }];
}
