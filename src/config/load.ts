import { readFileSync } from 'node:fs';
import { type Document, isMap, isScalar, LineCounter, type Node, type Pair, parseDocument, visit } from 'yaml';
import type { z } from 'zod';
import { type Config, configSchema } from './schema.ts';

/** One thing that is wrong with a configuration, and where. */
export interface ConfigProblem {
  /** 1-based; 0 where the place is not known. */
  readonly line: number;
  /** The dotted path of the key, such as `models.acme-large.price.input`; empty for the file as a whole. */
  readonly key: string;
  readonly message: string;
}

/** The configuration cannot be used. The message names file, line and key of every problem. */
export class ConfigError extends Error {
  readonly file: string;
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    const lines = problems.map((problem) => {
      const place = problem.line > 0 ? `${file}:${problem.line}` : file;
      return `  ${place}: ${problem.key === '' ? '' : `${problem.key}: `}${problem.message}`;
    });
    super(`The configuration cannot be used:\n${lines.join('\n')}`);
    this.name = 'ConfigError';
    this.file = file;
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Values that come from flags or the environment and beat the file (design 2). */
export interface ConfigOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly databaseUrl?: string;
  readonly dataDir?: string;
}

/**
 * Reads and checks a configuration file.
 *
 * @throws ConfigError with every problem found.
 */
export function loadConfig(file: string, environment: Environment, overrides: ConfigOverrides = {}): Config {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'There is no such file.' : String(error);
    throw new ConfigError(file, [{ line: 0, key: '', message: reason }]);
  }
  return parseConfig(text, file, environment, overrides);
}

/** As `loadConfig`, for a text already read. */
export function parseConfig(
  text: string,
  file: string,
  environment: Environment,
  overrides: ConfigOverrides = {},
): Config {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({ line: lineAt(error.pos[0]), key: '', message: error.message }));
    throw new ConfigError(file, problems);
  }

  const problems = expandVariables(document, environment, lineAt);
  if (problems.length > 0) throw new ConfigError(file, problems);

  const result = configSchema.safeParse(document.toJS() ?? {});
  if (!result.success) {
    throw new ConfigError(
      file,
      result.error.issues.flatMap((issue) => issueProblems(issue, document, lineAt)),
    );
  }
  return applyOverrides(result.data, overrides);
}

function applyOverrides(config: Config, overrides: ConfigOverrides): Config {
  return {
    ...config,
    server: {
      ...config.server,
      host: overrides.host ?? config.server.host,
      port: overrides.port ?? config.server.port,
    },
    database: {
      url: overrides.databaseUrl ?? config.database.url,
      dataDir: overrides.dataDir ?? config.database.dataDir,
    },
  };
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in the values of the document. It works on values that are already parsed,
 * so what a variable holds can never become YAML.
 */
function expandVariables(
  document: Document,
  environment: Environment,
  lineAt: (offset: number) => number,
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  visit(document, {
    Scalar(position, node, ancestors) {
      if (position === 'key' || typeof node.value !== 'string') return;
      node.value = node.value.replace(VARIABLE, (_match, name: string, fallback: string | undefined) => {
        const value = environment[name];
        if (value !== undefined && !(value === '' && fallback !== undefined)) return value;
        if (fallback !== undefined) return fallback;
        problems.push({
          line: node.range ? lineAt(node.range[0]) : 0,
          key: keyOf(ancestors),
          message: `The environment variable ${name} is not set. Set it, or give a default: \${${name}:-value}.`,
        });
        return '';
      });
    },
  });
  return problems;
}

function keyOf(ancestors: readonly (Document | Node | Pair)[]): string {
  const names: string[] = [];
  for (const ancestor of ancestors) {
    if ('key' in ancestor && isScalar(ancestor.key)) names.push(String(ancestor.key.value));
  }
  return names.join('.');
}

type Issue = z.core.$ZodIssue;

/** A union's own message says little; the reason lies in the branch that got furthest, which is the last one tried. */
function issueProblems(issue: Issue, document: Document, lineAt: (offset: number) => number): ConfigProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key, index) => ({
      line: lineOf([...issue.path, key], document, lineAt),
      key: [...issue.path, key].join('.'),
      message: issue.message.split(/(?<=[.?]) (?=Unknown key)/)[index] ?? issue.message,
    }));
  }
  const isMissing = issue.code === 'invalid_type' && document.getIn(issue.path) === undefined;
  return [
    {
      line: lineOf(issue.path, document, lineAt),
      key: issue.path.join('.'),
      message: isMissing ? 'This key is required.' : issue.message,
    },
  ];
}

/** The line of a key, or of the nearest parent that stands in the file. */
function lineOf(path: readonly PropertyKey[], document: Document, lineAt: (offset: number) => number): number {
  let node: unknown = document.contents;
  let line = 1;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part));
      if (pair === undefined) return line;
      const range = (pair.key as Node).range;
      if (range) line = lineAt(range[0]);
      node = pair.value;
    } else {
      const item: unknown = document.getIn(path.slice(0, path.indexOf(part) + 1), true);
      const range = (item as Node | undefined)?.range;
      if (range) line = lineAt(range[0]);
      node = item;
    }
  }
  return line;
}
