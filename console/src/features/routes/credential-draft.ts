import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../parts/catalog/catalog-value.ts';

export const CREDENTIAL_KINDS = ['secret', 'variable', 'file', 'command'] as const;

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
  const { file, secret, command, value: literal } = fieldsOf(value);
  if (command !== undefined) return { kind: 'command', value: textOf(command) };
  if (file !== undefined) return { kind: 'file', value: textOf(file) };
  if (secret !== undefined) return { kind: 'secret', value: textOf(secret) };
  const text = textOf(isFields(value) ? literal : value);
  const variable = /^\$\{(\w*)\}$/.exec(text)?.[1];
  return variable === undefined ? { kind: 'other', value: text } : { kind: 'variable', value: variable };
}

/** @param before the credential that the draft changes: its limits stay */
export function credentialValue({ kind, value }: CredentialDraft, before?: unknown): unknown {
  const { file: _file, secret: _secret, command: _command, value: _value, ...others } = fieldsOf(before);
  if (kind !== 'other' && kind !== 'variable') return { ...others, [kind]: value };
  const text = kind === 'variable' ? `\${${value}}` : value;
  return hasLimits(before) ? { ...others, value: text } : text;
}

/** Whether a credential has limits of its own, which are edited in the text. */
export function hasLimits(value: unknown): boolean {
  return Object.keys(fieldsOf(fieldsOf(value).limits)).length > 0;
}

/** The name of a credential in the states of routes. */
export function credentialName(index: number, count: number, isList: boolean): string {
  return count === 1 && !isList ? 'apiKey' : `apiKeys.${index}`;
}
