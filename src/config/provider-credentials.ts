import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { NamedError } from '../lib/named-error.ts';
import { secret, section } from './fields.ts';
import { readRegularFile, UnreadableFileError } from './regular-file.ts';

export const CREDENTIALS_MAX = 100;

/** Maximum length of a credential. No real one is longer, and the content of a wrong file must not be sent in calls. */
const CREDENTIAL_CHARS_MAX = 16 * 1024;

interface CredentialFile {
  readonly file: string;
  /** Content of the file when the configuration was parsed. Secret. */
  readonly value: string;
}

interface CredentialSecret {
  /** Name of a sealed secret. */
  readonly secret: string;
  /** Value of the sealed secret when the configuration was parsed. Secret. */
  readonly value: string;
}

export type ConfiguredCredential = string | CredentialFile | CredentialSecret;

/** Sealed secrets of the database by name: the value, or the reason why this node does not have it. */
export type OpenedSecrets = ReadonlyMap<string, { readonly value: string } | { readonly problem: string }>;

export interface NamedCredential {
  /** Path of the credential within the provider: `apiKey` or `apiKeys.0`. */
  readonly name: string;
  /** The credential itself. Secret. */
  readonly value: string;
  /** File with the credential; `null`: it is in no file. */
  readonly file: string | null;
}

const credentialFile = section({
  file: z.string({ error: 'the path of a file' }).min(1, { error: 'the path of a file' }),
});

const SECRET_NAME = 'the name of a sealed secret: up to 64 letters, digits and . _ -';
export const secretName = z.string({ error: SECRET_NAME }).regex(/^[A-Za-z0-9][\w.-]{0,63}$/, { error: SECRET_NAME });

const credentialSecret = section({ secret: secretName });

/** A credential, `{ file: … }` or `{ secret: … }`. `resolveCredentials` adds the value, which only the gateway itself needs. */
export const providerCredential = z
  .custom<unknown>((value) => value !== undefined && value !== null, { error: 'a credential' })
  .transform((value, context): ConfiguredCredential => {
    const isSecret = isRecord(value) && 'secret' in value;
    const reference = isSecret ? credentialSecret : credentialFile;
    const result = isRecord(value) ? reference.safeParse(value) : secret.safeParse(value);
    if (!result.success) {
      for (const issue of result.error.issues) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
      return z.NEVER;
    }
    return typeof result.data === 'string' ? result.data : { ...result.data, value: '' };
  });

interface CredentialSettings {
  readonly apiKey?: ConfiguredCredential | undefined;
  readonly apiKeys?: readonly ConfiguredCredential[] | undefined;
}

/** Returns the credentials of a provider in the order of its settings. */
export function credentialsOf({ apiKey, apiKeys }: CredentialSettings): NamedCredential[] {
  const named = (name: string, credential: ConfiguredCredential): NamedCredential => {
    if (typeof credential === 'string') return { name, value: credential, file: null };
    return { name, value: credential.value, file: 'file' in credential ? credential.file : null };
  };
  return [
    ...(apiKey === undefined ? [] : [named('apiKey', apiKey)]),
    ...(apiKeys ?? []).map((credential, index) => named(`apiKeys.${index}`, credential)),
  ];
}

export function credentialFilesOf(providers: Readonly<Record<string, CredentialSettings>>): string[] {
  const files = Object.values(providers).flatMap((provider) => credentialsOf(provider).map(({ file }) => file));
  return [...new Set(files.filter((file) => file !== null))];
}

/** Returns the names of sealed secrets that a section `providers` uses, with the ids of the providers. The section need not be valid. */
export function secretsUsedBy(providers: unknown): Map<string, string[]> {
  const used = Object.entries(isRecord(providers) ? providers : {}).flatMap(([id, provider]) =>
    (isRecord(provider) ? [provider.apiKey, provider.apiKeys].flat() : []).flatMap((credential) =>
      isRecord(credential) && typeof credential.secret === 'string' ? [{ name: credential.secret, id }] : [],
    ),
  );
  const byName = Map.groupBy(used, ({ name }) => name);
  return new Map([...byName].map(([name, uses]) => [name, [...new Set(uses.map(({ id }) => id))]]));
}

/** Thrown if a credential file cannot be used. The message shows neither its content nor its path. */
export class CredentialFileError extends NamedError {}

/** Reads a credential without the white space around it, such as the line break that editors add. @throws CredentialFileError */
export function readCredentialFile(path: string): string {
  let text: string;
  try {
    text = readRegularFile(path).bytes.toString('latin1').trim();
  } catch (error) {
    // Only these messages show no path: an operator may have written the credential in place of the path.
    const isPlain = error instanceof UnreadableFileError && !error.message.startsWith('The file cannot be read');
    throw new CredentialFileError(isPlain ? error.message : 'The file cannot be read.');
  }
  if (text === '') throw new CredentialFileError('The file is empty.');
  const problem = credentialProblem(text, 'The file must contain');
  if (problem !== null) throw new CredentialFileError(problem);
  return text;
}

/** Returns why a text cannot be a credential; `null` if it can. The message shows nothing of the text. */
export function credentialProblem(text: string, expected = 'Expected'): string | null {
  if (text.length > CREDENTIAL_CHARS_MAX) return 'The credential is larger than 16 KiB.';
  if (secret.safeParse(text).success) return null;
  return `${expected} one credential of ASCII characters without spaces or line breaks.`;
}

/** Where credentials come from that are not in the configuration itself. */
interface CredentialSources {
  /** Whether credential files are read. */
  readonly readsFiles: boolean;
  /** Sealed secrets; `undefined`: their values are not needed. */
  readonly secrets: OpenedSecrets | undefined;
}

/** Reads credential files and finds sealed secrets. For each one without a valid value, calls `report` with its path below `providers`. */
export function resolveCredentials<Provider extends CredentialSettings>(
  providers: Readonly<Record<string, Provider>>,
  { readsFiles, secrets }: CredentialSources,
  report: (path: readonly PropertyKey[], message: string) => void,
): Record<string, Provider> {
  const resolve = (credential: ConfiguredCredential, ...path: readonly PropertyKey[]): ConfiguredCredential => {
    if (typeof credential === 'string') return credential;
    if ('secret' in credential) {
      if (secrets === undefined) return credential;
      // The message has no name, because the operator may have written the credential in place of the name.
      const found = secrets.get(credential.secret) ?? { problem: NO_SUCH_SECRET };
      if ('value' in found) return { ...credential, value: found.value };
      report([...path, 'secret'], found.problem);
      return credential;
    }
    if (!readsFiles) return credential;
    try {
      return { ...credential, value: readCredentialFile(credential.file) };
    } catch (error) {
      if (!(error instanceof CredentialFileError)) throw error;
      report([...path, 'file'], error.message);
      return credential;
    }
  };
  return Object.fromEntries(
    Object.entries(providers).map(([id, provider]) => [
      id,
      {
        ...provider,
        ...(provider.apiKey !== undefined && { apiKey: resolve(provider.apiKey, id, 'apiKey') }),
        ...(provider.apiKeys !== undefined && {
          apiKeys: provider.apiKeys.map((credential, index) => resolve(credential, id, 'apiKeys', index)),
        }),
      },
    ]),
  );
}

const NO_SUCH_SECRET = 'There is no sealed secret with this name. Set it: faregate secret set NAME';
