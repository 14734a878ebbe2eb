import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { NamedError } from '../lib/named-error.ts';
import { secret, section } from './fields.ts';
import { readRegularFile, UnreadableFileError } from './regular-file.ts';

/** The credentials of a provider in a configuration: as text, or each in a file of its own. */

/** The most credentials of a provider. */
export const CREDENTIALS_MAX = 100;

/** Far above any credential; a larger one, from a file given by mistake, would go out with every call. */
const CREDENTIAL_CHARS_MAX = 16 * 1024;

/** A credential that stands in a file. */
interface CredentialFile {
  readonly file: string;
  /** The credential that the file held when the configuration was read. Secret. */
  readonly value: string;
}

export type ConfiguredCredential = string | CredentialFile;

/** A credential of a provider, and where it comes from. */
export interface NamedCredential {
  /** Where it stands in the settings of the provider: `apiKey`, `apiKeys.0`. */
  readonly name: string;
  /** Secret. */
  readonly value: string;
  /** `null` if the credential stands in the configuration. */
  readonly file: string | null;
}

const credentialFile = section({
  file: z.string({ error: 'the path of a file' }).min(1, { error: 'the path of a file' }),
});

/** A credential, or `{ file: … }`. The file is read by `fillCredentialFiles`: only the gateway itself needs its content. */
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

/** The credentials of a provider in the order of its settings. */
export function credentialsOf({ apiKey, apiKeys }: CredentialSettings): NamedCredential[] {
  const named = (name: string, credential: ConfiguredCredential): NamedCredential =>
    typeof credential === 'string' ? { name, value: credential, file: null } : { name, ...credential };
  return [
    ...(apiKey === undefined ? [] : [named('apiKey', apiKey)]),
    ...(apiKeys ?? []).map((credential, index) => named(`apiKeys.${index}`, credential)),
  ];
}

/** The files that the credentials of these providers stand in. */
export function credentialFilesOf(providers: Readonly<Record<string, CredentialSettings>>): string[] {
  const files = Object.values(providers).flatMap((provider) => credentialsOf(provider).map(({ file }) => file));
  return [...new Set(files.filter((file) => file !== null))];
}

/** A file holds no credential that can be used. The message says why and shows nothing of the file, nor its path. */
export class CredentialFileError extends NamedError {}

/**
 * Reads the credential in a file. White space around it, such as the line break that editors and `echo` add, is no part
 * of it.
 *
 * @throws CredentialFileError
 */
export function readCredentialFile(path: string): string {
  let text: string;
  try {
    text = readRegularFile(path).bytes.toString('latin1').trim();
  } catch (error) {
    // Whoever writes the credential in place of the path must not find it in a log: other messages repeat the path.
    const isPlain = error instanceof UnreadableFileError && !error.message.startsWith('The file cannot be read');
    throw new CredentialFileError(isPlain ? error.message : 'The file cannot be read.');
  }
  if (text === '') throw new CredentialFileError('The file is empty.');
  if (text.length > CREDENTIAL_CHARS_MAX)
    throw new CredentialFileError('The file is larger than a credential, 16 KiB.');
  if (!secret.safeParse(text).success) {
    throw new CredentialFileError(
      'The file has to hold one credential, without spaces, line breaks or letters beyond ASCII.',
    );
  }
  return text;
}

/** Reads the files of all credentials. If one cannot be used, `report` is called with its place below `providers`. */
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
