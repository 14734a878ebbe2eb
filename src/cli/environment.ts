import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ADMIN_TOKEN_LENGTH_MIN, adminTokenWeakness } from '../api/management/guard.ts';
import { DEMO_PROVIDER_VARIABLE } from '../config/catalog-sources.ts';
import {
  type CatalogText,
  ConfigError,
  type ConfigOptions,
  type ConfigOverrides,
  type Environment,
  loadConfig,
  readConfigFile,
} from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { CliError, type GlobalFlags, UsageError } from './command.ts';

export interface ConfigSource {
  readonly file: string;
  readonly isDemo: boolean;
  /** Settings from flags and the environment. */
  readonly overrides: ConfigOverrides;
}

const DEMO_CONFIG = fileURLToPath(new URL('./demo/faregate.demo.yaml', import.meta.url));
/** Configuration file if neither a flag nor the environment names one. */
export const DEFAULT_FILE = 'faregate.yaml';

/**
 * Finds the configuration. Flags take precedence over the environment, and the environment over the file. If none of them names a file, it
 * is `faregate.yaml` in the current directory; if that does not exist, the demo.
 */
export function findConfigSource(flags: GlobalFlags, environment: Environment): ConfigSource {
  const named = flags.config ?? nonEmpty(environment.FAREGATE_CONFIG);
  const file = named ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : DEMO_CONFIG);
  return {
    file,
    isDemo: file === DEMO_CONFIG,
    overrides: {
      host: flags.host ?? nonEmpty(environment.HOST),
      port: readPort(flags.port ?? nonEmpty(environment.PORT)),
      dataDir: flags.dataDir ?? nonEmpty(environment.FAREGATE_DATA_DIR),
      databaseUrl: nonEmpty(environment.DATABASE_URL),
    },
  };
}

/** Loads the configuration for a command that does not serve. */
export function loadForCommand(flags: GlobalFlags, environment: Environment, options: ConfigOptions = {}): Config {
  const source = findConfigSource(flags, environment);
  return loadConfig(source.file, demoEnvironment(environment), { ...source.overrides, ...options });
}

/**
 * Loads the configuration for a command that uses the database and calls no provider. Missing credentials are no error, because often only
 * the gateway's environment has them.
 */
export function loadForBooks(flags: GlobalFlags, environment: Environment, catalog?: CatalogText): Config {
  const options = { withoutCredentialFiles: true, catalog };
  try {
    return loadForCommand(flags, environment, options);
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.problems.every(({ key }) => key.startsWith('providers.')))
      throw error;
    const text = readConfigFile(error.file).text + (catalog?.text ?? '');
    const named = [...text.matchAll(/\$\{(\w+)\}/g)].map((match) => match[1]!);
    const placeholders = Object.fromEntries(named.map((name) => [name, 'not-set']));
    try {
      return loadForCommand(flags, { ...placeholders, ...environment }, options);
    } catch {
      throw error;
    }
  }
}

/** Adds the address and the credential of the demo's provider. Commands that call no provider can use the default address. */
export function demoEnvironment(environment: Environment, providerUrl = 'http://127.0.0.1:9'): Environment {
  return { ...environment, [DEMO_PROVIDER_VARIABLE]: providerUrl, SIMULATED_KEY: 'simulated' };
}

/** Returns the admin token of the environment. @throws CliError if it can be guessed */
export function readAdminToken(environment: Environment): string | null {
  const token = nonEmpty(environment.FAREGATE_ADMIN_TOKEN);
  if (token === undefined) return null;
  const weakness = adminTokenWeakness(token);
  if (weakness === null) return token;
  const need = token.length < ADMIN_TOKEN_LENGTH_MIN ? `at least ${ADMIN_TOKEN_LENGTH_MIN}` : 'a random text';
  throw new CliError(
    `FAREGATE_ADMIN_TOKEN ${weakness}; it gives access to every account, so it needs ${need}. "openssl rand -hex 24" creates a good one.`,
  );
}

export const NO_ADMIN_TOKEN =
  'FAREGATE_ADMIN_TOKEN is not set: the admin API is open to the command line on this machine only';

/** Whether a new demo has a month of sample data. @throws UsageError */
export function hasDemoMonth(environment: Environment): boolean {
  const text = nonEmpty(environment.FAREGATE_DEMO_DATA) ?? 'month';
  if (text === 'month' || text === 'none') return text === 'month';
  throw new UsageError('FAREGATE_DEMO_DATA: Expected "month" or "none".');
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new UsageError(`"${text}" is not a port from 0 to 65535.`);
  return port;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
