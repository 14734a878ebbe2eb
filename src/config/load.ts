import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { isRecord } from '../lib/json/json.ts';
import { escapeText } from '../lib/plain-text.ts';
import { fileBreaches, variableBreach } from './catalog-sources.ts';
import { type ConfigDocument, describeText, type Environment, type Path, readDocument } from './document.ts';
import { isPem } from './fields.ts';
import { credentialFilesOf, type OpenedSecrets, resolveCredentials } from './provider-credentials.ts';
import { type ReadFile, readRegularFile, UnreadableFileError } from './regular-file.ts';
import { findRuleBreaches } from './rules.ts';
import { CATALOG_SECTIONS, type Config, configSchema } from './schema.ts';

export type { Environment } from './document.ts';

interface ConfigProblem {
  /** Number of the line, from 1; 0 if unknown. */
  readonly line: number;
  /** Dotted path such as `models.acme-large.price.input`; empty: the file as a whole. */
  readonly key: string;
  readonly message: string;
  /** Revision of the catalog with the problem; absent: the file has it. */
  readonly revision?: string;
}

/** An invalid configuration. The message has file, line and key of every problem. */
export class ConfigError extends ForeseenError {
  readonly file: string;
  readonly problems: readonly ConfigProblem[];
  /** Credential files that the configuration names. If one of these files changes, the configuration may become valid. */
  readonly files: readonly string[];

  constructor(file: string, problems: readonly ConfigProblem[], files: readonly string[] = []) {
    const lines = problems.map((problem) => {
      const source = problem.revision ?? file;
      const place = problem.line > 0 ? `${source}:${problem.line}` : source;
      return escapeText(`  ${place}: ${problem.key === '' ? '' : `${problem.key}: `}${problem.message}`);
    });
    super(`The configuration cannot be used:\n${lines.join('\n')}`);
    this.file = file;
    this.problems = problems;
    this.files = files;
  }
}

/** Values of flags or of the environment. They override the file. */
export interface ConfigOverrides {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly databaseUrl?: string | undefined;
  readonly dataDir?: string | undefined;
}

const OVERRIDDEN: Readonly<Record<keyof ConfigOverrides, string>> = {
  host: 'server.host',
  port: 'server.port',
  databaseUrl: 'database.url',
  dataDir: 'database.dataDir',
};

/** Returns the overridden settings: values by dotted name. */
export function overriddenSettings(overrides: ConfigOverrides): ReadonlyMap<string, string> {
  const names = Object.keys(OVERRIDDEN) as (keyof ConfigOverrides)[];
  return new Map(
    names.filter((name) => overrides[name] !== undefined).map((name) => [OVERRIDDEN[name], String(overrides[name])]),
  );
}

export interface ConfigOptions extends ConfigOverrides {
  /** For commands that call no provider. */
  readonly withoutCredentialFiles?: boolean;
  /** The sealed secrets of the database, for a process that calls providers. Without them, credentials that name a secret have no value. */
  readonly secrets?: OpenedSecrets | undefined;
  /** The catalog of the database. Without it, a configuration with `catalog: database` has no models. */
  readonly catalog?: CatalogText | undefined;
}

/** The catalog sections as YAML. */
export interface CatalogText {
  /** Name for messages, such as `revision 7`. */
  readonly name: string;
  readonly text: string;
  /** Values for variables, for a text that is only compared. Such a text may name any variable and file. */
  readonly placeholders?: Environment;
}

/** Reads, parses and checks a configuration file. @throws ConfigError with all problems */
export function loadConfig(file: string, environment: Environment, options: ConfigOptions = {}): Config {
  return parseConfig(readConfigFile(file).text, file, environment, options);
}

/** Text of a configuration file. Its version shows whether the file is still being written. */
export interface ConfigText extends Omit<ReadFile, 'bytes'> {
  readonly text: string;
}

/** Reads a configuration file. @throws ConfigError if it cannot be read */
export function readConfigFile(file: string): ConfigText {
  const refuse = (message: string): ConfigError => new ConfigError(file, [{ line: 0, key: '', message }]);
  try {
    const { bytes, ...read } = readRegularFile(file);
    if (!isUtf8(bytes)) throw refuse('The file is not UTF-8 text.');
    return { ...read, text: bytes.toString('utf8') };
  } catch (error) {
    throw error instanceof UnreadableFileError ? refuse(error.message) : error;
  }
}

export function parseConfig(text: string, file: string, environment: Environment, options: ConfigOptions = {}): Config {
  return parseConfigText(text, file, environment, options).config;
}

/** A configuration with the credential files, certificate files and logos that were read for it (`files`). */
export interface ParsedConfig {
  readonly config: Config;
  readonly files: readonly string[];
}

