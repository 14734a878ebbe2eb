import {
  type CatalogText,
  type ConfigOverrides,
  type Environment,
  type ParsedConfig,
  parseConfigText,
  readConfigFile,
} from './load.ts';
import type { OpenedSecrets } from './provider-credentials.ts';

/** The sources of a node's configuration: its file, flags and environment and, if the database has the catalog, this catalog. */
export class NodeConfig {
  readonly file: string;
  readonly environment: Environment;
  /** Text of the file that is in force. */
  text: string;
  /** Catalog that is in force; `undefined`: the database has none yet, or the file contains it. */
  catalog: CatalogText | undefined;
  /** Sealed secrets as last read from the database; `undefined`: not read yet, so credentials that name one have no value. */
  secrets: OpenedSecrets | undefined;
  readonly #overrides: ConfigOverrides;

  /** Reads the file. @throws ConfigError if it cannot be read */
  constructor(
    file: string,
    environment: Environment,
    overrides: ConfigOverrides = {},
    text: string = readConfigFile(file).text,
  ) {
    this.file = file;
    this.text = text;
    this.environment = environment;
    this.#overrides = overrides;
  }

  /**
   * Parses the configuration, optionally with another file text or another catalog than those in force.
   *
   * @throws ConfigError
   */
  parse({
    text = this.text,
    catalog = this.catalog,
  }: Partial<Pick<NodeConfig, 'text' | 'catalog'>> = {}): ParsedConfig {
    return parseConfigText(text, this.file, this.environment, { ...this.#overrides, catalog, secrets: this.secrets });
  }
}
