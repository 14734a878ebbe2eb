import { type CatalogText, ConfigError, type Environment } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { secretWarnings } from '../../config/warnings.ts';
import { CliError } from '../command.ts';
import { type ConfigSource, NO_ADMIN_TOKEN, readAdminToken } from '../environment.ts';
import { checkDatabase } from './doctor-database.ts';
import { errorText, type Finding, failed, ok, warning } from './doctor-finding.ts';
import {
  checkAddress,
  checkDataDirectory,
  checkMetricsAddress,
  checkOpenFiles,
  checkVersions,
} from './doctor-machine.ts';
import { checkMail } from './doctor-mail.ts';
import { checkProviders } from './doctor-providers.ts';
import { checkSealedSecrets, checkSealingKeys } from './doctor-secrets.ts';

export interface ConfigurationSources {
  /** @throws ConfigError */
  readonly load: (catalog?: CatalogText) => Config;
  /** The catalog of the database that a gateway would use; `null`: there is none. */
  readonly findCatalog: (config: Config) => Promise<CatalogText | null>;
}

/** Runs all checks, in the order in which they are printed. If the configuration is invalid, only the first ones run. */
export async function examine(
  source: ConfigSource,
  environment: Environment,
  sources: ConfigurationSources,
  { checksMail = false }: { readonly checksMail?: boolean } = {},
): Promise<readonly Finding[]> {
  const versions = checkVersions();
  let dataDirectory: readonly Finding[];
  let config: Config;
  let catalog: readonly Finding[];
  try {
    const ofNode = sources.load();
    // The directory is checked first, because reading a local database corrects its permissions.
    dataDirectory = checkDataDirectory(ofNode.database);
    ({ config, catalog } = await withCatalog(ofNode, sources));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first, ...others] = error.problems;
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    const detail = `${first!.revision ?? error.file}:${first!.line}: ${first!.key}: ${first!.message}${more}`;
    return [
      versions,
      failed(
        'configuration',
        detail,
        'To see all problems, run: faregate check. The other checks need a valid configuration.',
      ),
    ];
  }
  const { server, database, providers, models, plans } = config;
  const counts = `${count(providers, 'provider')}, ${count(models, 'model')}, ${count(plans, 'plan')}`;
  return [
    versions,
    ok('configuration', `${source.isDemo ? 'the demo' : source.file}: ${counts}`),
    ...catalog,
    checkAdminToken(environment),
    ...checkSecrets(config),
    ...checkSealingKeys(environment),
    ...dataDirectory,
    ...checkOpenFiles(server),
    await checkAddress(server),
    ...(await checkMetricsAddress(server)),
    ...(await checkDatabase(database, source.isDemo, (directory) =>
      checkSealedSecrets(directory, environment, config),
    )),
    await checkMail(config, checksMail),
    // The demo's provider runs only while the gateway does.
    ...(source.isDemo ? [] : await checkProviders(providers)),
  ];
}

/** Adds the catalog of the database. If it cannot be read, the providers and models are not checked. */
async function withCatalog(
  config: Config,
  { load, findCatalog }: ConfigurationSources,
): Promise<{ config: Config; catalog: readonly Finding[] }> {
  if (config.catalog === 'file') return { config, catalog: [] };
  try {
    const catalog = await findCatalog(config);
    if (catalog === null) return { config, catalog: [ok('catalog', 'the database has no revision')] };
    return { config: load(catalog), catalog: [ok('catalog', catalog.name)] };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const advice = 'Providers and models are checked once the catalog can be read from the database.';
    return { config, catalog: [warning('catalog', `cannot be read: ${errorText(error)}`, advice)] };
  }
}

function checkAdminToken(environment: Environment): Finding {
  try {
    const isSet = readAdminToken(environment) !== null;
    return ok('admin token', isSet ? 'FAREGATE_ADMIN_TOKEN is set' : NO_ADMIN_TOKEN);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return failed('admin token', error.message, 'Set another one; the gateway does not start with this one.');
  }
}

function checkSecrets(config: Config): Finding[] {
  return secretWarnings(config).map(({ key, message }) =>
    warning('secrets', `${key}: ${message}`, 'Replace it with the real secret.'),
  );
}

function count(entries: object, noun: string): string {
  const { length } = Object.keys(entries);
  return `${length} ${noun}${length === 1 ? '' : 's'}`;
}
