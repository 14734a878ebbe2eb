import { hash } from 'node:crypto';
import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { NamedError } from '../lib/named-error.ts';
import type { CredentialCommand } from './credential-commands.ts';
import { secret, section } from './fields.ts';
import { readRegularFile, UnreadableFileError } from './regular-file.ts';
import { type UseLimitsConfig, useLimits } from './use-limits-schema.ts';

export const CREDENTIALS_MAX = 100;

/** Maximum length of a credential. No real one is longer, and the content of a wrong file must not be sent in calls. */
const CREDENTIAL_CHARS_MAX = 16 * 1024;

interface WithLimits {
  /** Limits of this credential; absent: it has none. */
  readonly limits?: UseLimitsConfig | undefined;
}

/** A credential with limits in the configuration itself. */
interface CredentialValue extends WithLimits {
  /** Secret. */
  readonly value: string;
  readonly isLiteral: true;
}

interface CredentialFile extends WithLimits {
  readonly file: string;
  /** Content of the file when the configuration was parsed. Secret. */
  readonly value: string;
}

interface CredentialSecret extends WithLimits {
  /** Name of a sealed secret. */
  readonly secret: string;
  /** Value of the sealed secret when the configuration was parsed. Secret. */
  readonly value: string;
}

interface CredentialOfCommand extends WithLimits {
  /** Name of a command in `credentialCommands`. */
  readonly command: string;
  /** Always empty: the command prints the credential while the gateway runs. */
  readonly value: '';
  /** The command itself; `null` until it is found. */
  readonly runs: CredentialCommand | null;
}

export type ConfiguredCredential = string | CredentialValue | CredentialFile | CredentialSecret | CredentialOfCommand;

/** Sealed secrets of the database by name: the value, or the reason why this node does not have it. */
export type OpenedSecrets = ReadonlyMap<string, { readonly value: string } | { readonly problem: string }>;

export interface NamedCredential {
  /** Path of the credential within the provider: `apiKey` or `apiKeys.0`. */
  readonly name: string;
  /** The credential itself. Secret. */
  readonly value: string;
  /** File with the credential; `null`: it is in no file. */
  readonly file: string | null;
  /** Command that prints the credential, which then has no value here; absent: there is none. */
  readonly command?: { readonly name: string; readonly runs: CredentialCommand };
  /**
   * Its limits, and what identifies it in records: where it comes from, or else its name, and nothing of its value. Absent: it has no
   * limits.
   */
  readonly limited?: { readonly id: string; readonly limits: UseLimitsConfig };
}

const limits = useLimits.optional();

const credentialValue = section({ value: secret, limits });
const credentialFile = section({
  limits,
  file: z.string({ error: 'the path of a file' }).min(1, { error: 'the path of a file' }),
});

const SECRET_NAME = 'the name of a sealed secret: up to 64 letters, digits and . _ -';
export const secretName = z.string({ error: SECRET_NAME }).regex(/^[A-Za-z0-9][\w.-]{0,63}$/, { error: SECRET_NAME });

const credentialSecret = section({ secret: secretName, limits });
const credentialOfCommand = section({
  limits,
  command: z
    .string({ error: 'the name of a command in credentialCommands' })
    .min(1, { error: 'the name of a command in credentialCommands' }),
});

/** A credential, or a section with its `value`, or its `file`, `secret` or `command`, and its limits. `resolveCredentials` adds what only the gateway itself needs. */
export const providerCredential = z
  .custom<unknown>((value) => value !== undefined && value !== null, { error: 'a credential' })
  .transform((value, context): ConfiguredCredential => {
    const result = isRecord(value) ? referenceOf(value).safeParse(value) : secret.safeParse(value);
    if (!result.success) {
      for (const issue of result.error.issues) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
      return z.NEVER;
    }
    const { data } = result;
    if (typeof data === 'string') return data;
    if ('value' in data) return { ...data, isLiteral: true };
    return 'command' in data ? { ...data, value: '', runs: null } : { ...data, value: '' };
  });

function referenceOf(value: Readonly<Record<string, unknown>>) {
  if ('value' in value) return credentialValue;
  if ('secret' in value) return credentialSecret;
  return 'command' in value ? credentialOfCommand : credentialFile;
}

interface CredentialSettings {
  readonly apiKey?: ConfiguredCredential | undefined;
  readonly apiKeys?: readonly ConfiguredCredential[] | undefined;
}

/** Returns the credentials of a provider in the order of its settings. */
export function credentialsOf({ apiKey, apiKeys }: CredentialSettings): NamedCredential[] {
  const named = (name: string, credential: ConfiguredCredential): NamedCredential => {
    if (typeof credential === 'string') return { name, value: credential, file: null };
    const { value, limits } = credential;
    const file = 'file' in credential ? credential.file : null;
    const facts = {
      name,
      value,
      file,
      ...(limits !== undefined && { limited: { id: idOf(name, credential), limits } }),
    };
    if (!('command' in credential)) return facts;
    const { command, runs } = credential;
    return { ...facts, ...(runs !== null && { command: { name: command, runs } }) };
  };
  return [
    ...(apiKey === undefined ? [] : [named('apiKey', apiKey)]),
    ...(apiKeys ?? []).map((credential, index) => named(`apiKeys.${index}`, credential)),
  ];
}

/** Longer ids, such as long paths, are replaced by their hash: ids are in indexes of the database. */
const ID_LENGTH_MAX = 200;

/** A credential keeps its id if the list is reordered, unless the configuration contains its value. */
function idOf(name: string, credential: Exclude<ConfiguredCredential, string>): string {
  if ('isLiteral' in credential) return name;
  if ('command' in credential) return short(`command:${credential.command}`);
  return short('file' in credential ? `file:${credential.file}` : `secret:${credential.secret}`);
}

function short(id: string): string {
  return id.length <= ID_LENGTH_MAX ? id : `sha256:${hash('sha256', id, 'hex')}`;
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
  readonly commands: Readonly<Record<string, CredentialCommand>>;
}

/** Reads credential files and finds sealed secrets. For each one without a valid value, calls `report` with its path below `providers`. */
export function resolveCredentials<Provider extends CredentialSettings>(
  providers: Readonly<Record<string, Provider>>,
  { readsFiles, secrets, commands }: CredentialSources,
  report: (path: readonly PropertyKey[], message: string) => void,
): Record<string, Provider> {
  const resolve = (credential: ConfiguredCredential, ...path: readonly PropertyKey[]): ConfiguredCredential => {
    if (typeof credential === 'string' || 'isLiteral' in credential) return credential;
    if ('secret' in credential) {
      if (secrets === undefined) return credential;
      // The message has no name, because the operator may have written the credential in place of the name.
      const found = secrets.get(credential.secret) ?? { problem: NO_SUCH_SECRET };
      if ('value' in found) return { ...credential, value: found.value };
      report([...path, 'secret'], found.problem);
      return credential;
    }
    if ('command' in credential) {
      const runs = Object.hasOwn(commands, credential.command) ? commands[credential.command]! : null;
      if (runs === null && readsFiles) report([...path, 'command'], NO_SUCH_COMMAND);
      return { ...credential, runs };
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

const NO_SUCH_COMMAND =
  'There is no command of this name. Add it to "credentialCommands" in the configuration file of the node.';
const NO_SUCH_SECRET = 'There is no sealed secret with this name. Set it: faregate secret set NAME';
