import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { NamedError } from '../lib/named-error.ts';
import { secret, section } from './fields.ts';
import { readRegularFile, UnreadableFileError } from './regular-file.ts';

export const CREDENTIALS_MAX = 100;

/** No credential is this large. The content of a wrong file must not be sent in calls. */
const CREDENTIAL_CHARS_MAX = 16 * 1024;

interface CredentialFile {
  readonly file: string;
  /** The secret content of the file when the configuration was parsed. */
  readonly value: string;
}

export type ConfiguredCredential = string | CredentialFile;

export interface NamedCredential {
  /** The key is `apiKey` or `apiKeys.0`. */
  readonly name: string;
  /** Secret. */
  readonly value: string;
  /** `null` if the configuration itself contains the credential. */
  readonly file: string | null;
}

const credentialFile = section({
  file: z.string({ error: 'the path of a file' }).min(1, { error: 'the path of a file' }),
});

/** Only the gateway needs the content of a file, so `fillCredentialFiles` reads it. */
export const providerCredential = z
  .custom<unknown>((value) => value !== undefined && value !== null, { error: 'a credential' })
  .transform((value, context): ConfiguredCredential => {
    const result = isRecord(value) ? credentialFile.safeParse(value) : secret.safeParse(value);
    if (!result.success) {
      for (const issue of result.error.issues) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
      return z.NEVER;
    }
    return typeof result.data === 'string' ? result.data : { file: result.data.file, value: '' };
  });

interface CredentialSettings {
  readonly apiKey?: ConfiguredCredential | undefined;
  readonly apiKeys?: readonly ConfiguredCredential[] | undefined;
}

/** The order is that of the settings. */
export function credentialsOf({ apiKey, apiKeys }: CredentialSettings): NamedCredential[] {
  const named = (name: string, credential: ConfiguredCredential): NamedCredential =>
    typeof credential === 'string' ? { name, value: credential, file: null } : { name, ...credential };
  return [
    ...(apiKey === undefined ? [] : [named('apiKey', apiKey)]),
    ...(apiKeys ?? []).map((credential, index) => named(`apiKeys.${index}`, credential)),
  ];
}

export function credentialFilesOf(providers: Readonly<Record<string, CredentialSettings>>): string[] {
  const files = Object.values(providers).flatMap((provider) => credentialsOf(provider).map(({ file }) => file));
  return [...new Set(files.filter((file) => file !== null))];
}

/** The message shows neither the file's content nor its path. */
export class CredentialFileError extends NamedError {}

/** White space around the text is removed, such as the line break that editors append. @throws CredentialFileError */
export function readCredentialFile(path: string): string {
  let text: string;
  try {
    text = readRegularFile(path).bytes.toString('latin1').trim();
  } catch (error) {
    // The operator may have written the credential in place of a path. Other messages would show it.
    const isPlain = error instanceof UnreadableFileError && !error.message.startsWith('The file cannot be read');
    throw new CredentialFileError(isPlain ? error.message : 'The file cannot be read.');
  }
  if (text === '') throw new CredentialFileError('The file is empty.');
  if (text.length > CREDENTIAL_CHARS_MAX) throw new CredentialFileError('The credential is larger than 16 KiB.');
  if (!secret.safeParse(text).success) {
    throw new CredentialFileError(
      'The file must contain one credential of ASCII characters without spaces or line breaks.',
    );
  }
  return text;
}

/** Calls `report` with the path below `providers` for each invalid file. */
export function fillCredentialFiles<Provider extends CredentialSettings>(
  providers: Readonly<Record<string, Provider>>,
  report: (path: readonly PropertyKey[], message: string) => void,
): Record<string, Provider> {
  const fill = (credential: ConfiguredCredential, ...path: readonly PropertyKey[]): ConfiguredCredential => {
    if (typeof credential === 'string') return credential;
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
        ...(provider.apiKey !== undefined && { apiKey: fill(provider.apiKey, id, 'apiKey') }),
        ...(provider.apiKeys !== undefined && {
          apiKeys: provider.apiKeys.map((credential, index) => fill(credential, id, 'apiKeys', index)),
        }),
      },
    ]),
  );
}
