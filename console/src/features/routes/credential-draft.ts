import { type Fields, fieldsOf, listOf, textOf } from '../../parts/catalog/catalog-value.ts';

export const CREDENTIAL_KINDS = ['secret', 'variable', 'file'] as const;

/** Where the node finds a credential. `other` is a text that this form does not know, and leaves as it is. */
export interface CredentialDraft {
  readonly kind: (typeof CREDENTIAL_KINDS)[number] | 'other';
  readonly value: string;
}

/** The credentials of a provider as in the text: one in `apiKey`, or several in `apiKeys`. */
export function credentialsOf({ apiKey, apiKeys }: Fields): unknown[] {
  return [...(apiKey === undefined || apiKey === '' ? [] : [apiKey]), ...listOf(apiKeys)];
}

export function credentialMembers(credentials: readonly unknown[]): Fields {
  return credentials.length > 1
    ? { apiKey: undefined, apiKeys: credentials }
    : { apiKey: credentials[0], apiKeys: undefined };
}

export function credentialDraft(value: unknown): CredentialDraft {
  const { file, secret } = fieldsOf(value);
  if (file !== undefined) return { kind: 'file', value: textOf(file) };
  if (secret !== undefined) return { kind: 'secret', value: textOf(secret) };
  const variable = /^\$\{(\w*)\}$/.exec(textOf(value))?.[1];
  return variable === undefined ? { kind: 'other', value: textOf(value) } : { kind: 'variable', value: variable };
}

export function credentialValue({ kind, value }: CredentialDraft): unknown {
  if (kind === 'other') return value;
  return kind === 'variable' ? `\${${value}}` : { [kind]: value };
}

/** The name of a credential in the states of routes. */
export function credentialName(index: number, count: number, isList: boolean): string {
  return count === 1 && !isList ? 'apiKey' : `apiKeys.${index}`;
}
