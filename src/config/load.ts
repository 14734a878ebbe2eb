import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { isRecord } from '../lib/json/json.ts';
import { escapeText } from '../lib/plain-text.ts';
import { type ConfigDocument, describeText, type Environment, type Path, readDocument } from './document.ts';
import { isPem } from './fields.ts';
import { credentialFilesOf, fillCredentialFiles } from './provider-credentials.ts';
import { type ReadFile, readRegularFile, UnreadableFileError } from './regular-file.ts';
import { findRuleBreaches } from './rules.ts';
import { type Config, configSchema } from './schema.ts';

export type { Environment } from './document.ts';

interface ConfigProblem {
  /** The first line is 1; 0 if unknown. */
  readonly line: number;
  /** A dotted path such as `models.acme-large.price.input`; empty for the file as a whole. */
  readonly key: string;
  readonly message: string;
}

/** The message contains file, line and key of every problem. */
export class ConfigError extends ForeseenError {
  readonly file: string;
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    const lines = problems.map((problem) => {
      const place = problem.line > 0 ? `${file}:${problem.line}` : file;
      return escapeText(`  ${place}: ${problem.key === '' ? '' : `${problem.key}: `}${problem.message}`);
    });
    super(`The configuration cannot be used:\n${lines.join('\n')}`);
    this.file = file;
    this.problems = problems;
  }
}

/** Values of flags or the environment, which override the file. */
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

/** The key is the dotted name of the overridden setting. */
export function overriddenSettings(overrides: ConfigOverrides): ReadonlyMap<string, string> {
  const names = Object.keys(OVERRIDDEN) as (keyof ConfigOverrides)[];
  return new Map(
    names.filter((name) => overrides[name] !== undefined).map((name) => [OVERRIDDEN[name], String(overrides[name])]),
  );
}

export interface ConfigOptions extends ConfigOverrides {
  /** Set by commands that call no provider. */
  readonly withoutCredentialFiles?: boolean;
}

/** @throws ConfigError with all problems */
export function loadConfig(file: string, environment: Environment, options: ConfigOptions = {}): Config {
  return parseConfig(readConfigFile(file).text, file, environment, options);
}

/** The version shows whether the file is still being written. */
export interface ConfigText extends Omit<ReadFile, 'bytes'> {
  readonly text: string;
}

/** @throws ConfigError if the file cannot be read */
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

/** `files`: the credential and certificate files that were read. */
export interface ParsedConfig {
  readonly config: Config;
  readonly files: readonly string[];
}

export function parseConfigText(
  text: string,
  file: string,
  environment: Environment,
  { withoutCredentialFiles = false, ...overrides }: ConfigOptions = {},
): ParsedConfig {
  const document = readDocument(text, environment);
  const problems: ConfigProblem[] = document.problems.map(({ path, line, message }) => ({
    line,
    key: dotted(path),
    message,
  }));
  // Without values, there is nothing else to check.
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
    const providers = withoutCredentialFiles
      ? data.providers
      : fillCredentialFiles(data.providers, (path, message) =>
          problems.push(placed(['providers', ...path], message, document)),
        );
    const files = [...credentialFilesOf(providers), ...certificateFilesOf(value as z.input<typeof configSchema>)];
    if (problems.length === 0) return { config: { ...data, providers }, files };
  }
  throw new ConfigError(
    file,
    problems.sort((left, right) => left.line - right.line),
  );
}

function certificateFilesOf({ mail, providers = {} }: z.input<typeof configSchema>): string[] {
  const given = [mail?.smtp.ca, ...Object.values(providers).map(({ ca }) => ca)];
  return given.filter((ca) => ca !== undefined && !isPem(ca)) as string[];
}

/** Overrides replace values of the file, so both are checked in the same way. */
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

/** A problem names what the schema expected and what the document contains. */
function issueProblems(
  issue: z.core.$ZodIssue,
  document: ConfigDocument,
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

function placed(path: Path, message: string, document: ConfigDocument): ConfigProblem {
  const place = document.locate(path);
  return { line: place.line, key: dotted(place.path), message };
}

function dotted(path: Path): string {
  return path.map(String).join('.');
}
