import { z } from 'zod';
import { isRecord } from '../lib/json.ts';
import { secret, section } from './fields.ts';
import { readRegularFile, UnreadableFileError } from './regular-file.ts';

/** The keys of a provider in a configuration: as text, or each in a file of its own. */

/** The most keys of a provider. */
export const KEYS_MAX = 100;

/** A key that stands in a file. */
export interface KeyFile {
  readonly file: string;
  /** The key that the file held when the configuration was read. Secret. */
  readonly value: string;
}

export type ConfiguredKey = string | KeyFile;

/** A key of a provider, and where it comes from. */
export interface NamedKey {
  /** Where it stands in the settings of the provider: `apiKey`, `apiKeys.0`. */
  readonly name: string;
  /** Secret. */
  readonly value: string;
  /** `null` where the key stands in the configuration. */
  readonly file: string | null;
}

const keyFile = section({
  file: z.string({ error: 'the path of a file' }).min(1, { error: 'the path of a file' }),
});

/** A key, or `{ file: … }`. The file is read by `fillKeyFiles`, because only the gateway itself needs the key. */
export const providerKey = z
  .custom<unknown>((value) => value !== undefined && value !== null, { error: 'a credential' })
  .transform((value, context): ConfiguredKey => {
    const result = isRecord(value) ? keyFile.safeParse(value) : secret.safeParse(value);
    if (!result.success) {
      for (const issue of result.error.issues) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
      return z.NEVER;
    }
    return typeof result.data === 'string' ? result.data : { file: result.data.file, value: '' };
  });

interface KeySettings {
  readonly apiKey?: ConfiguredKey | undefined;
  readonly apiKeys?: readonly ConfiguredKey[] | undefined;
}

/** The keys of a provider in the order of its settings. */
export function keysOf({ apiKey, apiKeys }: KeySettings): NamedKey[] {
  const named = (name: string, key: ConfiguredKey): NamedKey =>
    typeof key === 'string' ? { name, value: key, file: null } : { name, ...key };
  return [
    ...(apiKey === undefined ? [] : [named('apiKey', apiKey)]),
    ...(apiKeys ?? []).map((key, index) => named(`apiKeys.${index}`, key)),
  ];
}

/** The files that the keys of these providers stand in. */
export function keyFilesOf(providers: Readonly<Record<string, KeySettings>>): string[] {
  const files = Object.values(providers).flatMap((provider) => keysOf(provider).map(({ file }) => file));
  return [...new Set(files.filter((file) => file !== null))];
}

/** A file holds no key that can be used. The message says why and shows nothing of the file, nor its path. */
export class KeyFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyFileError';
  }
}

/**
 * Reads the key in a file. White space around it, such as the line break that editors and `echo` add, is no part of it.
 *
 * @throws KeyFileError
 */
export function readKeyFile(path: string): string {
  let text: string;
  try {
    text = readRegularFile(path).bytes.toString('latin1').trim();
  } catch (error) {
    // Whoever writes the key in place of the path must not find it in a log: other messages repeat the path.
    const isPlain = error instanceof UnreadableFileError && !error.message.startsWith('The file cannot be read');
    throw new KeyFileError(isPlain ? error.message : 'The file cannot be read.');
  }
  if (text === '') throw new KeyFileError('The file is empty.');
  if (!secret.safeParse(text).success) {
    throw new KeyFileError('The file has to hold one credential, without spaces, line breaks or letters beyond ASCII.');
  }
  return text;
}

/** Reads the files of all keys. Where one cannot be used, `report` is called with its place below `providers`. */
export function fillKeyFiles<Provider extends KeySettings>(
  providers: Readonly<Record<string, Provider>>,
  report: (path: readonly PropertyKey[], message: string) => void,
): Record<string, Provider> {
  const fill = (key: ConfiguredKey, ...path: readonly PropertyKey[]): ConfiguredKey => {
    if (typeof key === 'string') return key;
    try {
      return { ...key, value: readKeyFile(key.file) };
    } catch (error) {
      if (!(error instanceof KeyFileError)) throw error;
      report([...path, 'file'], error.message);
      return key;
    }
  };
  return Object.fromEntries(
    Object.entries(providers).map(([id, provider]) => [
      id,
      {
        ...provider,
        ...(provider.apiKey !== undefined && { apiKey: fill(provider.apiKey, id, 'apiKey') }),
        ...(provider.apiKeys !== undefined && {
          apiKeys: provider.apiKeys.map((key, index) => fill(key, id, 'apiKeys', index)),
        }),
      },
    ]),
  );
}
