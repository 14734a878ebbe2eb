import {
  type CatalogText,
  type ConfigOverrides,
  type Environment,
  type ParsedConfig,
  parseConfigText,
  readConfigFile,
} from './load.ts';

/** The sources of a node's configuration: its file, flags and environment, and the catalog of the database if it is there. */
export class NodeConfig {
  readonly file: string;
  readonly environment: Environment;
  /** The text of the file that is in force. */
  text: string;
  /** The catalog that is in force; `undefined`: the database has none yet, or the catalog is in the file. */
  catalog: CatalogText | undefined;
  readonly #overrides: ConfigOverrides;

  /** @throws ConfigError if the file cannot be read */
  constructor(file: string, environment: Environment, overrides: ConfigOverrides = {}) {
    this.file = file;
    this.text = readConfigFile(file).text;
    this.environment = environment;
    this.#overrides = overrides;
  }

  /**
   * Parses the configuration, with another file text or another catalog than those in force.
   *
   * @throws ConfigError
   */
  parse({
    text = this.text,
    catalog = this.catalog,
  }: Partial<Pick<NodeConfig, 'text' | 'catalog'>> = {}): ParsedConfig {
    return parseConfigText(text, this.file, this.environment, { ...this.#overrides, catalog });
  }
}
