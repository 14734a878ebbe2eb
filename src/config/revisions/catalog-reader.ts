import { basename } from 'node:path';
import { secretsIn } from '../catalog-text.ts';
import { type CatalogChange, difference } from '../difference.ts';
import { readDocument } from '../document.ts';
import { ConfigError, type Environment, parseConfig } from '../load.ts';
import type { Config } from '../schema.ts';
import type { NodeCatalog } from './node-catalog.ts';

/** A problem in the text of a catalog. */
export interface CatalogProblem {
  /** Number of the line, from 1; 0 if unknown. */
  readonly line: number;
  /** Dotted path, such as `models.acme-large.price.input`; empty: the text as a whole. */
  readonly key: string;
  readonly message: string;
}

export interface CheckedCatalog {
  /** This node's configuration with the catalog; `null` if there are problems. */
  readonly config: Config | null;
  readonly problems: readonly CatalogProblem[];
}

/** Configuration file for a node without settings of its own. */
const BARE_FILE = 'catalog: database\n';
const DRAFT = 'the catalog';

const IS_SECRET =
  'A revision cannot contain a secret, because everybody who reads the catalog could see it. Refer to it: ${NAME} is a variable of the environment ' +
  'of each node, { file: PATH } a file, { secret: NAME } a sealed secret.';

/** Reads texts of catalogs in the same way as this process uses them. */
export class CatalogReader {
  readonly #catalog: NodeCatalog;
  readonly #isServing: boolean;

  /** @param isServing whether the process calls providers; if not, missing variables, credential files and sealed secrets are no problem */
  constructor(catalog: NodeCatalog, { isServing }: { readonly isServing: boolean }) {
    this.#catalog = catalog;
    this.#isServing = isServing;
  }

  /** Checks a text before it becomes a revision. */
  check(text: string): CheckedCatalog {
    try {
      const config = this.#parse(text, this.#isServing);
      const problems = secretProblems(text);
      return { config: problems.length === 0 ? config : null, problems };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { config: null, problems: error.problems.map((problem) => toCatalogProblem(error.file, problem)) };
    }
  }

  /** Returns the changes from one text to another, which may be of other nodes; `null`: one is invalid. `before` `null`: an empty text. */
  compare(before: string | null, after: string): readonly CatalogChange[] | null {
    const [old, now] = [this.read(before ?? ''), this.read(after)];
    return old === null || now === null ? null : difference(old, now);
  }

  /** Parses a text that this process need not be able to use; `null`: it is invalid. */
  read(text: string): Config | null {
    try {
      // Differences are shown to operators, so the text gets placeholders instead of this machine's variables.
      return this.#parse(text, false, placeholdersOf(text));
    } catch (error) {
      if (error instanceof ConfigError) return null;
      throw error;
    }
  }

  /** @param placeholders values for the variables of a text that is only compared; absent: variables of this machine */
  #parse(text: string, isStrict: boolean, placeholders?: Environment): Config {
    const { node, mode } = this.#catalog;
    const environment = node?.environment ?? {};
    return parseConfig(
      node !== null && mode === 'database' ? node.text : BARE_FILE,
      node?.file ?? '',
      isStrict ? environment : { ...placeholdersOf(text), ...withoutEmpty(environment) },
      {
        withoutCredentialFiles: !isStrict,
        secrets: isStrict ? node?.secrets : undefined,
        catalog: { name: DRAFT, text, ...(placeholders !== undefined && { placeholders }) },
      },
    );
  }
}

/** Returns the places of a text that contain secrets, because a revision must contain none. */
export function secretProblems(text: string): CatalogProblem[] {
  const paths = secretsIn(text);
  if (paths.length === 0) return [];
  const document = readDocument(text, {});
  return paths.map((path) => ({ line: document.locate(path).line, key: path.join('.'), message: IS_SECRET }));
}

/** Converts a problem. One without a revision is in the node's own file. */
function toCatalogProblem(
  file: string,
  { line, key, message, revision }: ConfigError['problems'][number],
): CatalogProblem {
  return revision === undefined
    ? { line: 0, key, message: `In ${basename(file)}: ${message}` }
    : { line, key, message };
}

const VARIABLES = /\$\{(\w+)\}/g;

/** Returns a value for each variable of a text, which is valid as a credential and as an address. */
function placeholdersOf(text: string): Environment {
  const names = [...text.matchAll(VARIABLES)].map(([, name]) => name!);
  return Object.fromEntries(names.map((name) => [name, `https://${name.toLowerCase().replaceAll('_', '-')}.invalid`]));
}

function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''));
}