export function parseConfigText(
  text: string,
  file: string,
  environment: Environment,
  { withoutCredentialFiles = false, secrets, catalog, ...overrides }: ConfigOptions = {},
): ParsedConfig {
  const document = withCatalog(readDocument(text, environment), catalog, environment, file);
  const problems = document.problems.map(({ path, line, message, revision }) =>
    problemAt({ path, line, revision }, message),
  );
  // Without any values, there is nothing more to check.
  if (document.value === undefined && problems.length > 0) throw new ConfigError(file, problems);

  const overridden = overriddenSettings(overrides);
  const value = withTexts(document.value ?? {}, overridden);
  const result = configSchema.safeParse(value);
  const reported = new Set(problems.map((problem) => problem.key));
  const invalid = [
    ...(result.error?.issues.flatMap((issue) => issueProblems(issue, document, overridden)) ?? []),
    ...findRuleBreaches(value).map(({ path, message }) => placed(path, message, document)),
  ];
  problems.push(...invalid.filter((problem) => !reported.has(problem.key)));
  if (result.success) {
    const { data } = result;
    const sources = { readsFiles: !withoutCredentialFiles, secrets, commands: data.credentialCommands };
    const providers = resolveCredentials(data.providers, sources, (path, message) =>
      problems.push(placed(['providers', ...path], message, document)),
    );
    const files = [...credentialFilesOf(providers), ...namedFilesOf(value as z.input<typeof configSchema>)];
    if (problems.length === 0) return { config: { ...data, providers }, files };
  }
  throw new ConfigError(
    file,
    problems.sort((left, right) => left.line - right.line),
    result.success ? credentialFilesOf(result.data.providers) : [],
  );
}

interface Place extends Omit<ReturnType<ConfigDocument['locate']>, 'found'> {
  readonly revision?: string | undefined;
}

interface ConfigSource extends Omit<ConfigDocument, 'locate' | 'problems'> {
  readonly problems: readonly (Place & { readonly message: string })[];
  locate(path: Path): Place & { readonly found: string | null };
}

/** Returns the values of the file; if the catalog is in the database, with the sections of that catalog. */
function withCatalog(
  file: ConfigDocument,
  catalog: CatalogText | undefined,
  environment: Environment,
  configFile: string,
): ConfigSource {
  const sections = isRecord(file.value) ? file.value : {};
  if (sections.catalog !== 'database') return file;
  const misplaced = (path: string, message: string, document: ConfigDocument, revision?: string) => ({
    ...document.locate([path]),
    revision,
    message,
  });
  const ofFile = CATALOG_SECTIONS.filter((name) => sections[name] !== undefined).map((name) =>
    misplaced(name, IN_DATABASE, file),
  );
  if (catalog === undefined) return { ...file, problems: [...file.problems, ...ofFile] };
  const { name: revision, text, placeholders } = catalog;
  const document =
    placeholders === undefined ? readDocument(text, environment, variableBreach) : readDocument(text, placeholders);
  const given = isRecord(document.value) ? document.value : {};
  const ofNode = Object.keys(given)
    .filter((name) => !isCatalogSection(name))
    .map((name) => misplaced(name, IN_FILE, document, revision));
  const inCatalog = document.problems.map((problem) => ({ ...problem, revision }));
  const outside = (placeholders === undefined ? fileBreaches(given, configFile) : []).map(({ path, message }) => ({
    ...document.locate(path),
    revision,
    message,
  }));
  return {
    value: { ...sections, ...given },
    problems: [...file.problems, ...ofFile, ...ofNode, ...inCatalog, ...outside],
    locate: (path) => (isCatalogSection(path[0]) ? { ...document.locate(path), revision } : file.locate(path)),
  };
}

const IN_DATABASE =
  'With "catalog: database" this section is in the database. To move it there, set "catalog: file" and run "faregate catalog use database".';
const IN_FILE = 'This section is not part of the catalog. It belongs in the configuration file of each node.';

function isCatalogSection(name: unknown): boolean {
  return (CATALOG_SECTIONS as readonly unknown[]).includes(name);
}

/** Returns the certificate files and logos, whose content is part of the configuration. */
function namedFilesOf({ mail, branding, billing, providers = {} }: z.input<typeof configSchema>): string[] {
  const certificates = [mail?.smtp.ca, ...Object.values(providers).map(({ ca }) => ca)];
  const files = [...certificates.filter((ca) => ca !== undefined && !isPem(ca)), branding?.logo, billing?.seller?.logo];
  return files.filter((file) => file !== undefined);
}

/** Replaces values by overrides before the check, so that both are checked in the same way. */
function withTexts(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (!isRecord(value)) return value;
  const copy = { ...value };
  for (const [setting, text] of texts) {
    const [section, key] = setting.split('.') as [string, string];
    const given = copy[section] ?? {};
    if (isRecord(given)) copy[section] = { ...given, [key]: text };
  }
  return copy;
}

/** Converts problems of the schema to messages: what was expected, and what the document contains. */
function issueProblems(
  issue: z.core.$ZodIssue,
  document: ConfigSource,
  overridden: ReadonlyMap<string, string>,
): ConfigProblem[] {
  if (issue.code === 'unrecognized_keys') {
    const sentences = issue.message.split('\n');
    return issue.keys.map((key, index) => placed([...issue.path, key], sentences[index]!, document));
  }
  const text = overridden.get(dotted(issue.path));
  if (text !== undefined) {
    const message = `Expected ${issue.message}; found ${describeText(text, issue.path)}, set by a flag or the environment.`;
    return [{ line: 0, key: dotted(issue.path), message }];
  }
  const { found, path } = document.locate(issue.path);
  const isItem = typeof path.at(-1) === 'number';
  const message =
    found !== null
      ? `Expected ${issue.message}; found ${found}.`
      : isItem
        ? `Expected ${issue.message}; found nothing.`
        : `This key is required. Expected ${issue.message}.`;
  return [placed(issue.path, message, document)];
}

function placed(path: Path, message: string, document: ConfigSource): ConfigProblem {
  return problemAt(document.locate(path), message);
}

function problemAt({ path, line, revision }: Place, message: string): ConfigProblem {
  return { line, key: dotted(path), message, ...(revision !== undefined && { revision }) };
}

function dotted(path: Path): string {
  return path.map(String).join('.');
}
